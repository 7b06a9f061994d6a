/**
 * The workload of every leg: an MCP server on stdio that costs next to nothing, so that what is measured is the client. With
 * the argument `hang` it never answers the handshake.
 */
const hangs = process.argv[2] === 'hang';

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

function handle({ id, method, params }) {
  if (id === undefined || (hangs && method === 'initialize')) return;
  const answer = answers[method];
  const outcome =
    answer === undefined ? { error: { code: -32601, message: `no method ${method}` } } : { result: answer(params ?? {}) };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...outcome })}\n`);
}

let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop() ?? '';
  for (const line of lines) if (line !== '') handle(JSON.parse(line));
});
process.stdin.on('end', () => process.exit(0));
