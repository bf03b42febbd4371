/** Responses whose body is given whole: over TLS they go out in pieces, byte for byte, and what is not read is not kept for each client. */

import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { WholeResponse } from '../../src/http/whole-response.js';
import { ONE } from '../kit/certificate.js';
import { Random } from '../kit/random.js';
import { until } from '../kit/until.js';

const PIECE_BYTES = 64 * 1024;

type Answer = (request: http.IncomingMessage, response: WholeResponse) => void;

async function serve(t: Test, isTls: boolean, answer: Answer): Promise<number> {
  const options = { ...ONE, ServerResponse: WholeResponse };
  const server = isTls ? https.createServer(options, answer) : http.createServer(options, answer);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** @param agent keeps its connection */
function ask(
  port: number,
  isTls: boolean,
  method: string,
  agent: https.Agent | http.Agent,
): Promise<http.IncomingMessage> {
  const options = { port, host: '127.0.0.1', method, agent, rejectUnauthorized: false };
  return new Promise((resolve, reject) => {
    (isTls ? https : http).request(options, resolve).on('error', reject).end();
  });
}

async function bodyOf(response: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

t.test('every length comes whole, on one connection, with its length, and ends once', async (t) => {
  const random = new Random();
  const lengths = [0, 1, PIECE_BYTES, PIECE_BYTES + 1, 2 * PIECE_BYTES, 2 * PIECE_BYTES + 1, 5 * 1024 * 1024];
  for (const isTls of [true, false]) {
    let body: Buffer | string = '';
    let [finished, called] = [0, 0];
    const port = await serve(t, isTls, (request, response) => {
      response.on('finish', () => finished++);
      if (request.url === '/') response.writeHead(200, { 'Content-Length': Buffer.byteLength(body) });
      response.end(body, () => called++);
      t.ok(response.isWhole);
      response.end();
    });
    const agent = new (isTls ? https : http).Agent({ keepAlive: true, maxSockets: 1 });
    t.teardown(() => agent.destroy());
    let answers = 0;
    for (const length of lengths) {
      const bytes = Buffer.from(Array.from({ length: 1024 }, () => random.int(0, 255)));
      for (body of [Buffer.alloc(length, bytes), 'ä'.repeat(length / 2)]) {
        const response = await ask(port, isTls, 'GET', agent);
        t.equal(response.headers['content-length'], String(Buffer.byteLength(body)));
        t.ok((await bodyOf(response)).equals(Buffer.from(body)), `${length} bytes, seed ${random.seed}`);
        const head = await ask(port, isTls, 'HEAD', agent);
        t.strictSame(
          [head.headers['content-length'], (await bodyOf(head)).length],
          [String(Buffer.byteLength(body)), 0],
        );
        answers += 2;
      }
    }
    await until(() => finished === answers && called === answers, 5000);
  }
});

t.test('of what a client does not read only a piece is encrypted; it may go at any moment', async (t) => {
  const body = Buffer.alloc(20 * 1024 * 1024);
  const responses: WholeResponse[] = [];
  const port = await serve(t, true, (_, response) => {
    responses.push(response);
    response.end(body);
  });
  const agent = new https.Agent();
  const readers = await Promise.all(Array.from({ length: 3 }, () => ask(port, true, 'GET', agent)));
  await until(() => responses.every(({ socket }) => (socket?.writableLength ?? 0) > 0), 5000);
  for (const { socket, isWhole, writableFinished } of responses) {
    t.strictSame([isWhole, writableFinished], [true, false]);
    t.ok(socket!.writableLength < 2 * PIECE_BYTES, `${socket!.writableLength} bytes wait`);
  }
  readers[0]!.destroy();
  responses[1]!.destroy();
  t.equal((await bodyOf(readers[2]!)).length, body.length);
  await until(() => responses.every((each) => each.closed || each.destroyed), 5000);
});
