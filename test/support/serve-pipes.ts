import { PassThrough } from 'node:stream';
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { onTestFinished } from 'vitest';
import { unguessable } from '../../adapters/serve/secrets.js';
import type { Surface } from '../../adapters/serve/served-workspace.js';
import { type Door, openStdioDoor } from '../../adapters/serve/stdio-door.js';
import { systemClock } from '../../adapters/system-clock.js';

/** The client's end of a door's two pipes: one JSON text a line, as both SDKs' own transports have it. */
export class PipeTransport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  // By these two the SDK's current line knows a pipe from a network.
  readonly pid = null;
  readonly stderr = null;
  readonly toServer = new PassThrough();
  readonly fromServer = new PassThrough();
  /** Everything that came, line by line. */
  readonly lines: string[] = [];
  #rest = '';

  start(): Promise<void> {
    this.fromServer.setEncoding('utf8').on('data', (text: string) => {
      const lines = (this.#rest + text).split('\n');
      this.#rest = lines.pop() ?? '';
      for (const line of lines) {
        this.lines.push(line);
        this.onmessage?.(JSON.parse(line) as JSONRPCMessage);
      }
    });
    return Promise.resolve();
  }

  send(message: object): Promise<void> {
    this.toServer.write(`${JSON.stringify(message)}\n`);
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.toServer.end();
    this.onclose?.();
    return Promise.resolve();
  }
}

/** A door with its own pipes, open until the test ends. */
export function openPipes(surface: Surface): { readonly door: Door; readonly transport: PipeTransport } {
  const transport = new PipeTransport();
  const { toServer: input, fromServer: output } = transport;
  const door = openStdioDoor({ ...surface, input, output, clock: systemClock, nonce: unguessable });
  onTestFinished(() => door.close());
  return { door, transport };
}
