import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Client as ClientOfSdk2, StreamableHTTPClientTransport as HttpOfSdk2 } from '@modelcontextprotocol/client';
import { Client as ClientOfSdk1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as HttpOfSdk1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Leg } from './legs.js';
import { openOurs } from './ours.js';
import { httpEchoServer } from './paths.js';
import { benchLegs, type WarmRow } from './warm.js';

const clientInfo = { name: 'bench', version: '1.0.0' };
const toolCall = { name: 'echo', arguments: { message: 'hello' } };

export type HttpLegName = 'sdk1' | 'sdk2' | 'ours';

/** Calls one server over Streamable HTTP on loopback: with either bare SDK, and with this product. */
export async function benchHttp(rounds: number): Promise<Record<HttpLegName, WarmRow>> {
  const { url, child } = await startServer();
  try {
    return await benchLegs(legsTo(url), rounds);
  } finally {
    child.stdin?.end();
    await once(child, 'close');
  }
}

function legsTo(url: string): Readonly<Record<HttpLegName, () => Promise<Leg>>> {
  return {
    sdk1: async () => {
      const client = new ClientOfSdk1(clientInfo);
      await client.connect(new HttpOfSdk1(new URL(url)));
      await client.listTools();
      return { call: () => client.callTool(toolCall), close: () => client.close() };
    },
    sdk2: async () => {
      const client = new ClientOfSdk2(clientInfo);
      await client.connect(new HttpOfSdk2(new URL(url)));
      await client.listTools();
      return { call: () => client.callTool(toolCall), close: () => client.close() };
    },
    ours: async () => {
      const workspace = await openOurs([{ url }]);
      return { call: () => workspace.call('mcp__echo0__echo', toolCall.arguments), close: workspace.close };
    },
  };
}

async function startServer(): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const child = spawn(process.execPath, [httpEchoServer], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [port] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { url: `http://127.0.0.1:${port}/mcp`, child };
}
