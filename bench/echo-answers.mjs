/** What every echo server of the benches answers, whatever it is reached over. */
const tools = [
  {
    name: 'echo',
    description: 'Says back what it is told.',
    inputSchema: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
  },
];

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'echo', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools }),
  'tools/call': ({ arguments: { message } }) => ({ content: [{ type: 'text', text: message }] }),
};

/** The answer to one request, as JSON. */
export function answerTo({ id, method, params }) {
  const answer = answers[method];
  const outcome =
    answer === undefined ? { error: { code: -32601, message: `no method ${method}` } } : { result: answer(params ?? {}) };
  return JSON.stringify({ jsonrpc: '2.0', id, ...outcome });
}
