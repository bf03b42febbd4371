/**
 * An encoder that comes back while its old connection seems to live, and one that only has the same name: the whole server, bare sockets, the
 * demo's audio.
 */

import { once } from 'node:events';
import t from 'tap';
import { TICK_MS } from '../../../src/base/clock.js';
import { ReturningEncoders } from '../../../src/http/ingest/returning.js';
import { FakeClock } from '../../kit/clock.js';
import { Feeder } from '../../kit/feeder.js';
import { keepLines } from '../../kit/log-lines.js';
import { startServer } from '../../kit/server.js';
import { socketPair } from '../../kit/socket-pair.js';
import { awaited, until } from '../../kit/until.js';
import { arrived } from '../../kit/wire.js';

const STALL_MS = 1500;
const yaml = (takeover: string) => `
addresses: [{ host: 127.0.0.1, port: 0 }]
sources: { stallMs: ${STALL_MS}, pieceSeconds: 2, bodyTimeoutSeconds: 3 }
stations:
  demo: { channels: { live: { sources: [{ type: encoder, password: demo-source, takeover: ${takeover} }] } } }
`;
const named = (agent: string) => ({ headers: `Content-Type: audio/mpeg\r\nUser-Agent: ${agent}\r\n` });
const BUTT = named('butt 0.1.37');

// They wait, and do little.
t.jobs = 4;

for (const takeover of ['silent', 'never']) {
  t.test(
    `${takeover}: who comes back before its old connection is known to be dead is let in, not refused`,
    async (t) => {
      const { port } = await startServer(t, yaml(takeover));
      const dead = new Feeder(t, port, '/live', BUTT);
      t.equal(await dead.answered(), 200);
      dead.send(20);
      const startMs = performance.now();
      const back = new Feeder(t, port, '/live', BUTT);
      back.send(1);
      t.equal(await back.answered(), 200);
      t.ok(performance.now() - startMs > STALL_MS, 'only then');
      await dead.over();
      back.stream(t);
      const other = new Feeder(t, port, '/live', named('other'));
      t.equal(await other.answered(), 409, 'it is fed');
    },
  );
}

t.test('two of one name: the second is refused as soon as the first has sent something since it came', async (t) => {
  const { port } = await startServer(t, yaml('silent'));
  const first = new Feeder(t, port, '/live', BUTT).stream(t);
  await first.answered();
  const second = new Feeder(t, port, '/live', BUTT);
  t.equal(await second.answered(), 409);
  t.notOk(first.closed, 'it goes on');
});

t.test(
  'many of one name: only the four newest wait, or who has the password could fill the server with them',
  async (t) => {
    const { port } = await startServer(t, yaml('never'));
    const dead = new Feeder(t, port, '/live', BUTT);
    await dead.answered();
    const back: Feeder[] = [];
    for (let i = 0; i < 6; i++) {
      back.push(new Feeder(t, port, '/live', BUTT));
      await arrived(back[i]!.socket);
    }
    const statuses = () => back.map(({ status }) => status);
    await until(
      () => statuses().join() === '409,409,0,0,0,0',
      2000,
      () => `answered: ${statuses()}`,
    );
    t.notOk(dead.closed || dead.ended, 'the one who is there is still there');
    await Promise.all(back.map((each) => each.answered()));
    t.same(statuses().sort(), [200, 409, 409, 409, 409, 409]);
  },
);

t.test('past the bound it is the oldest whose wait ends; who has gone meanwhile is not let in', async (t) => {
  const clock = new FakeClock();
  const returning = new ReturningEncoders(clock);
  const present = { isBusy: true, agent: 'butt 0.1.37', quietMs: 3_600_000 };
  const over: number[] = [];
  const come = async (number: number) => {
    const { client, socket } = await socketPair(t);
    returning.wait(socket, present, 1024, () => over.push(number));
    return { client, socket };
  };
  const [, second] = [await come(1), await come(2), await come(3), await come(4)];
  t.same(over, [], 'four wait');
  await come(5);
  t.same(over, [1]);
  second!.client.destroy();
  await once(second!.socket, 'close');
  await come(6);
  t.same(over, [1], 'its place was free');
  present.isBusy = false;
  clock.advance(TICK_MS);
  t.same(over, [1, 3, 4, 5, 6]);
});

t.test('another name, or none: refused at once, however silent the one is who is there', async (t) => {
  const { port } = await startServer(t, yaml('never'));
  const dead = new Feeder(t, port, '/live', BUTT);
  await dead.answered();
  const [other, nameless] = [new Feeder(t, port, '/live', named('other')), new Feeder(t, port, '/live')];
  t.equal(await other.answered(), 409);
  t.equal(await nameless.answered(), 409);
  t.notOk(dead.closed || dead.ended, 'it is there still');
});

t.test('a wrong password is refused without a wait, a length that is none after it', async (t) => {
  const { port } = await startServer(t, yaml('silent'));
  const dead = new Feeder(t, port, '/live', BUTT);
  await dead.answered();
  const lengthy = new Feeder(t, port, '/live', { headers: `${BUTT.headers}Content-Length: long\r\n` }).answered();
  const wrong = new Feeder(t, port, '/live', { ...BUTT, password: 'wrong' }).answered();
  t.equal(await Promise.race([lengthy, wrong]), 401);
  t.equal(await lengthy, 400, 'no longer 409');
});

t.test('who waits and goes is not let in later', async (t) => {
  const { log, lines } = keepLines();
  const { port } = await startServer(t, yaml('never'), undefined, log);
  const connected = () => lines.filter(({ message }) => message === 'encoder connected').length;
  const dead = new Feeder(t, port, '/live', BUTT);
  await dead.answered();
  const waiting = new Feeder(t, port, '/live', BUTT);
  await new Promise((done) => waiting.socket.once('connect', done));
  waiting.socket.end();
  await waiting.over();
  await dead.over();
  const other = new Feeder(t, port, '/live', named('other'));
  t.equal(await other.answered(), 200);
  t.equal(connected(), 2);
});

t.test('the server stops while one waits', async (t) => {
  // Whatever else would end the wait is far off.
  const patience = 'stallMs: 60000, pieceSeconds: 60, bodyTimeoutSeconds: 300 }\nshutdown: { graceSeconds: 600 }';
  const { port, app } = await startServer(t, yaml('never').replace(/stallMs: .*/, patience));
  const dead = new Feeder(t, port, '/live', BUTT);
  await dead.answered();
  const waiting = new Feeder(t, port, '/live', BUTT);
  const wrong = new Feeder(t, port, '/live', { ...BUTT, password: 'wrong' });
  t.equal(await wrong.answered(), 401, 'the one before it has been read');
  await awaited(app.stop(), 10_000, () => 'it waits for the one before it');
  await waiting.over();
  t.equal(waiting.answer, '', 'it is not admitted to be cut');
});
