/** Open-loop requests: each answer is checked, what waits is measured from when it was due, and a connection that is gone is opened again. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { Requests } from '../../bench/requests.js';
import { pause } from '../kit/pause.js';

async function serve(t: Test, answerMs: number) {
  let connections = 0;
  const server = createServer(async (request, response) => {
    if (answerMs > 0) await pause(answerMs);
    if (request.url === '/gone') return void request.socket.destroy();
    response.statusCode = request.headers['if-none-match'] ? 304 : 200;
    let body = '';
    for await (const part of request) body += part;
    response.setHeader('Content-Length', response.statusCode === 304 ? 0 : Buffer.byteLength(body || 'hello'));
    if (request.url === '/once') response.setHeader('Connection', 'close');
    if (request.url === '/brief') response.setHeader('Keep-Alive', 'timeout=1');
    response.end(response.statusCode === 304 ? undefined : body || 'hello');
  });
  server.on('connection', () => connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const requests = new Requests((server.address() as AddressInfo).port, 2);
  t.teardown(() => {
    requests.close();
    server.close();
  });
  return { requests, connections: () => connections };
}

t.test('answers are checked one by one', async (t) => {
  const { requests } = await serve(t, 0);
  const started = performance.now();
  requests.send('GET /', started, ({ status, body }) => status === 200 && body === 'hello');
  requests.send('POST /', started, ({ body }) => body === '{"a":1}', { body: '{"a":1}' });
  requests.send('GET /', started, ({ status, body }) => status === 304 && body === '', {
    heads: 'If-None-Match: x\r\n',
  });
  await requests.idle(10);
  t.equal(requests.wrong, 0, requests.firstFault ?? '');
  t.equal(requests.ms.length, 3);
  t.ok(requests.bytes > 100);
  requests.send('GET /', performance.now(), () => false);
  await requests.idle(10);
  t.equal(requests.wrong, 1);
  t.match(requests.firstFault, 'answered 200: hello');
});

t.test('what waits for a connection is measured from when it was due', async (t) => {
  const { requests } = await serve(t, 50);
  const dueAt = performance.now();
  for (let index = 0; index < 6; index++) requests.send('GET /', dueAt, ({ status }) => status === 200);
  await requests.idle(10);
  t.equal(requests.ms.length, 6);
  t.ok(
    Math.max(...requests.ms) >= 148,
    `the last of six over two connections waited three times 50 ms: ${requests.ms}`,
  );
});

t.test('a connection that the server closes is opened again; one that breaks under a request is a fault', async (t) => {
  const { requests, connections } = await serve(t, 0);
  for (let index = 0; index < 3; index++) t.equal((await requests.ask('GET /once')).status, 200);
  t.ok(connections() >= 2);
  t.equal(requests.wrong, 0);
  await t.rejects(requests.ask('GET /gone'), /closed by the server|ECONNRESET/);
  requests.send('GET /gone', performance.now(), () => true);
  await requests.idle(10);
  t.equal(requests.wrong, 1);
  t.equal((await requests.ask('GET /')).body, 'hello', 'and it goes on');
});

t.test('a connection is left before the server said that it closes it', async (t) => {
  const { requests, connections } = await serve(t, 0);
  t.equal((await requests.ask('GET /brief')).status, 200);
  t.equal(connections(), 1);
  t.equal((await requests.ask('GET /')).status, 200);
  t.equal(connections(), 2, 'the second less than a second before its end is another one');
  t.equal((await requests.ask('GET /')).status, 200);
  t.equal(connections(), 2, 'which is kept');
});
