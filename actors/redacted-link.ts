import type { Failure, Handshake } from '../machines/vocabulary.js';
import type { Launch, Link, LinkDiagnosis, LinkEvents, LinkPort, Progress, RedactionPort, Reply } from './ports.js';
import { redactedError, redactedFailure } from './redacted-errors.js';

/**
 * Links whose every word about a server is free of secrets, those of its own launch above all, which are held for as long as it
 * lasts. Results pass as they are.
 */
export function redactedLinks(port: LinkPort, redaction: RedactionPort): LinkPort {
  return {
    open(launch, events, options) {
      const held = redaction.hold([launchSecrets(launch)]);
      try {
        return new RedactedLink(port.open(launch, redactedEvents(events, redaction), options), redaction, held);
      } catch (error) {
        const clean = redactedError(redaction, error);
        held.release();
        throw clean;
      }
    },
  };
}

const launchSecrets = (launch: Launch) =>
  launch.transport === 'stdio' ? { args: launch.args, env: launch.env } : { url: launch.url, headers: launch.headers };

const redactedEvents = (events: LinkEvents, redaction: RedactionPort): LinkEvents => ({
  opened: (facts) => events.opened(facts),
  lost: (problem, death) => events.lost(redactedFailure(redaction, problem), death),
  listChanged: (kind) => events.listChanged(kind),
  stderr: () => events.stderr(),
});

class RedactedLink implements Link {
  readonly #link: Link;
  readonly #redaction: RedactionPort;
  readonly #held: { release(): void };
  #closing: ReturnType<Link['close']> | undefined;
  #isClosed = false;

  constructor(link: Link, redaction: RedactionPort, held: { release(): void }) {
    this.#link = link;
    this.#redaction = redaction;
    this.#held = held;
  }

  async handshake(): Promise<Handshake> {
    const handshake = await this.#cleaned(() => this.#link.handshake());
    const { serverInfo } = handshake;
    if (serverInfo === null) return handshake;
    const { name, version } = serverInfo;
    return { ...handshake, serverInfo: { name: this.#redaction.line(name), version: this.#redaction.line(version) } };
  }

  request(method: string, params: object | undefined, reply: Reply): string {
    try {
      return this.#link.request(method, params, new RedactedReply(reply, this.#redaction));
    } catch (error) {
      throw redactedError(this.#redaction, error);
    }
  }

  forget(requestId: string, late: (answer: 'result' | 'error') => void): void {
    this.#link.forget(requestId, late);
  }

  unwatch(requestId: string): void {
    this.#link.unwatch(requestId);
  }

  notifyCancelled(requestId: string, reason: string): Promise<void> {
    return this.#cleaned(() => this.#link.notifyCancelled(requestId, reason));
  }

  listen(): Promise<void> {
    return this.#cleaned(() => this.#link.listen());
  }

  probe(): Promise<void> {
    return this.#cleaned(() => this.#link.probe());
  }

  close(): ReturnType<Link['close']> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  /** What a server wrote is not told once its secrets are no longer known. */
  diagnosis(): LinkDiagnosis {
    const diagnosis = this.#link.diagnosis();
    return { ...diagnosis, stderrTail: this.#isClosed ? '' : this.#redaction.text(diagnosis.stderrTail) };
  }

  async #end(): ReturnType<Link['close']> {
    try {
      const { outcome, detail } = await this.#cleaned(() => this.#link.close());
      return { outcome, detail: this.#redaction.line(detail) };
    } finally {
      this.#isClosed = true;
      this.#held.release();
    }
  }

  async #cleaned<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw redactedError(this.#redaction, error);
    }
  }
}

/** Adds nothing to the path of a result but itself. */
class RedactedReply implements Reply {
  readonly #reply: Reply;
  readonly #redaction: RedactionPort;

  constructor(reply: Reply, redaction: RedactionPort) {
    this.#reply = reply;
    this.#redaction = redaction;
  }

  result(value: unknown): void {
    this.#reply.result(value);
  }

  failed(problem: Failure, cause?: unknown): void {
    this.#reply.failed(
      redactedFailure(this.#redaction, problem),
      cause === undefined ? undefined : redactedError(this.#redaction, cause),
    );
  }

  progress(report: Progress): void {
    const { message } = report;
    this.#reply.progress(message === undefined ? report : { ...report, message: this.#redaction.line(message) });
  }
}
