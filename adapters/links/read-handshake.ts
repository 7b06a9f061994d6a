import type { Era, Handshake, ListKind } from '../../machines/vocabulary.js';

const NAME_LENGTH_MAX = 256;

interface Announcer {
  readonly listChanged?: boolean | undefined;
}

/** What an SDK's client knows of a server it has greeted. */
export interface Greeted {
  readonly era: Era;
  readonly protocolVersion: string;
  readonly capabilities: { readonly [List in 'tools' | 'resources' | 'prompts']?: Announcer | undefined } | undefined;
  readonly serverInfo: { readonly name: string; readonly version: string } | undefined;
}

/** The same in our own words, whichever SDK greeted it. */
export function readHandshake({ era, protocolVersion, capabilities = {}, serverInfo: info }: Greeted): Handshake {
  const { tools, resources, prompts } = capabilities;
  const lists: ListKind[] = [];
  if (tools !== undefined) lists.push('tools');
  if (resources !== undefined) lists.push('resources', 'resourceTemplates');
  if (prompts !== undefined) lists.push('prompts');
  return {
    era,
    protocolVersion,
    serverInfo: info === undefined ? null : { name: bounded(info.name), version: bounded(info.version) },
    lists,
    announces: [tools, resources, prompts].some((capability) => capability?.listChanged === true),
  };
}

const bounded = (text: string): string => text.slice(0, NAME_LENGTH_MAX);
