import { fileURLToPath } from 'node:url';

/** The root of the repository; benches run from `dist/bench`. */
export const repository = fileURLToPath(new URL('../../', import.meta.url));
export const echoServer = `${repository}bench/echo-server.mjs`;
export const httpEchoServer = `${repository}bench/http-echo-server.mjs`;
/** A compiled bench file, to be run in a process of its own. */
export const compiled = (name: string): string => fileURLToPath(new URL(`./${name}.js`, import.meta.url));
