import type { ApprovalCard, Question } from '../../actors/ports.js';
import { quoted, visibleJson, visibleLine } from '../shared/visible-text.js';

/**
 * Everything a person has to see before saying yes, one fact a line: complete, untruncated, and escaped so that no value
 * can pass for another line or hide a part of itself.
 */
export function renderQuestion(question: Question): string[] {
  if (question.kind === 'server') return renderCard(question.card);
  const asking = question.session === null ? '' : ` (session ${quoted(question.session)})`;
  return [
    `Call of ${visibleLine(question.tool)} on server ${quoted(question.server)}${asking}`,
    `  asked by the rule: ${visibleLine(question.rule)}`,
    ...visibleJson(question.arguments)
      .split('\n')
      .map((line) => `  ${line}`),
  ];
}

function renderCard(card: ApprovalCard): string[] {
  return [
    `Server ${quoted(card.server)} of layer ${quoted(card.layer)}, over ${card.transport}`,
    ...rows(
      'command',
      card.command === undefined ? [] : [quoted(card.command.resolved), `written as ${quoted(card.command.written)}`],
    ),
    ...rows(
      'args',
      (card.args ?? []).map((argument, at) => `${at + 1}: ${quoted(argument)}`),
    ),
    ...rows('cwd', card.cwd === undefined ? [] : [quoted(card.cwd)]),
    ...rows('url', card.url === undefined ? [] : [quoted(card.url)]),
    ...rows(
      'headers',
      (card.headers ?? []).map(({ name, digest }) => `${quoted(name)} is a secret, digest ${visibleLine(digest)}`),
    ),
    ...rows('env', (card.env ?? []).map(variable)),
    ...rows(
      'files',
      (card.files ?? []).map(({ path, sha256 }) => `${quoted(path)} sha256 ${visibleLine(sha256)}`),
    ),
    ...rows('note', card.notes.map(visibleLine)),
    ...rows('compare', secretsOf(card).length > 0 ? ['type = and a value to see whether it has one of these digests'] : []),
    ...rows('fingerprint', [visibleLine(card.fingerprint)]),
  ];
}

/** Which of the card's secrets have this digest, by name. The value that was compared is not repeated. */
export function renderComparison(card: ApprovalCard, digest: string): string {
  const names = secretsOf(card).flatMap((secret) => (secret.digest === digest ? [quoted(secret.name)] : []));
  const found = names.length === 0 ? 'it is nothing on this card' : `on this card it is ${names.join(', ')}`;
  return `  That value has the digest ${visibleLine(digest)}; ${found}.`;
}

/** What the card shows by its digest alone. */
const secretsOf = ({ env = [], headers = [] }: ApprovalCard): readonly { readonly name: string; readonly digest?: string }[] =>
  [...env, ...headers].filter(({ digest }) => digest !== undefined);

function variable({ name, value, digest, highlight }: NonNullable<ApprovalCard['env']>[number]): string {
  const shown = value === undefined ? `is a secret, digest ${visibleLine(digest ?? 'unknown')}` : `= ${quoted(value)}`;
  return `${quoted(name)} ${shown}${highlight ? '  (!) can change what runs' : ''}`;
}

/** The label before the first value only. */
function rows(label: string, values: readonly string[]): string[] {
  return values.map((value, at) => `  ${(at === 0 ? label : '').padEnd(11)}  ${value}`);
}
