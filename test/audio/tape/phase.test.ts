/**
 * ICY in Ogg, as a property: whatever the metaint, the packets, the moments of joining and of title changes, a listener with ICY
 * gets the very bytes of one that joined with it without ICY, and in its first block at or after the head of a link the title that this
 * link says. The stream itself proves it. Real sockets; the blocks are taken out by icecast-metadata-js, which is not ours.
 */

import net from 'node:net';
import t, { type Test } from 'tap';
import { ChannelAudio } from '../../../src/audio/channel-audio.js';
import { OggLink } from '../../../src/audio/ogg/ogg-link.js';
import { Mark } from '../../../src/audio/tape/mark.js';
import { Phase } from '../../../src/audio/tape/phase.js';
import type { AudioSegment } from '../../../src/audio/tape/segment.js';
import { Audience } from '../../../src/listener/cursor/audience.js';
import { Sessions } from '../../../src/listener/sessions/sessions.js';
import { FakeClock } from '../../kit/clock.js';
import { frameOf } from '../../kit/frame-of.js';
import { readBack, type TitleAt } from '../../kit/icy.js';
import { Random } from '../../kit/random.js';
import { viewOf } from '../../kit/record.js';
import { until } from '../../kit/until.js';

const ROUNDS = 25;

/** What two listeners get that join at the same moment, one with ICY (it begins with `i`) and one without (`p`). */
type Pair = readonly [Buffer[], Buffer[]];

/** Opus; its comments hold no title, and are large where the head of a link shall be longer than several metaints. */
function makeLink(commentBytes: number): OggLink {
  const identification = Buffer.alloc(19);
  identification.write('OpusHead\x01\x02', 'latin1');
  const comments = Buffer.alloc(16 + 4 + commentBytes, 'x');
  comments.write('OpusTags\0\0\0\0\x01\0\0\0', 'latin1');
  comments.writeUInt32LE(commentBytes, 16);
  comments.write('GENRE=', 20);
  return new OggLink([identification, comments]);
}

/** Where a link's head begins, and the title in its comments; `""` where it has none. */
function linksIn(stream: Buffer): TitleAt[] {
  const links: TitleAt[] = [];
  for (let at = stream.indexOf('OpusHead'); at >= 0; at = stream.indexOf('OpusHead', at + 1)) {
    const next = stream.indexOf('OggS', stream.indexOf('OpusTags', at));
    const text = stream.toString('utf8', at, next < 0 ? stream.length : next);
    links.push({ title: /TITLE=(Title \d+é*)/.exec(text)?.[1] ?? '', byte: at - 28 });
  }
  return links;
}

/** What must stand in the blocks of a listener that gets this stream. */
function expectedTitles(stream: Buffer, metaint: number): TitleAt[] {
  const links = linksIn(stream);
  const expected: TitleAt[] = [];
  let last = '';
  for (let byte = metaint; byte <= stream.length; byte += metaint) {
    const { title } = links.findLast((link) => link.byte <= byte)!;
    if (title !== last) expected.push({ title, byte });
    last = title;
  }
  return expected;
}

/** Returns how many titles were seen in blocks. */
async function round(t: Test, random: Random): Promise<number> {
  const clock = new FakeClock();
  // From far less than a link's head to more than some segments.
  const metaint = random.chance(0.4) ? random.int(256, 600) : random.int(600, 20_000);
  const channel = new ChannelAudio({
    now: () => performance.now(),
    key: 'demo',
    lagMs: 3_600_000,
    metaint,
    icyInOgg: true,
  });
  const quiet = { onBegan: () => undefined, onWritten: () => undefined, onHeard: () => undefined };
  const sessions = new Sessions(clock, quiet, { keepMs: 1000, max: 10 });
  const audience = new Audience(clock, sessions);
  const pairs: Pair[] = [];
  const waiting: net.Socket[] = [];
  let closed = 0;
  const server = net.createServer((socket) => void waiting.push(socket));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as net.AddressInfo;

  const join = async () => {
    const pair: Pair = [[], []];
    const burstMs = random.chance(0.3) ? 0 : random.int(0, 20_000);
    pairs.push(pair);
    for (const received of pair) {
      const socket = net.connect(port, '127.0.0.1');
      socket.on('data', (chunk) => received.push(chunk));
      socket.on('close', () => closed++);
    }
    await until(() => waiting.length === 2, 2000);
    for (const [i, socket] of waiting.splice(0).entries()) {
      const icy = i === 0;
      audience.enter(channel);
      audience.join(socket, channel, Buffer.from(icy ? 'i' : 'p'), {
        icy,
        burstMs,
        session: null,
        limitMs: Number.POSITIVE_INFINITY,
        onEnd: () => undefined,
      });
    }
  };

  let link = makeLink(random.int(6, 1500));
  const longest = random.int(20, 1200);
  const packets = random.int(100, 500);
  let titles = 0;
  for (let i = 0; i < packets; i++) {
    if (random.chance(0.06)) channel.title(viewOf(`Title ${titles++}${'é'.repeat(random.int(0, 40))}`));
    const fresh = i === 0 || random.chance(0.01);
    if (fresh) link = makeLink(random.int(6, 1500));
    const packet = random.bytes(random.int(1, longest));
    channel.write(frameOf(packet, 60, 64, fresh, link));
    if (channel.hasSegments && random.chance(0.03) && pairs.length < 6) await join();
    clock.advance(random.int(0, 120));
    if (random.chance(0.05)) await new Promise((done) => setImmediate(done));
  }
  // A listener that has not taken its bytes yet gets the rest on later visits.
  for (let i = 0; i < 40; i++) {
    clock.advance(1000);
    await new Promise((done) => setImmediate(done));
  }
  audience.endAll('shutdown');
  await until(
    () => closed === pairs.length * 2,
    5000,
    () => `seed ${random.seed}: not all listeners ended`,
  );
  server.close();

  let seen = 0;
  for (const [i, pair] of pairs.entries()) {
    const why = `seed ${random.seed}, metaint ${metaint}, pair ${i}`;
    const both = pair.map((received) => Buffer.concat(received));
    const of = (letter: string) => both.find((received) => received.toString('latin1', 0, 1) === letter)!.subarray(1);
    const plain = of('p');
    const back = readBack(of('i'), metaint);
    if (!back.audio.equals(plain)) t.fail(`${why}: other bytes`);
    if (plain.length === 0) continue;
    const expected = expectedTitles(plain, metaint);
    t.strictSame(back.titles, expected, `${why}: titles in place`);
    seen += expected.length;
  }
  return seen;
}

t.test('a listener that asks for ICY in Ogg gets the same bytes, with each title at its place', async (t) => {
  const first = new Random();
  let seen = 0;
  for (let i = 0; i < ROUNDS; i++) seen += await round(t, new Random(i === 0 ? first.seed : first.int(0, 2 ** 31 - 1)));
  t.ok(seen > ROUNDS, `${seen} titles`);
});

t.test('a block at the edge of a link, of a segment, and none', async (t) => {
  const [one, two] = [new Mark(viewOf('One')), new Mark(viewOf('Two'))];
  const audio = Buffer.alloc(100, 'a');
  const segment = (linkBytes: number) => ({ before: one, mark: two, linkBytes }) as AudioSegment;
  const after = (bytes: number) => {
    const phase = new Phase(100);
    // One's title is said, and `bytes` of the next 100 have gone.
    phase.splice(Buffer.alloc(100), { ...segment(0), mark: one } as AudioSegment);
    t.equal(phase.splice(audio.subarray(0, bytes), segment(0)).length, bytes);
    return phase;
  };
  const cases: readonly (readonly [number, number, Buffer | null])[] = [
    // The block stands at byte 59 of the segment, the head of the link that says Two begins at byte 60.
    [41, 40, null],
    [40, 40, two.block],
    [39, 40, two.block],
    // Between two segments: as the first one says.
    [0, 0, two.block],
  ];
  for (const [gone, linkBytes, block] of cases) {
    const spliced = after(gone).splice(audio, segment(linkBytes));
    const wanted = [audio.subarray(0, 100 - gone), block ?? Buffer.alloc(1), audio.subarray(100 - gone)];
    t.strictSame(spliced, Buffer.concat(wanted), `${gone} gone, ${linkBytes} of the link`);
  }
  const phase = new Phase(101);
  t.equal(phase.splice(audio, segment(0)), audio, 'no block falls here: the shared buffer itself');
  const untitled = { before: null, mark: null, linkBytes: 0 } as AudioSegment;
  t.strictSame(new Phase(100).splice(audio, untitled), Buffer.concat([audio, Buffer.alloc(1)]), 'nothing to say yet');
});

t.test('no other listener is given anything of its own', async (t) => {
  const link = makeLink(6);
  const channel = (icyInOgg: boolean) => {
    const made = new ChannelAudio({ now: () => performance.now(), key: 'demo', lagMs: 60_000, metaint: 256, icyInOgg });
    for (let i = 0; i < 100; i++) made.write(frameOf(Buffer.alloc(50), 60, 64, i === 0, link));
    return made;
  };
  t.equal(channel(false).metaint, null, 'no ICY without the option');
  const asked = channel(true);
  t.equal(asked.metaint, 256);
  const segment = asked.tape!.at(1)!;
  t.ok(segment.plain === segment.bytes && segment.plain === segment.titled, 'one buffer for all without ICY');
  asked.write(frameOf(Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0]), Buffer.alloc(413)]), 26, 128));
  t.equal(asked.contentType, 'audio/mpeg');
  t.equal(asked.tape!.rendering(true), null, 'MP3 of the same channel is shared as ever');
});
