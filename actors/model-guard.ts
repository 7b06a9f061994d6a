import type { GatewayResult } from './api.js';

/** UTF-16 units of everything given to a model in one answer, written as JSON. No option raises it. */
const UNITS_MAX = 50_000;
const NOTICE = {
  type: 'text',
  text: '[The rest of this answer is left out: it is longer than a model may be given at once.]',
} as const;
const NOTICE_UNITS = 256;

/** The last look at an answer before a model gets it: whatever went before, it is never longer than the bound. */
export function guardForModel(result: GatewayResult): GatewayResult {
  if (unitsOf(result) <= UNITS_MAX) return result;
  const { isError } = result;
  const content: GatewayResult['content'][number][] = [];
  let left = UNITS_MAX - NOTICE_UNITS;
  for (const block of result.content) {
    const units = unitsOf(block) + 1;
    if (units <= left) {
      content.push(block);
      left -= units;
      continue;
    }
    const text = block['text'];
    // A unit of text takes six in JSON at most.
    if (block.type === 'text' && typeof text === 'string' && left > NOTICE_UNITS) {
      content.push({ type: 'text', text: wholePairs(text.slice(0, Math.floor((left - NOTICE_UNITS) / 6))) });
    }
    break;
  }
  return { content: [...content, NOTICE], ...(isError === undefined ? {} : { isError }) };
}

const unitsOf = (value: unknown): number => JSON.stringify(value).length;

/** Drops half a surrogate pair at the end. */
const wholePairs = (text: string): string => text.replace(/[\ud800-\udbff]$/, '');
