/** How long routes may take to begin, and clients to read: an answer that is whole has its time, whatever the system still holds; one without end is not concerned. */

import type { ServerResponse } from 'node:http';
import t from 'tap';
import type { Router } from '../../src/http/router.js';
import { startRouted } from '../kit/routed.js';
import { until } from '../kit/until.js';
import { Wire } from '../kit/wire.js';

/** More than systems hold for a client that does not read. */
const BODY = Buffer.alloc(64 * 1024 * 1024, 'x');
const ANSWER_MS = 180_000;

t.test('routes have all the time that a busy machine needs to begin', async (t) => {
  await startRouted(t, { onRouter: ({ app }) => t.equal(app.initialConfig.pluginTimeout, 0) });
});

t.test('an answer that is not read: its connection is closed when its time is over, and not before', async (t) => {
  let router: Router | undefined;
  const answers: ServerResponse[] = [];
  const port = await startRouted(t, {
    services: [
      {
        role: 'stream',
        takes: () => true,
        handle: ({ request, response }) => {
          answers.push(response);
          if (request.url === '/whole') response.end(BODY);
          else if (request.url === '/short') response.end('x');
          else response.write(BODY);
        },
      },
    ],
    onRouter: (made) => {
      router = made;
    },
  });
  const wires = ['/whole', '/endless', '/short'].map((path) => {
    const wire = new Wire(t, port);
    wire.socket.pause();
    return wire.send(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  });
  await until(() => answers.length === 3, 10_000);
  const isOver = (path: string) => answers.find(({ req }) => req.url === path)!.destroyed;
  for (const nowMs of [5000, 5000 + ANSWER_MS - 1]) router!.tidy(nowMs);
  t.notOk(isOver('/whole'), 'at the limit');
  router!.tidy(5000 + ANSWER_MS);
  await until(() => isOver('/whole'), 10_000);
  wires[2]!.send('GET /whole HTTP/1.1\r\nHost: x\r\n\r\n');
  await until(() => answers.length === 4, 10_000);
  for (const nowMs of [1e6, 1e6 + ANSWER_MS - 1]) router!.tidy(nowMs);
  t.notOk(isOver('/endless'), 'one without end has none');
  t.notOk(answers[3]!.destroyed, 'the next answer of a connection has a time of its own');
  router!.tidy(1e6 + ANSWER_MS);
  await until(() => answers[3]!.destroyed, 10_000);
  t.notOk(isOver('/endless'));
});
