import { createHash } from 'node:crypto';

/** Values that stand for secrets, each its own, and a search for any of them in whatever was captured. */
export class Sentinels {
  readonly #values = new Map<string, string>();

  /** A value that is a secret only by where it stands. */
  plant(place: string): string {
    const digest = createHash('sha256').update(place).digest('hex').slice(0, 12);
    const value = `sn${this.#values.size}_${digest}-Kx`;
    this.#values.set(place, value);
    return value;
  }

  get count(): number {
    return this.#values.size;
  }

  /** `place: form` of each one that stands in a text. */
  in(text: string): string[] {
    return [...this.#values].flatMap(([place, value]) =>
      formsOf(value).flatMap(([form, written]) => (text.includes(written) ? [`${place}: ${form}`] : [])),
    );
  }
}

/** A prefix too: half a secret is one. */
function formsOf(value: string): [string, string][] {
  const base64 = [0, 1, 2].map((shift): [string, string] => {
    const text = Buffer.concat([Buffer.alloc(shift), Buffer.from(value)]).toString('base64');
    return [`base64 after ${shift}`, text.slice(Math.ceil((shift * 8) / 6), -4)];
  });
  const hex = Buffer.from(value).toString('hex');
  return [['raw', value], ['its first half', value.slice(0, 12)], ['hex', hex], ['HEX', hex.toUpperCase()], ...base64];
}
