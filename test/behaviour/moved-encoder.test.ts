/**
 * An operator moves an encoder to another channel: it stays connected, and each of its frames is heard once, on the one channel or on the other. Also with
 * workers.
 */

import t, { type Test } from 'tap';
import { PageWriter } from '../../src/audio/ogg/ogg-page.js';
import { ADMIN_USERS, AdminClient } from '../kit/admin-client.js';
import { adtsFrame } from '../kit/adts.js';
import { Feeder, framesIn } from '../kit/feeder.js';
import { keepLines } from '../kit/log-lines.js';
import { opusLink } from '../kit/made-ogg.js';
import { NUMBERED_MS, numberedFrame, numbersIn } from '../kit/numbered.js';
import { Player } from '../kit/player.js';
import { Random } from '../kit/random.js';
import { DEMO_AUDIO, demoYaml, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';

const YAML = demoYaml(`
      second:
        bitrateKbps: 128
        sources: [{ type: encoder, password: demo-source }, { type: file, path: ${DEMO_AUDIO} }]
      empty: { sources: [{ type: encoder, password: demo-source }] }
      spare: { sources: [{ type: encoder, password: demo-source }] }
streams: { burstSeconds: 1 }
sources: { aheadSeconds: 2 }
${ADMIN_USERS}`);
const PATIENCE_MS = 20_000;
/** More than a frame, and never whole ones. */
const PIECE_BYTES = 1000;

/** Sends numbered frames in pieces that end anywhere. */
class NumberedFeeder extends Feeder {
  sent = 0;
  readonly #isChunked: boolean;
  #rest = Buffer.alloc(0);

  constructor(t: Test, port: number, isChunked: boolean) {
    super(t, port, '/studio.mp3', {
      headers: `Content-Type: audio/mpeg\r\n${isChunked ? 'Transfer-Encoding: chunked\r\n' : ''}`,
    });
    this.#isChunked = isChunked;
  }

  sendFor(ms: number): void {
    const frames = Array.from({ length: Math.round(ms / NUMBERED_MS) }, () => numberedFrame(this.sent++));
    this.#rest = Buffer.concat([this.#rest, ...frames]);
    while (this.#rest.length >= PIECE_BYTES) this.#piece(PIECE_BYTES);
  }

  finish(): void {
    this.#piece(this.#rest.length);
  }

  /** In two writes, so that a chunk is cut too. */
  #piece(bytes: number): void {
    const piece = this.#rest.subarray(0, bytes);
    this.#rest = this.#rest.subarray(bytes);
    const size = this.#isChunked ? `${bytes.toString(16)}\r\n` : '';
    this.socket.write(Buffer.concat([Buffer.from(size), piece.subarray(0, bytes >> 1)]));
    this.socket.write(Buffer.concat([piece.subarray(bytes >> 1), Buffer.from(this.#isChunked ? '\r\n' : '')]));
  }
}

/** @param aheadMs what it sends at once: past `aheadSeconds` it is not read until time has caught up */
for (const { name, isChunked, aheadMs } of [
  { name: 'in real time, chunked', isChunked: true, aheadMs: 0 },
  { name: 'far ahead of time', isChunked: false, aheadMs: 12_000 },
]) {
  t.test(`${name}: not a frame is lost, and nobody is cut`, async (t) => {
    const { log, lines } = keepLines();
    const server = (await startServer(t, YAML, undefined, log)).one;
    const admin = new AdminClient(server, 'operate');
    const feeder = new NumberedFeeder(t, server.port, isChunked);
    const players = ['/studio.mp3', '/second'].map((path) => new Player(server.port, path, { keep: true }));
    t.teardown(() => players.map((player) => player.close()));
    for (const player of players) await player.until(({ audioBytes }) => audioBytes > 10_000, PATIENCE_MS);
    const heard = () => players.map(({ audio }) => numbersIn(audio));
    const hears = (i: number) => {
      const before = heard()[i]!.length;
      return until(() => heard()[i]!.length > before + 40, PATIENCE_MS);
    };
    await feeder.answered();
    if (aheadMs > 0) feeder.sendFor(aheadMs);
    const sending = setInterval(() => aheadMs === 0 && feeder.sendFor(100), 100);
    t.teardown(() => clearInterval(sending));
    await hears(0);
    for (const [from, to, player] of [
      ['studio', 'second', 1],
      ['second', 'studio', 0],
      ['studio', 'second', 1],
    ] as const) {
      const moved = await admin.post(`channels/${from}/encoder/move`, { to });
      t.equal(moved.status, 204, JSON.stringify(moved.body));
      await hears(player);
    }
    clearInterval(sending);
    feeder.finish();
    const last = () => heard()[1]!.at(-1);
    // The last one is known for one by the header behind it.
    await until(
      () => last()! >= feeder.sent - 2,
      PATIENCE_MS,
      () => `${last()} of ${feeder.sent}`,
    );
    const [onStudio, onSecond] = heard() as [number[], number[]];
    const all = [...onStudio, ...onSecond].sort((a, b) => a - b);
    t.strictSame(
      all,
      Array.from(all, (_, i) => all[0]! + i),
      'each once',
    );
    t.ok(all[0]! < 10, `from the beginning on: ${all[0]}`);
    t.strictSame(
      onStudio,
      [...onStudio].sort((a, b) => a - b),
      'in order',
    );
    t.strictSame(
      onSecond,
      [...onSecond].sort((a, b) => a - b),
      'in order',
    );
    t.ok(onStudio.length > 80 && onSecond.length > 80);
    for (const player of players) {
      t.notOk(player.closed);
      t.ok(framesIn(player.audio).skippedBytes < 450, 'whole frames, but for the first and the last');
    }
    t.notOk(feeder.closed, 'the connection is the same');

    const reader = new AdminClient(server, 'read');
    const sources = async (channel: string) => (await reader.get(`channels/${channel}`)).body.sources;
    t.match(await sources('second'), [{ kind: 'encoder', state: 'up', address: '127.0.0.1' }, {}]);
    t.match(await sources('studio'), [{ kind: 'encoder', state: 'idle' }, { isOnAir: true }]);
    feeder.socket.destroy();
    await until(() => lines.some(({ message }) => message === 'encoder ended'), PATIENCE_MS);
    const of = (what: string) => lines.filter(({ message }) => message === what);
    const [connected] = of('encoder connected');
    t.match(of('encoder ended'), [{ channel: 'second', connection: connected!['connection'] }]);
    t.match(of('encoder moved')[0], { channel: 'studio', to: 'second', connection: connected!['connection'] });
    await until(() => of('admin act').length === 3, PATIENCE_MS);
    t.match(of('admin act')[0], {
      user: 'operator',
      act: 'move encoder',
      channel: 'studio',
      to: 'second',
      outcome: 'done',
    });
  });
}

t.test('Opus in Ogg goes on in the middle of its link', async (t) => {
  const server = (await startServer(t, YAML.replace('burstSeconds: 1', 'burstSeconds: 10'))).one;
  const admin = new AdminClient(server);
  const feeder = new Feeder(t, server.port, '/empty', { headers: 'Content-Type: application/ogg\r\n' });
  await feeder.answered();
  feeder.socket.write(opusLink(1, 0));
  const writer = new PageWriter(1, 2, 0);
  let sent = 0;
  let rest: Buffer = Buffer.alloc(0);
  const sending = setInterval(() => {
    for (let i = 0; i < 10; i++) writer.packet(Buffer.from(`\xfcframe ${sent} `, 'latin1'), ++sent * 960);
    writer.end();
    const page = Buffer.from(writer.take());
    // The rest comes with the next one, so that a page is always cut.
    feeder.socket.write(Buffer.concat([rest, page.subarray(0, 50)]));
    rest = page.subarray(50);
  }, 200);
  t.teardown(() => clearInterval(sending));
  const numbersOf = ({ audio }: Player) =>
    [...audio.toString('latin1').matchAll(/frame (\d+) /g)].map(([, number]) => Number(number));
  const listen = async (path: string) => {
    const player = new Player(server.port, path, { icy: false, keep: true });
    t.teardown(() => player.close());
    await player.until(({ audioBytes }) => audioBytes > 500, PATIENCE_MS);
    return player;
  };
  const onAir = async (channel: string) => (await admin.get(`channels/${channel}`)).body.onAir === 0;
  await until(() => onAir('empty'), PATIENCE_MS);
  const before = await listen('/empty');
  t.equal((await admin.post('channels/empty/encoder/move', { to: 'spare' })).status, 204);
  await until(() => onAir('spare'), PATIENCE_MS);
  const behind = await listen('/spare');
  await until(() => numbersOf(behind).length > 60, PATIENCE_MS);
  // What was open on the first tape when it fell silent is heard when that goes on.
  t.equal((await admin.post('channels/spare/encoder/move', { to: 'empty' })).status, 204);
  const last = numbersOf(behind).at(-1)!;
  await until(() => numbersOf(before).at(-1)! > last + 60, PATIENCE_MS);
  const numbers = [...numbersOf(before), ...numbersOf(behind)];
  const both = [...new Set(numbers)].sort((a, b) => a - b);
  const missing = both.flatMap((n, i) => (both[i - 1] === n - 1 || i === 0 ? [] : [`${both[i - 1]} to ${n}`]));
  // Of the second tape the end is open.
  t.ok(missing.length <= 1, missing.join());
  t.ok(both[0] === 0 && missing.every((gap) => Number(gap.split(' ')[0]) >= last), missing.join());
  t.notOk(feeder.closed || before.closed || behind.closed);
});

t.test('where it cannot go on it stays, and is told why', async (t) => {
  const server = (await startServer(t, YAML)).one;
  const admin = new AdminClient(server);
  const move = async (channel: string, to: unknown) => {
    const { status, body } = await admin.post(`channels/${channel}/encoder/move`, { to });
    return `${status} ${body?.detail}`;
  };
  t.equal(await move('studio', 'second'), '409 No encoder is connected.');
  const mp3 = new Feeder(t, server.port, '/studio.mp3');
  await mp3.answered();
  t.equal(await move('studio', 'second'), '409 The format of the encoder is not yet known.');
  mp3.stream(t);
  const isOnAir = async (channel: string) => (await admin.get(`channels/${channel}`)).body.onAir === 0;
  await until(() => isOnAir('studio'), PATIENCE_MS);
  t.equal(await move('studio', 'demo'), '409 That channel accepts no encoder.');
  t.equal(await move('studio', 'studio'), '409 That channel already has an encoder.');
  t.match(await move('studio', 'nowhere'), /^404 /);
  t.match(await move('nowhere', 'studio'), /^404 /);
  t.match(await move('studio', 7), /^422 /);

  const random = new Random();
  const frames = Array.from({ length: 100 }, () => adtsFrame(random, 300, {}).frame);
  const aac = new Feeder(t, server.port, '/empty', { headers: 'Content-Type: audio/aac\r\n', frames });
  await aac.answered();
  aac.stream(t);
  await until(() => isOnAir('empty'), PATIENCE_MS);
  t.equal(await move('empty', 'second'), '409 The encoder sends audio/aac, and that channel plays audio/mpeg.');
  t.equal(await move('studio', 'empty'), '409 That channel already has an encoder.');
  t.ok((await isOnAir('studio')) && (await isOnAir('empty')), 'both play on where they were');
  t.notOk(mp3.closed || aac.closed);
  // Nothing is on the tape any more once nobody listens.
  aac.socket.destroy();
  await until(async () => (await move('studio', 'empty')) === '204 undefined', PATIENCE_MS);
  await until(() => isOnAir('empty'), PATIENCE_MS);
  t.notOk(mp3.closed);
});
