/**
 * The heart, as a property: whatever the metaint, the chunking, the moments of joining and of title changes, every listener gets
 * the audio that went in, unbroken from a frame's first byte (what lies before it in the segment is a tag; in AAC nothing, or the first
 * frame stretched where there is a place to keep), and each title in the first block at or after the byte where it took effect. Real
 * sockets; read back by icecast-metadata-js, which is not ours.
 */

import net from 'node:net';
import t, { type Test } from 'tap';
import { ChannelAudio } from '../../src/audio/channel-audio.js';
import { Audience } from '../../src/listener/cursor/audience.js';
import type { Listener } from '../../src/listener/cursor/listener.js';
import { Sessions } from '../../src/listener/sessions/sessions.js';
import { adtsFrame, readFilled } from '../kit/adts.js';
import { FakeClock } from '../kit/clock.js';
import { frameOf } from '../kit/frame-of.js';
import { readBack, type TitleAt } from '../kit/icy.js';
import { Random } from '../kit/random.js';
import { viewOf } from '../kit/record.js';
import { until } from '../kit/until.js';

const ROUNDS = 40;
/** Tags of 10 to 19 bytes are bad (src/audio/README.md), and so is one without a frame. */
const MIN_TAG = 21;
/** Eight empty fill elements; and a frame's head, which must lie in the segment. */
const MIN_FILL = 7;
const ADTS_HEAD = 9;

interface Heard {
  readonly icy: boolean;
  /** Knows the segment at which it began. */
  listener: Listener | undefined;
  bytes: Buffer[];
  closed: boolean;
}

/** What a listener must see: the title in force at each block, where it differs from the block before. */
function expectedTitles(titles: readonly TitleAt[], fromByte: number, toByte: number, metaint: number): TitleAt[] {
  const expected: TitleAt[] = [];
  let last: string | undefined;
  for (let block = fromByte + metaint; block <= toByte; block += metaint) {
    const inForce = titles.filter((change) => change.byte <= block).at(-1)?.title;
    if (inForce !== undefined && inForce !== last) expected.push({ title: inForce, byte: block - fromByte });
    last = inForce;
  }
  return expected;
}

/** An ID3v2.4 tag of an empty text frame, and padding. */
function tagOf(length: number): Buffer {
  if (length === 0) return Buffer.alloc(0);
  const size = length - 10;
  const tag = Buffer.alloc(length);
  tag.set([0x49, 0x44, 0x33, 4, 0, 0, size >> 21, (size >> 14) & 0x7f, (size >> 7) & 0x7f, size & 0x7f]);
  tag.write('TSSE', 10, 'latin1');
  tag[17] = 1;
  return tag;
}

async function round(t: Test, random: Random): Promise<void> {
  const isAac = random.chance(0.5);
  const clock = new FakeClock();
  const metaint = random.int(1, 3) === 1 ? random.int(256, 600) : random.int(600, 20_000);
  // So that a segment has about so many blocks.
  const bitrateKbps = (metaint * 8 * random.int(1, 5)) / 1000;
  const channel = new ChannelAudio({ now: () => performance.now(), key: 'demo', lagMs: 3_600_000, metaint });
  const quiet = { onBegan: () => undefined, onWritten: () => undefined, onHeard: () => undefined };
  const sessions = new Sessions(clock, quiet, { keepMs: 1000, max: 10 });
  const audience = new Audience(clock, sessions);
  const listeners: Heard[] = [];
  let joined = 0;
  const server = net.createServer((socket) => {
    const heard = listeners[joined++]!;
    audience.enter(channel);
    const burstMs = random.chance(0.3) ? 0 : random.int(0, 20_000);
    heard.listener = audience.join(socket, channel, Buffer.alloc(0), {
      icy: heard.icy,
      burstMs,
      session: null,
      limitMs: Number.POSITIVE_INFINITY,
      onEnd: () => undefined,
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as net.AddressInfo;

  const join = async () => {
    const heard: Heard = { icy: random.chance(0.8), listener: undefined, bytes: [], closed: false };
    listeners.push(heard);
    const before = joined;
    const socket = net.connect(port, '127.0.0.1');
    socket.on('data', (chunk) => heard.bytes.push(chunk));
    socket.on('close', () => {
      heard.closed = true;
    });
    await until(() => joined > before, 2000);
  };

  let audio = random.bytes(metaint * random.int(8, 60) + random.int(0, metaint));
  // Nothing that looks like a frame's head: of real frames the first ones are muted (decoders.test.ts).
  for (let i = audio.indexOf(0xff); i >= 0; i = audio.indexOf(0xff, i)) audio[i] = 0xfe;
  const longest = Math.ceil(metaint * (random.chance(0.5) ? 0.2 : 1.5));
  const frames: number[] = [];
  const titles: TitleAt[] = [];
  let at = 0;
  while (at < audio.length) {
    if (random.chance(0.15)) {
      const title = `Title ${titles.length} ${'é'.repeat(random.int(0, 40))}`;
      titles.push({ title, byte: at });
      channel.title(viewOf(title, { id: title }));
    }
    if (channel.tape !== undefined && random.chance(0.15) && listeners.length < 12) await join();
    let frame = audio.subarray(at, at + random.int(1, longest));
    if (isAac) {
      frame = adtsFrame(random, Math.min(frame.length, 4000), {}).frame;
      audio = Buffer.concat([audio.subarray(0, at), frame, audio.subarray(at + frame.length)]);
    }
    channel.write(frameOf(frame, (frame.length / metaint) * random.int(500, 1500), bitrateKbps));
    frames.push(at);
    at += frame.length;
    clock.advance(random.int(0, 1200));
    if (random.chance(0.2)) await new Promise((done) => setImmediate(done));
  }
  // A listener that has not taken its bytes yet gets the rest on later turns.
  for (let i = 0; i < 40; i++) {
    clock.advance(1000);
    await new Promise((done) => setImmediate(done));
  }
  audience.endAll('shutdown');
  await until(
    () => listeners.every((heard) => heard.closed),
    5000,
    () => `seed ${random.seed}: not all listeners ended`,
  );
  server.close();

  // A segment is closed by the byte after it.
  const { segmentBytes } = channel.tape!;
  const toByte = Math.floor((audio.length - 1) / segmentBytes) * segmentBytes;
  // Then the frame that it cuts is made whole.
  const least = isAac ? MIN_FILL : MIN_TAG;
  const isEntry = (frame: number, fromByte: number) =>
    frame === fromByte || (frame >= fromByte + least && frame < fromByte + segmentBytes - (isAac ? ADTS_HEAD - 1 : 0));
  const endByte = frames.find((frame) => frame >= toByte && isEntry(frame, toByte)) ?? audio.length;
  for (const [i, heard] of listeners.entries()) {
    const why = `seed ${random.seed}, metaint ${metaint}, listener ${i}${heard.icy ? '' : ' without ICY'}`;
    const fromByte = heard.listener!.firstSeq * segmentBytes;
    const back = heard.icy
      ? readBack(Buffer.concat(heard.bytes), metaint)
      : { audio: Buffer.concat(heard.bytes), titles: [] };
    const entry = frames.find((frame) => isEntry(frame, fromByte));
    if (fromByte >= toByte) {
      t.equal(back.audio.length, 0, `${why}: nothing was closed after it came`);
      continue;
    }
    if (!t.not(entry, undefined, `${why}: it begins with a frame`)) continue;
    const place = entry! - fromByte;
    let whole = back.audio;
    if (!isAac) {
      t.same(whole.subarray(0, place), tagOf(place), `${why}: a tag before its first frame`);
      whole = whole.subarray(place);
    } else if (heard.icy && place > 0) {
      const { block } = readFilled(whole);
      // Its head is another one; what follows is as it was.
      whole = Buffer.concat([audio.subarray(entry, entry! + 7), block, whole.subarray(place + 7 + block.length)]);
    }
    t.ok(whole.equals(audio.subarray(entry, endByte)), `${why}: the audio is what went in, to the end of a frame`);
    if (heard.icy) t.same(back.titles, expectedTitles(titles, fromByte, toByte, metaint), `${why}: titles in place`);
  }
}

t.test('every listener gets the audio that went in, with each title at its byte', async (t) => {
  const first = new Random();
  for (let i = 0; i < ROUNDS; i++) await round(t, new Random(i === 0 ? first.seed : first.int(0, 2 ** 31 - 1)));
});
