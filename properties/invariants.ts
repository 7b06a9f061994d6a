/** One rule that holds in every run, whatever the world does. */
export interface Invariant {
  readonly id: string;
  readonly sentence: string;
}

/** What this project claims, one sentence a rule. Each is judged by a check of the simulator, which counts how often it was. */
export const invariants = [
  { id: 'settles-once', sentence: 'Every call settles exactly once, and the server it was sent to is busy for exactly as long.' },
  { id: 'own-reply', sentence: 'No reply reaches another call, another session or another workspace.' },
  { id: 'sent-once', sentence: 'A call is sent at most once, over the server that it names.' },
  { id: 'one-generation', sentence: 'A server has at most one live generation.' },
  { id: 'nothing-open', sentence: 'When a stop or a close has settled, nothing of any generation is open.' },
  { id: 'live-cap', sentence: 'The process never holds more live transports than it has slots.' },
  { id: 'slot-held', sentence: 'A slot is held exactly while a generation is open, under the ticket it was granted for.' },
  { id: 'no-idle-slot', sentence: 'Nobody waits for a slot while one is free.' },
  { id: 'ready-approved', sentence: 'What is ready runs as exactly the fingerprint that was approved.' },
  { id: 'gates-hold', sentence: 'A server that is denied, blocked or unapproved never reaches a transport.' },
  { id: 'calls-admitted', sentence: 'A call that is denied, or asked about and not approved, never reaches a transport.' },
  { id: 'restart-intensity', sentence: 'In any window a server is restarted no more often than its intensity allows.' },
  { id: 'backoff-bounds', sentence: 'A wait between two starts lies within its bounds.' },
  { id: 'backoff-reset', sentence: 'What was counted against a server is forgotten only after it was stable, or by a person.' },
  { id: 'rejected-reload', sentence: 'A rejected reload changes nothing that runs.' },
  { id: 'minimal-reload', sentence: 'An accepted reload touches only what changed.' },
  {
    id: 'listing-bounds',
    sentence: 'A walk through a list stops within its pages and at the first cursor that it has followed before.',
  },
  { id: 'items-bound', sentence: 'A list keeps no more items than its limit.' },
  { id: 'listing-keeps', sentence: 'What was verified of a list before its walk ended early is offered.' },
  { id: 'deadline', sentence: 'The deadline of a call fires within one tick of its time.' },
  { id: 'hard-deadline', sentence: 'Progress never moves the hard deadline of a call.' },
  { id: 'cancel-once', sentence: 'A cancelled call notifies its server at most once.' },
  { id: 'cancel-not-initialize', sentence: 'Only a request that was made is cancelled, and never the handshake.' },
  { id: 'idles-out', sentence: 'A server that nobody uses goes idle when its time is up.' },
  { id: 'busy-stays', sentence: 'A server with a call in flight is closed neither as idle nor to make room.' },
  { id: 'old-news', sentence: 'News of an older generation changes nothing.' },
  { id: 'woken', sentence: 'No call waits for a server that is ready.' },
  { id: 'stop-settles', sentence: 'A gate that shuts settles every call of its server in the same turn.' },
  { id: 'nothing-left', sentence: 'After close no timer, listener, watcher or child is left behind.' },
  { id: 'one-phase', sentence: 'A status has exactly one phase, and a reason when the server is not ready.' },
  { id: 'no-crash', sentence: 'Whatever the world does, nothing is thrown at it, and every failure has a code.' },
  {
    id: 'liveness',
    sentence:
      'In a helpful world every demanded server becomes ready, failed or blocked with a reason in a bounded number of steps.',
  },
  { id: 'close-ends', sentence: 'A close settles in a bounded number of steps.' },
] as const satisfies readonly Invariant[];

export type InvariantId = (typeof invariants)[number]['id'];
