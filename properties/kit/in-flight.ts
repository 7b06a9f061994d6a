/** Something that is on its way: an answer, a process that starts, a file that is read. It comes when a schedule says so. */
interface Delivery {
  readonly name: string;
  readonly deliver: (luck: number) => void;
}

/** Best luck: what is delivered with it goes as well as it can. */
export const GOOD_LUCK = 0;

/** All that is on its way to the product. A schedule decides what comes next, and how well it goes. */
export class InFlight {
  readonly #deliveries: Delivery[] = [];

  get size(): number {
    return this.#deliveries.length;
  }

  /** `deliver` is called once, with a luck of [0, 1): 0 is the best, and the rest is the world's to interpret. */
  post(name: string, deliver: (luck: number) => void): void {
    this.#deliveries.push({ name, deliver });
  }

  /** Delivers one of them, the oldest being 0, and returns its name; `null` when nothing is on its way. */
  deliver(index: number, luck: number): string | null {
    const [delivery] = this.#deliveries.splice(index, 1);
    if (delivery === undefined) return null;
    delivery.deliver(luck);
    return delivery.name;
  }

  /** A promise that a delivery settles: with what `answer` returns, or throws. */
  promise<T>(name: string, answer: (luck: number) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.post(name, (luck) => {
        try {
          resolve(answer(luck));
        } catch (error) {
          // What is thrown is what the port rejects with.
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      });
    });
  }
}

/** Chooses by luck: the good outcome is first, the others share what is bad luck by their weights. */
export function byLuck<T>(luck: number, good: T, bad: readonly (readonly [weight: number, outcome: T])[]): T {
  if (luck === GOOD_LUCK) return good;
  const total = bad.reduce((sum, [weight]) => sum + weight, 0);
  let left = luck * total;
  for (const [weight, outcome] of bad) {
    left -= weight;
    if (left <= 0) return outcome;
  }
  return good;
}
