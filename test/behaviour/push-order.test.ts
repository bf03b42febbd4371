/** Many pushes at once: one order for answers and readers, and readers before the answer. */

import http from 'node:http';
import t from 'tap';
import { get, now, PATH, YAML } from '../kit/http-push.js';
import { startServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { Watching, Wire } from '../kit/wire.js';

t.test('pipelined pushes are answered and applied in order', async (t) => {
  const { port } = await startServer(t, YAML);
  const body = (song: string) => JSON.stringify({ song, artist: '', duration: 1 });
  const head = `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: `;
  // Of one method only: after a POST a client should not pipeline another one (RFC 9112, 9.3.2), and its body takes a little time.
  for (const method of ['GET', 'POST']) {
    const watching = await new Watching(t, `ws://127.0.0.1:${port}/metadata/channel/demo`).opened();
    const songs = Array.from({ length: 20 }, (_, n) => `${method} ${n}`);
    const requests = songs.map((song) =>
      method === 'GET'
        ? `GET ${PATH}?song=${song.replace(' ', '+')} HTTP/1.1\r\nHost: x\r\n\r\n`
        : `${head}${body(song).length}\r\n\r\n${body(song)}`,
    );
    const answers = await new Wire(t, port).send(requests.join('')).take(20);
    t.same(
      answers.map((answer) => answer.json().song),
      songs,
      'answers',
    );
    await until(() => watching.records.at(-1)?.song === songs[19], 2000);
    t.same(
      watching.records.slice(-20).map((record) => record.song),
      songs,
      'effects',
    );
  }
});

t.test('two hundred at once: one order for all', async (t) => {
  const { port } = await startServer(t, `limits: { pushBurst: 400 }\n${YAML}`);
  const watchers = await Promise.all(
    ['channel/demo', 'channel/demo', 'station/house'].map((topic) =>
      new Watching(t, `ws://127.0.0.1:${port}/metadata/${topic}`).opened(),
    ),
  );
  const agent = new http.Agent({ keepAlive: true, maxSockets: 16 });
  t.teardown(() => agent.destroy());
  const seenAtAnswer: boolean[] = [];
  const push = (n: number) =>
    new Promise<number>((resolve, reject) => {
      const posted = n % 2 === 0;
      const options = {
        agent,
        port,
        host: '127.0.0.1',
        method: posted ? 'POST' : 'GET',
        path: posted ? PATH : `${PATH}?song=s${n}&id=${n}`,
      };
      const request = http.request(options, (response) => {
        response.resume().on('end', () => resolve(response.statusCode!));
      });
      request.on('error', reject);
      if (posted) request.setHeader('Content-Type', 'application/json');
      request.end(posted ? JSON.stringify({ song: `s${n}`, artist: '', duration: 0, id: String(n) }) : undefined);
    });
  const statuses = await Promise.all(Array.from({ length: 200 }, (_, n) => push(n)));
  t.ok(statuses.every((status) => status === 200));
  const last = await now(t, port);
  for (const watching of watchers) await watching.has(200);
  const orders = watchers.map((watching) => watching.records.map((record) => record.id));
  t.same(orders[1], orders[0]);
  t.same(orders[2], orders[0], 'channel and station agree');
  t.equal(new Set(orders[0]).size, 200, 'each push was sent once');
  t.equal(orders[0]!.at(-1), last.id, 'the last one sent is what polling says');

  // What 200 promises: by then every reader that keeps up has been written to, and polling says it.
  for (let n = 0; n < 20; n++) {
    const { song } = (await get(t, port, `?song=told${n}`)).json();
    seenAtAnswer.push((await now(t, port)).song === song);
  }
  t.ok(seenAtAnswer.every(Boolean), 'after the 200 polling has it');
});
