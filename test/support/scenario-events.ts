import type { ServerContext } from '../../machines/server-context.js';
import type { ServerEvent, ShutGate } from '../../machines/server-events.js';
import { CODES, type Code, failure, type Gate } from '../../machines/vocabulary.js';

export type Fields = Readonly<Record<string, unknown>>;

/** Short forms of events, as a scenario writes them: what is left out belongs to the present generation, ticket, question. */
const shorthands: Readonly<Record<string, (fields: Fields, context: ServerContext) => object>> = {
  'server.demand': only('by'),
  'demand.ended': only(),
  'server.restart': only(),
  'server.retire': ({ code = 'SERVER_REMOVED', ...rest }) => ({ ...only()(rest), failure: failureOf(code) }),
  'gates.changed': ({ shut, ...rest }) => ({ ...only()(rest), shut: shutBy(shut) }),
  'profile.changed': ({ profile, ...rest }, context) => ({
    ...only()(rest),
    profile: { ...context.profile, ...object(profile) },
  }),
  'profile.adjusted': ({ profile, ...rest }, context) => ({
    ...only()(rest),
    profile: { ...context.profile, ...object(profile) },
  }),
  'options.changed': ({ options, ...rest }, context) => ({
    ...only()(rest),
    options: { ...context.options, ...object(options) },
  }),
  'approval.granted': withDefaults({ fingerprint: ({ fingerprint }) => fingerprint }),
  'approval.denied': ({ code = 'APPROVAL_DENIED', ...rest }, context) => ({
    ...withDefaults({ fingerprint: ({ fingerprint }) => fingerprint })(rest, context),
    failure: failureOf(code),
  }),
  'slot.granted': withDefaults({ ticket: ({ ticket }) => ticket }),
  'slot.reclaimed': withDefaults({ ticket: ({ ticket }) => ticket }),
  'calls.busy': withDefaults({ generation: ({ generation }) => generation }),
  'calls.quiet': withDefaults({ generation: ({ generation }) => generation }),
  'call.cancelled': withDefaults({ generation: ({ generation }) => generation, requestId: () => 'r1', reason: () => 'deadline' }),
  'answer.late': withDefaults({ requestId: () => 'r1', answer: () => 'result' }),
  'transport.opened': withDefaults({ generation: ({ generation }) => generation, pid: () => 7 }),
  'transport.initialized': ({ handshake = {}, ...rest }, context) => ({
    ...withDefaults({ generation: ({ generation }) => generation })(rest, context),
    handshake: {
      era: 'legacy',
      protocolVersion: '2025-11-25',
      serverInfo: null,
      lists: [],
      announces: false,
      ...object(handshake),
    },
  }),
  'transport.lost': ({ code = 'LINK_LOST', ...rest }, context) => ({
    ...withDefaults({ generation: ({ generation }) => generation, death: () => true })(rest, context),
    failure: failureOf(code),
  }),
  'transport.closed': withDefaults({
    generation: ({ generation }) => generation,
    outcome: () => 'clean',
    detail: () => 'told by the test',
  }),
  'transport.stderr': withDefaults({ generation: ({ generation }) => generation }),
  'list.changed': withDefaults({ generation: ({ generation }) => generation, kind: () => 'tools' }),
  'cancellation.settled': withDefaults({ requestId: () => 'r1', outcome: () => 'confirmed' }),
};

/** The whole event of a short form. Throws for an event and for a field that nobody reads. */
export function eventOf(written: unknown, context: ServerContext): ServerEvent {
  const { type, ...fields } = object(written);
  const expand = shorthands[String(type)];
  if (expand === undefined) throw new Error(`unknown event ${JSON.stringify(type)}`);
  return { type, ...expand(fields, context) } as ServerEvent;
}

export function object(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`expected an object, got ${JSON.stringify(value)}`);
  }
  return value as Fields;
}

/** Throws for a key that nobody reads: a misspelt expectation would otherwise hold for ever. */
export function refuseUnknown(where: string, fields: Fields, known: readonly string[]): void {
  const unknown = Object.keys(fields).filter((key) => !known.includes(key));
  if (unknown.length > 0) throw new Error(`${where}: unknown key ${unknown.join(', ')}; known are ${known.join(', ')}`);
}

/** The gate of a scenario, with the failure that its code stands for. */
export function shutBy(gate: unknown): ShutGate {
  if (gate === null) return null;
  const code = gateCodes[gate as Gate] as Code | undefined;
  if (code === undefined) throw new Error(`unknown gate ${JSON.stringify(gate)}`);
  return { gate: gate as Gate, failure: failureOf(code) };
}

const gateCodes = {
  remoteOff: 'REMOTE_OFF',
  untrusted: 'UNTRUSTED',
  disabled: 'DISABLED',
  shadowed: 'SHADOWED',
  refused: 'REFUSED_ENV',
  denied: 'APPROVAL_DENIED',
} as const satisfies Record<Gate, Code>;

function failureOf(code: unknown) {
  if (typeof code !== 'string' || !Object.hasOwn(CODES, code)) throw new Error(`unknown code ${JSON.stringify(code)}`);
  return failure(code as Code, `${code}, told by the test`);
}

function only(...keys: readonly string[]) {
  return (fields: Fields): Fields => {
    refuseUnknown('event', fields, keys);
    return fields;
  };
}

function withDefaults(defaults: Readonly<Record<string, (context: ServerContext) => unknown>>) {
  return (fields: Fields, context: ServerContext): Fields => {
    refuseUnknown('event', fields, Object.keys(defaults));
    return { ...Object.fromEntries(Object.entries(defaults).map(([key, value]) => [key, value(context)])), ...fields };
  };
}
