import { createServer } from 'node:http';
import { answerTo } from './echo-answers.mjs';

/**
 * The echo server behind Streamable HTTP, of the older era: it answers with JSON, has no stream of its own, and costs next to
 * nothing, so that what is measured is the client. Prints its port; ends with its stdin.
 */
const server = createServer((request, response) => {
  if (request.method !== 'POST') return response.writeHead(405).end();
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk) => {
    body += chunk;
  });
  request.on('end', () => {
    const message = JSON.parse(body);
    if (message.id === undefined) return response.writeHead(202).end();
    response.writeHead(200, { 'content-type': 'application/json' }).end(answerTo(message));
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
process.stdin.resume().on('end', () => process.exit(0));
