import { answerTo } from './echo-answers.mjs';

/**
 * The workload of every leg: an MCP server on stdio that costs next to nothing, so that what is measured is the client. With
 * the argument `hang` it never answers the handshake.
 */
const hangs = process.argv[2] === 'hang';

function handle(message) {
  if (message.id === undefined || (hangs && message.method === 'initialize')) return;
  process.stdout.write(`${answerTo(message)}\n`);
}

let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop() ?? '';
  for (const line of lines) if (line !== '') handle(JSON.parse(line));
});
process.stdin.on('end', () => process.exit(0));
