import { Catalogue } from '../actors/catalogue.js';
import { prepareTool } from '../actors/tool-entry.js';
import { createNodeDigest } from '../adapters/node-digest.js';
import { collectGarbage, quantile } from './stats.js';

/** Milliseconds of one search, over queries of every kind; and of the very first look after everything was listed anew. */
export interface SearchRow {
  readonly tools: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly firstMs: number;
}

const SERVER_TOOLS = 10_000;
const digest = createNodeDigest();
const WORDS =
  'read write file list create delete update search query fetch issue repository branch commit message channel user page database table row column index cache token session event log metric alert'.split(
    ' ',
  );
const QUERIES = [
  'read file',
  'delete user',
  'search',
  'e',
  '',
  'commit message of a branch',
  'mcp__server0__read_write_1',
  'nothing fits this',
  'server3 query table',
  'row column index cache token session event log',
];

/** Searches a catalogue of this many tools, 10 000 a server, `rounds` times each query. */
export function benchSearch(tools: number, rounds: number): SearchRow {
  const catalogue = new Catalogue({ digest });
  for (let at = 0; at * SERVER_TOOLS < tools; at += 1)
    list(catalogue, `server${at}`, Math.min(SERVER_TOOLS, tools - at * SERVER_TOOLS));
  const firstMs = timed(() => catalogue.search({ query: 'read file' }));
  for (const query of QUERIES) catalogue.search({ query });
  collectGarbage();
  const took: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const query of QUERIES) took.push(timed(() => catalogue.search({ query })));
  }
  return { tools, p50Ms: quantile(took, 0.5), p99Ms: quantile(took, 0.99), firstMs };
}

function list(catalogue: Catalogue, server: string, count: number): void {
  const word = (at: number): string => WORDS[at % WORDS.length] as string;
  const items = Array.from({ length: count }, (_, at) => {
    const name = `${word(at)}_${word(at * 7)}_${at}`;
    const description = `Use this to ${word(at * 3)} the ${word(at * 11)} of a ${word(at * 13)}, and to ${word(at * 17)} its ${word(at * 19)}.`;
    return { key: name, definition: { name, description, inputSchema: { type: 'object' } } };
  });
  // As the verifying of a list does, a slice at a time.
  for (const item of items) prepareTool(server, item, digest);
  catalogue.put(server, 'tools', { items, state: 'complete', reason: null, skipped: [], live: true, toolLimit: 64 });
}

function timed(work: () => unknown): number {
  const before = performance.now();
  work();
  return performance.now() - before;
}
