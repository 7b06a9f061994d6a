import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { Seen } from './http-fixtures.js';
import type { Sentinels } from './sentinels.js';

const leaky = join(import.meta.dirname, '../fixtures/leaky-server.mjs');
const tools = { leak: 'allow' };

/** The variable of the host that an entry puts into its arguments, and the secret it holds. */
export const variableOf = (sentinels: Sentinels, id: string): [string, string] => [
  `HOST_${id.toUpperCase()}`,
  sentinels.plant(`${id} a variable`),
];

/** One server on stdio with a secret in every place there is for one. */
export function stdioEntry(sentinels: Sentinels, id: string, command = process.execPath) {
  const plant = (place: string) => sentinels.plant(`${id} ${place}`);
  return {
    command,
    args: [
      leaky,
      `--mode=${id}`,
      '--key',
      plant('the argument behind --key'),
      `--api-token=${plant('--api-token=')}`,
      `\${HOST_${id.toUpperCase()}}`,
    ],
    env: {
      GITHUB_TOKEN: plant('a telling name'),
      PLAIN_LOOKING: plant('a plain name'),
      DATABASE_URL: `postgres://app:${plant('the password of a URL')}@db.example/x?sslkey=${plant('the query of a URL')}`,
      LINES: `first ${plant('one line')}\nsecond ${plant('another line')}`,
    },
    tools,
  };
}

export function httpEntry(sentinels: Sentinels, id: string, url: string, type: 'http' | 'sse') {
  const plant = (place: string) => sentinels.plant(`${id} ${place}`);
  return {
    type,
    url: `${url}/mcp?api_key=${plant('a telling query')}&v=${plant('a plain query')}`,
    headers: {
      Authorization: `Bearer ${plant('Authorization')}`,
      Cookie: `sid=${plant('Cookie')}`,
      'X-Api-Key': plant('X-Api-Key'),
      'X-Auth-Token': plant('X-Auth-Token'),
      'X-Custom': plant('X-Custom'),
    },
    oauth: { clientId: 'me', clientSecret: plant('oauth.clientSecret') },
  };
}

/** What an endpoint was sent, wherever an answer has room for it. */
export function giveBack({ url, headers }: Seen, response: ServerResponse, status: number): void {
  const known = JSON.stringify({ url, headers });
  const line = known.replace(/[^\x20-\x7e]/g, '');
  response.statusMessage = line.slice(0, 500);
  const realm = `Bearer realm="${line.replaceAll('"', "'")}"`;
  response.writeHead(status, {
    'www-authenticate': realm,
    location: `http://elsewhere.example/${encodeURIComponent(line)}?${line.slice(0, 300)}`,
  });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_000, message: known, data: headers } }));
}

/** Speaks the older era well enough to be ready, and gives back what it was sent in every call. */
export function giveBackInCalls(seen: Seen, response: ServerResponse): void {
  const { id, method, params } = JSON.parse(seen.body === '' ? '{}' : seen.body) as {
    id?: number;
    method?: string;
    params?: { protocolVersion?: string };
  };
  const known = JSON.stringify(seen.headers) + seen.url;
  const results: Record<string, object> = {
    initialize: {
      protocolVersion: params?.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: known.slice(0, 200), version: '1' },
    },
    'tools/list': { tools: [{ name: 'leak', inputSchema: { type: 'object' } }] },
  };
  if (seen.method !== 'POST') return void response.writeHead(405).end();
  if (id === undefined) return void response.writeHead(202).end();
  const result = results[method ?? ''];
  const body = result === undefined ? { error: { code: -32_000, message: known, data: { known } } } : { result };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, ...body }));
}
