import type { Question } from '../../actors/ports.js';
import { quoted, visibleJson, visibleLine } from '../shared/visible-text.js';

/** Units of the arguments that a form shows; what is longer says how much of it is missing. */
const ARGUMENTS_SHOWN = 16_384;
const FIELD = 'decision';

export interface ApprovalForm {
  readonly mode: 'form';
  readonly message: string;
  readonly requestedSchema: {
    readonly type: 'object';
    readonly properties: { readonly [FIELD]: { type: 'string'; title: string; enum: string[]; default: string } };
    readonly required: string[];
  };
}

/**
 * What a person is shown about one call: server, tool and arguments, escaped so that none of them can pass for another line
 * or hide a part of itself. The answer already chosen is the no.
 */
export function approvalForm(question: Extract<Question, { kind: 'call' }>): ApprovalForm {
  const shown = visibleJson(question.arguments);
  const more = shown.length - ARGUMENTS_SHOWN;
  const message = [
    'Allow this call?',
    `Server: ${quoted(question.server)}`,
    `Tool: ${visibleLine(question.tool)}`,
    `Asked by the rule: ${visibleLine(question.rule)}`,
    more > 0 ? `Arguments, the first ${ARGUMENTS_SHOWN} of ${shown.length} characters:` : 'Arguments:',
    ...wholePairs(shown.slice(0, ARGUMENTS_SHOWN))
      .split('\n')
      .map((line) => `  ${line}`),
    ...(question.canRemember
      ? ['"always" also lets later calls of this tool in this workspace pass, until its definition changes.']
      : []),
    ...(more > 0 ? [`${more} characters of the arguments are NOT shown. Deny the call if they could matter.`] : []),
  ];
  return {
    mode: 'form',
    message: message.join('\n'),
    requestedSchema: {
      type: 'object',
      properties: {
        [FIELD]: {
          type: 'string',
          title: 'Decision',
          enum: question.canRemember ? ['deny', 'approve', 'always'] : ['deny', 'approve'],
          default: 'deny',
        },
      },
      required: [FIELD],
    },
  };
}

export type FormDecision = 'approve' | 'deny' | { readonly decision: 'approve'; readonly remember: true };

/** Only a form that was sent off with the word itself is a yes; closed, declined, empty or anything else is a no. */
export function decisionIn(answer: unknown): FormDecision {
  if (!isRecord(answer) || answer['action'] !== 'accept' || !isRecord(answer['content'])) return 'deny';
  const said = answer['content'][FIELD];
  if (said === 'always') return { decision: 'approve', remember: true };
  return said === 'approve' ? 'approve' : 'deny';
}

/** Whether a client's capabilities let a form be sent to it: `elicitation` with forms, or without saying which modes. */
export function takesForms(capabilities: unknown): boolean {
  if (!isRecord(capabilities) || !isRecord(capabilities['elicitation'])) return false;
  const { form, url } = capabilities['elicitation'];
  return form !== undefined || url === undefined;
}

/** Drops half a surrogate pair at the end. */
const wholePairs = (text: string): string => text.replace(/[\ud800-\udbff]$/, '');

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
