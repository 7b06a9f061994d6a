import { modelText } from '../machines/model-text.js';
import { cutUtf8 } from '../machines/utf8.js';
import type { ServerStatus } from './api.js';
import type { CatalogueListing } from './listing-page.js';
import { promptArguments } from './prompt-arguments.js';
import type { ToolEntry } from './tool-entry.js';

const SUMMARY_BYTES = 256;

/** One tool in a list of hits. */
export function toolSummary(entry: ToolEntry) {
  return { name: entry.fullName, server: entry.server, description: short(entry.description), marks: marksOf(entry) };
}

/** What a model should know before it relies on a tool. */
export function marksOf({ callable, unapproved, cached, changed }: ToolEntry): readonly string[] {
  const marks = [
    callable ? null : 'over the limit, not callable',
    unapproved ? 'waits for approval' : null,
    cached ? 'cached' : null,
    changed ? 'changed' : null,
  ];
  return marks.filter((mark) => mark !== null);
}

export const withMarks = (name: string, marks: readonly string[]): string =>
  [name, ...marks.map((mark) => `[${mark}]`)].join(' ');

/** One server in the status a model gets: no paths, no stderr. */
export function serverSummary({ id, phase, blockedBy, tools, resources, prompts, error }: ServerStatus) {
  const why = error === null ? blockedBy : `${error.code}: ${short(error.message)}`;
  return { id, phase, blockedBy, tools: tools.count, resources: resources.count, prompts: prompts.count, why };
}

/** A resource by its URI, or a template. */
export function readableSummary({ server, kind, key, definition, cached }: CatalogueListing) {
  const place = kind === 'resources' ? { uri: key } : { uriTemplate: key };
  return { server, ...place, ...textsOf(definition, ['name', 'mimeType', 'description']), cached };
}

export function promptSummary({ server, key: name, definition, cached }: CatalogueListing) {
  return { server, name, ...textsOf(definition, ['description']), arguments: promptArguments(definition), cached };
}

export const oneLine = (text: string): string => text.replace(/\s+/g, ' ');

function textsOf(definition: CatalogueListing['definition'], fields: readonly string[]): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const field of fields) {
    const value = definition[field];
    if (typeof value === 'string') texts[field] = short(modelText(value).text);
  }
  return texts;
}

const short = (text: string): string => (text.length <= SUMMARY_BYTES ? text : `${cutUtf8(text, SUMMARY_BYTES)}…`);
