import { type NodeIncomingMessageLike, type NodeServerResponseLike, toNodeHandler } from '@modelcontextprotocol/node';
import { answerError } from './error-answer.js';
import type { McpFetch } from './mcp-fetch.js';

/** Of what is no message: the only bodies that were not read before. */
const REST_BYTES_MAX = 1_024;

/** Lets Node's requests be answered by what answers those of the web; a message was read before. */
export function createNodeHandler({ fetch }: Pick<McpFetch, 'fetch'>) {
  return (request: NodeIncomingMessageLike, response: NodeServerResponseLike, message: object | undefined): Promise<void> => {
    const answer = async (web: Request): Promise<Response> => {
      try {
        return await fetch(web, message);
      } catch {
        return answerError(500, -32_603, 'Internal error');
      }
    };
    return toNodeHandler({ fetch: answer }, { maxRequestBodySize: REST_BYTES_MAX })(request, response, message);
  };
}
