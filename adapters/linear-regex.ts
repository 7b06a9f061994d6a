import { RE2JS } from 're2js';
import type { RegexPort } from '../actors/ports.js';

/** RE2 in JavaScript: no back-references and no look-around, and so no pattern that takes exponential time (S105, S106). */
export const linearRegex: RegexPort = {
  compile(pattern) {
    const regex = RE2JS.compile(pattern, RE2JS.CASE_INSENSITIVE);
    return { test: (text) => regex.test(text) };
  },
};
