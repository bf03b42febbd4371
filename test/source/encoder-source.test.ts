/**
 * An encoder that is held back, against a false clock and over a real socket: that nothing is read of it meanwhile is our doing, and makes
 * it neither silent nor dead. Takeover by whole servers is in behaviour/encoder-takeover.test.ts.
 */

import net, { type AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { EncoderSource } from '../../src/source/encoder-source.js';
import type { SourceEvent } from '../../src/source/health.js';
import { FakeClock } from '../kit/clock.js';
import { flacLink, opusLink } from '../kit/made-ogg.js';
import { until } from '../kit/until.js';
import { Tap } from '../kit/upstream.js';

const SILENT_MS = 200;
const BODY_TIMEOUT_MS = 30_000;
/** A packet of FLAC that plays 4,096 samples at 8 kHz: a source waits no longer than a frame plays. */
const PACKET_MS = 512;
const SAMPLES_CODE = 12;

async function setUp(t: Test) {
  const server = net.createServer({ allowHalfOpen: true });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => server.close());
  const accepted = new Promise<net.Socket>((done) => server.once('connection', done));
  const client = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined);
  const socket = await accepted;
  t.teardown(() => {
    client.destroy();
    socket.destroy();
  });
  const clock = new FakeClock();
  const tap = new Tap();
  const encoder = new EncoderSource(tap, clock, {
    channel: 'live',
    bodyTimeoutMs: BODY_TIMEOUT_MS,
    aheadMs: PACKET_MS,
    takeover: 'silent',
    silentMs: SILENT_MS,
    framelessBytes: 65_536,
    facts: { textBytes: 100, urlBytes: 100 },
    onEvent: (_: SourceEvent) => undefined,
  });
  encoder.start();
  encoder.attach(socket, Buffer.alloc(0), { headers: new Map([['content-type', 'audio/ogg']]) });
  t.teardown(() => encoder.stop());
  return { client, socket, clock, tap, encoder };
}

t.test('held back for longer than it may be silent, it is not silent, nor is its time-out near', async (t) => {
  const { client, socket, clock, tap, encoder } = await setUp(t);
  client.write(flacLink(1, 8000, 3, SAMPLES_CODE));
  await until(
    () => socket.isPaused(),
    5000,
    () => 'not held',
  );
  t.equal(tap.parts.length, 2, 'one more than it may be ahead');
  // The pacer forgets a five-thousandth.
  t.equal(Math.ceil(socket.timeout!), BODY_TIMEOUT_MS + PACKET_MS, 'the wait is no part of its patience');
  clock.advance(PACKET_MS - 100);
  t.equal(encoder.isBusy, true, 'no other encoder may take its place');
  clock.advance(200);
  t.equal(tap.parts.length, 3);
  while (socket.isPaused()) clock.advance(40);
  t.equal(socket.timeout, BODY_TIMEOUT_MS);
  t.equal(encoder.isBusy, true, 'and silent only from here on');
  clock.advance(SILENT_MS - 40);
  t.equal(encoder.isBusy, true);
  clock.advance(80);
  t.equal(encoder.isBusy, false);
});

t.test('what it sent before it closed is played while it is held back, and then it has finished', async (t) => {
  const { client, clock, tap, encoder } = await setUp(t);
  client.end(flacLink(1, 8000, 8, SAMPLES_CODE));
  await until(
    () => tap.parts.length === 2,
    5000,
    () => `${tap.parts.length}`,
  );
  await until(
    () => {
      clock.advance(40);
      return tap.losses.length > 0;
    },
    10_000,
    () => `${tap.parts.length}`,
  );
  t.strictSame([tap.parts.length, tap.losses], [8, ['the encoder has finished']]);
  t.equal(encoder.state, 'idle');
});

t.test('one that takes over is heard from its first frame on; nothing of the one before comes behind', async (t) => {
  const one = await setUp(t);
  const other = await setUp(t);
  one.client.write(flacLink(1, 8000, 8, SAMPLES_CODE));
  await until(
    () => one.socket.isPaused(),
    5000,
    () => 'not held',
  );
  const before = one.tap.parts.length;
  one.encoder.attach(other.socket, Buffer.alloc(0), { headers: new Map() });
  t.equal(one.socket.destroyed, true);
  one.clock.advance(10_000);
  t.equal(one.tap.parts.length, before);
  t.strictSame(one.tap.losses, [], 'no loss: the channel goes on');
  t.equal(one.encoder.contentType, undefined, 'nothing is known of it yet');
});

t.test('one that goes on where another source had it, and ends before its next frame, has sent frames', async (t) => {
  const one = await setUp(t);
  const other = await setUp(t);
  one.client.write(flacLink(1, 8000, 3, SAMPLES_CODE));
  await until(() => one.tap.parts.length === 2, 5000);
  while (one.socket.isPaused()) one.clock.advance(40);
  t.equal(one.encoder.moveTo(other.encoder, 'moved'), true);
  one.client.end('rest');
  await until(() => other.tap.losses.length > 0, 5000);
  t.strictSame(other.tap.losses, ['the encoder has finished']);
});

t.test('titles without audio are no sign of life of an encoder', async (t) => {
  const { client, clock, tap, encoder } = await setUp(t);
  client.write(opusLink(1, 20));
  await until(() => tap.parts.length > 0, 5000);
  for (let serial = 2; serial < 50 && encoder.state === 'up'; serial++) {
    client.write(opusLink(serial, 0, `TITLE=${serial}`));
    await until(() => {
      clock.advance(40);
      return tap.titles.length === serial - 1 || encoder.state === 'idle';
    }, 5000);
    if (serial === 5) t.equal(encoder.isBusy, false, 'another encoder may take its place');
    clock.advance(1000);
  }
  t.strictSame(tap.losses, ['no audio in the data from the encoder']);
});
