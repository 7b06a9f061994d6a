import type { RedactionPort } from '../../actors/ports.js';
import { SecretMatcher } from './secret-matcher.js';
import { REDACTED, withoutSecretShapes } from './secret-shapes.js';
import { secretValues } from './secret-values.js';
import type { Span } from './text-matcher.js';
import { visibleLine, visibleText } from './visible-text.js';

/**
 * Takes secrets out of texts, by value and by shape (S152), and spells out what could not be seen (S153). The values are
 * those held now and no others; what they are looked for by is made when a text comes, once after each change.
 */
export function createRedaction(): RedactionPort {
  const held = new Map<string, number>();
  let matcher: SecretMatcher | null = null;

  const count = (value: string, by: 1 | -1): void => {
    const holders = (held.get(value) ?? 0) + by;
    if (holders === 0) held.delete(value);
    else held.set(value, holders);
    if (holders === 0 || (holders === 1 && by === 1)) matcher = null;
  };
  const clean = (text: string): string => {
    if (text === '') return text;
    matcher ??= new SecretMatcher(held.keys());
    return withoutSecretShapes(held.size === 0 ? text : without(text, matcher.find(text)));
  };

  return {
    hold(sources) {
      const values = new Set(sources.flatMap((source) => [...secretValues(source)]));
      for (const value of values) count(value, 1);
      let isHeld = true;
      return {
        release() {
          if (!isHeld) return;
          isHeld = false;
          for (const value of values) count(value, -1);
        },
      };
    },
    line: (text) => visibleLine(clean(text)),
    text: (text) => visibleText(clean(text)),
  };
}

/** The text with each run of spans that touch as one mark. */
function without(text: string, spans: readonly Span[]): string {
  if (spans.length === 0) return text;
  const parts: string[] = [];
  let read = 0;
  let open: Span | null = null;
  const close = (): void => {
    if (open === null) return;
    parts.push(text.slice(read, open.start), REDACTED);
    read = open.end;
  };
  for (const { start, end } of [...spans].sort((one, other) => one.start - other.start)) {
    if (open !== null && start <= open.end) open = { start: open.start, end: Math.max(open.end, end) };
    else {
      close();
      open = { start, end };
    }
  }
  close();
  return parts.join('') + text.slice(read);
}
