/** From a tape of Ogg to fragments: every packet in one of them, in order, over links, with the titles at their places. Packets say their number. */

import t from 'tap';
import { OggLink } from '../../src/audio/ogg/ogg-link.js';
import { OggTape } from '../../src/audio/ogg/ogg-tape.js';
import { HlsForms } from '../../src/hls/hls-forms.js';
import { oggFacts, PacketReader } from '../../src/hls/packet-reader.js';
import type { HlsSegment } from '../../src/hls/playlist.js';
import { HlsChannel, listed, readPacked, readPlaylist } from '../kit/hls-channel.js';
import { flacHeaders, flacPacket, numberedPacket, opusHeaders } from '../kit/made-ogg.js';
import { readFragment, readInit } from '../kit/mp4.js';
import { Random } from '../kit/random.js';

const PACKET_MS = 20;
const SAMPLES = 960;

class OggChannel extends HlsChannel {
  link = new OggLink(opusHeaders());
  packets = 0;

  constructor(options: ConstructorParameters<typeof HlsChannel>[0] = {}) {
    super({ window: 50, keep: 60, ...options });
  }

  /** @param seconds of Opus */
  opus(seconds: number, isFresh = false): void {
    for (let i = 0; i < seconds * 50; i++) {
      this.packet(numberedPacket(this.packets++), PACKET_MS, this.link, isFresh && i === 0);
    }
  }
}

const numbers = (segment: HlsSegment) => readFragment(segment.bytes).frames.map(({ bytes }) => bytes.readUInt32BE(1));
const upFrom = (first: number, count: number) => Array.from({ length: count }, (_, i) => first + i);

t.test('each packet once and in order, to the sample, over the links that titles begin', async (t) => {
  const random = new Random();
  t.comment(`seed ${random.seed}`);
  const channel = new OggChannel();
  channel.cut();
  for (let i = 0; i < 40; i++) {
    if (random.chance(0.7)) channel.title(`T${i}`);
    channel.opus(random.int(1, 40) / 10);
  }
  channel.opus(5);
  const segments = listed(channel.window);
  const all = segments.flatMap(numbers);
  t.strictSame(all, upFrom(0, all.length), 'no packet is missing, and none comes twice');
  t.ok(channel.packets - all.length < 50 * 6);
  let due: bigint | null = null;
  for (const segment of segments) {
    const { at, frames, sequence } = readFragment(segment.bytes);
    t.ok(frames.every(({ samples, bytes }) => samples === SAMPLES && bytes.length === 60));
    if (due !== null) t.equal(at, due, 'times go on to the sample');
    due = at + BigInt(frames.length * SAMPLES);
    t.equal(segment.micros, frames.length * 20_000);
    t.equal(sequence, segment.number);
    t.match(segment.name, /^\d+-[0-9a-f]{16}\.m4s$/);
  }
  const read = readPlaylist(channel.window.playlist);
  t.ok(
    read.segments.every(({ isDiscontinuity }) => !isDiscontinuity),
    'a new link is no discontinuity',
  );
  t.equal(new Set(read.segments.map(({ init }) => init)).size, 1);
  const init = channel.window.file(read.segments[0]!.init!)!;
  t.equal(readInit(init.bytes).entry, 'Opus');
});

t.test('who asks first gets what the tape holds: it begins within a link, or with one', async (t) => {
  const random = new Random();
  t.comment(`seed ${random.seed}`);
  for (let i = 0; i < 30; i++) {
    const channel = new OggChannel({ burstMs: random.int(1000, 8000) });
    for (let n = 0; n < 6; n++) {
      channel.title(`T${n}`);
      channel.opus(random.int(20, 60) / 10);
    }
    channel.cut();
    channel.title('Last');
    channel.opus(12);
    const all = listed(channel.window).flatMap(numbers);
    t.strictSame(all, upFrom(all[0]!, all.length));
    t.ok(channel.packets - all.length - all[0]! < 50 * 6);
  }
});

t.test('an encoder that skips 80 ms, and comes back with another link: nothing of that is dropped', async (t) => {
  const channel = new OggChannel();
  channel.link = new OggLink(opusHeaders({ preSkip: 3840 }));
  channel.cut();
  channel.opus(9);
  channel.link = new OggLink(opusHeaders({ preSkip: 3840 }));
  channel.opus(9, true);
  channel.title('A');
  channel.opus(9);
  const all = listed(channel.window).flatMap(numbers);
  t.strictSame(all, upFrom(0, all.length));
  const { segments } = readPlaylist(channel.window.playlist);
  t.ok(segments.every(({ isDiscontinuity }) => !isDiscontinuity));
});

t.test('frames of next to no time do not make a segment larger than others take it', async (t) => {
  const channel = new OggChannel();
  channel.link = new OggLink(flacHeaders({ hertz: 192_000 }));
  const cutter = channel.cut();
  // Each lists its 8 bytes, whatever it plays. The tape closes a segment each 512 KiB.
  for (let i = 0; i < 26_000; i++) channel.packet(flacPacket(i, 1), 1 / 192, channel.link);
  cutter.endList();
  const counts = channel.window.segmentsFrom(0).map(({ bytes }) => readFragment(bytes).frames.length);
  t.equal(counts[0], 16_384);
});

t.test('a crowd of titles in one second: a segment has the latest of them', async (t) => {
  const channel = new OggChannel();
  const cutter = channel.cut();
  for (let i = 0; i < 300; i++) {
    channel.title(`T${i}`);
    channel.packet(Buffer.from([0xe0, i >> 8, i, 0, 0]), 2.5, channel.link);
  }
  channel.opus(2);
  cutter.endList();
  const { events } = readFragment(channel.window.segmentsFrom(0)[0]!.bytes);
  t.equal(events.length, 64);
  t.equal(events.at(-1)!.tag['TIT2'], 'T299');
});

t.test('titles are events at their packets, and in the playlist', async (t) => {
  const channel = new OggChannel();
  channel.cut();
  channel.title('A');
  channel.opus(8.4);
  const packet = channel.packets;
  channel.title('B');
  channel.opus(6);
  const late = channel.packets;
  channel.opus(2);
  channel.title('C', 2000);
  channel.opus(8);
  const placeOf = (n: number) => {
    const segment = listed(channel.window).find((each) => numbers(each).includes(n))!;
    return { segment, offset: numbers(segment).indexOf(n), read: readFragment(segment.bytes) };
  };
  const b = placeOf(packet);
  const inForce = b.read.events.findLast(({ at }) => at <= b.read.at + BigInt(b.offset * SAMPLES));
  t.equal(inForce!.tag['TIT2'], 'B');
  const c = placeOf(late);
  const event = c.read.events.find(({ tag }) => tag['TIT2'] === 'C');
  const behind = Number((event?.at ?? 0n) - c.read.at) - c.offset * SAMPLES;
  t.ok(Math.abs(behind) <= SAMPLES, `one that comes late, into the open segment, is at its place: ${behind}`);
  const { titles } = readPlaylist(channel.window.playlist);
  t.strictSame(
    titles.map(({ title }) => title),
    ['A', 'B', 'C'],
  );
  const placeMs = c.segment.startMs + c.offset * PACKET_MS;
  t.ok(Math.abs(titles[2]!.startMs - placeMs) <= PACKET_MS, `${titles[2]!.startMs - placeMs}`);
});

t.test(
  'mono, another gain, FLAC: a discontinuity and another initialization section; each is there to be fetched',
  async (t) => {
    const channel = new OggChannel();
    channel.cut();
    channel.title('A');
    channel.opus(9);
    for (const facts of [{ channels: 1 }, { channels: 2 }, { gain: -512 }]) {
      channel.link = new OggLink(opusHeaders(facts));
      channel.opus(9, true);
    }
    const flac = new OggLink(flacHeaders({ hertz: 44_100 }));
    for (let i = 0; i < 200; i++) channel.packet(flacPacket(i, 4096), (4096 * 1000) / 44_100, flac, i === 0);
    const read = readPlaylist(channel.window.playlist);
    t.equal(read.segments.filter(({ isDiscontinuity }) => isDiscontinuity).length, 4);
    const inits = [...new Set(read.segments.map(({ init }) => init!))];
    t.strictSame(
      inits.map((name) => {
        const { entry, channels, config } = readInit(channel.window.file(name)!.bytes);
        return [entry, channels, entry === 'Opus' ? config.readInt16BE(8) : 0];
      }),
      [
        ['Opus', 2, 0],
        ['Opus', 1, 0],
        ['Opus', 2, 0],
        ['Opus', 2, -512],
        ['fLaC', 2, 0],
      ],
    );
    const last = listed(channel.window).at(-1)!;
    t.equal(last.codecs, 'fLaC');
    const { frames, events } = readFragment(last.bytes);
    t.ok(frames.every(({ samples }) => samples === 4096));
    t.equal(events[0]!.tag['TIT2'], 'A', 'the title goes on');
  },
);

t.test('FLAC in frames of a second and a half: no segment is longer than it says', async (t) => {
  const channel = new OggChannel({ targetSeconds: 4 });
  channel.cut();
  const link = new OggLink(flacHeaders({ hertz: 44_100 }));
  for (let i = 0; i < 60; i++) channel.packet(flacPacket(i, 65_535), (65_535 * 1000) / 44_100, link, i === 0);
  const { segments } = readPlaylist(channel.window.playlist);
  t.ok(segments.length > 15);
  t.ok(segments.every(({ seconds }) => Math.round(seconds) <= 4));
  const all = listed(channel.window).flatMap(({ bytes }) =>
    readFragment(bytes).frames.map(({ bytes: frame }) => frame.readUInt32BE(10)),
  );
  t.strictSame(all, upFrom(0, all.length));
});

t.test('from MP3 to Opus and back: another list each time, since EXT-X-MAP cannot be taken back', async (t) => {
  const channel = new OggChannel();
  channel.cut();
  channel.title('A');
  channel.play(20);
  t.match(channel.window.playlist, /#EXT-X-VERSION:3\n/);
  const last = channel.window.lastNumber!;
  channel.opus(20, true);
  t.match(channel.window.playlist, /#EXT-X-VERSION:7\n/);
  const between = readPlaylist(channel.window.playlist);
  t.ok(between.segments.every(({ init, name }) => init !== null && name.endsWith('.m4s')));
  t.ok(between.segments[0]!.isDiscontinuity);
  t.ok(between.mediaSequence > last);
  channel.play(20, true);
  const { segments, titles } = readPlaylist(channel.window.playlist);
  t.ok(segments.every(({ init, name }) => init === null && name.endsWith('.mp3')));
  t.strictSame(
    titles.map(({ title }) => title),
    ['A'],
  );
  t.equal(readPacked(listed(channel.window).at(-1)!.bytes).tag['TIT2'], 'A');
});

t.test('silence is a discontinuity in the same format: its initialization section keeps its name', async (t) => {
  const channel = new OggChannel();
  channel.cut();
  channel.opus(12);
  channel.clock.advance(30_000);
  channel.opus(12, true);
  const { segments } = readPlaylist(channel.window.playlist);
  t.equal(segments.filter(({ isDiscontinuity }) => isDiscontinuity).length, 1);
  t.equal(new Set(segments.map(({ init }) => init)).size, 1);
  t.equal(channel.window.playlist.match(/#EXT-X-MAP/g)!.length, 2, 'it is said again behind the discontinuity');
  const seam = segments.findIndex(({ isDiscontinuity }) => isDiscontinuity);
  const cut = listed(channel.window)[seam]!;
  t.equal(readFragment(cut.bytes).at, BigInt(Math.round(cut.startMs * 48)));
});

t.test(
  'another process goes on with the tape, with its open segment or without: what it has is read once',
  async (t) => {
    const random = new Random();
    t.comment(`seed ${random.seed}`);
    for (let i = 0; i < 30; i++) {
      const channel = new OggChannel();
      channel.cut();
      channel.title('A');
      channel.opus(random.int(150, 400) / 50);
      const before = channel.audio.tape as OggTape;
      const isWhole = i % 2 === 0;
      const closedMs = before.edgeMs;
      const tape = OggTape.adopt(before, isWhole ? before.leave() : undefined);
      const first = isWhole ? channel.packets : Math.round(closedMs / PACKET_MS) + 7;
      for (let n = first; n < first + 200; n++)
        tape.write(numberedPacket(n), PACKET_MS, !isWhole && n === first, channel.link);
      const read: number[] = [];
      const sink = { onFrame: (bytes: Buffer) => read.push(bytes.readUInt32BE(1)), onLost: () => t.fail('lost') };
      const reader = new PacketReader(sink, new HlsForms('auto', { lastInit: null }));
      for (let seq = tape.tail; seq < tape.head; seq++) reader.take(tape.at(seq)!);
      const missing = isWhole ? [] : upFrom(Math.round(closedMs / PACKET_MS), 7);
      const due = upFrom(0, read.length + missing.length).filter((n) => !missing.includes(n));
      t.strictSame(read, due, isWhole ? 'with it' : 'without it');
    }
  },
);

t.test('Vorbis is not cut; what comes behind it is', async (t) => {
  const channel = new OggChannel();
  channel.cut();
  const identification = Buffer.alloc(30);
  identification.write('\x01vorbis', 'latin1');
  identification[11] = 2;
  identification.writeUInt32LE(44_100, 12);
  identification.set([0xb8, 1], 28);
  const comments = Buffer.concat([Buffer.from('\x03vorbis', 'latin1'), Buffer.alloc(8), Buffer.of(1)]);
  const vorbis = new OggLink([identification, comments, Buffer.from('\x05vorbis', 'latin1')]);
  for (let i = 0; i < 900; i++) {
    if (i % 200 === 0) channel.title(`T${i}`);
    channel.packet(Buffer.alloc(50), 1024 / 44.1, vorbis, i === 0);
  }
  t.equal(oggFacts(channel.audio.tape!)?.codec, 'vorbis');
  t.ok(channel.window.isEmpty);
  channel.opus(9, true);
  t.equal(oggFacts(channel.audio.tape!)?.codec, 'opus');
  t.ok(listed(channel.window).length > 0);
  const frames = new HlsChannel();
  frames.play(3);
  t.equal(oggFacts(frames.audio.tape!), null, 'frames are no Ogg');
});

t.test(
  'another cutter of the same tape goes on behind the last segment: each packet once, with one initialization section',
  async (t) => {
    const random = new Random();
    t.comment(`seed ${random.seed}`);
    for (let i = 0; i < 10; i++) {
      const channel = new OggChannel();
      const first = channel.cut();
      channel.title('Before');
      channel.opus(random.int(200, 300) / 10);
      first.stop();
      channel.audio.observe({
        onGrown: () => undefined,
        onLate: () => undefined,
        onFence: () => undefined,
        onTape: () => undefined,
      });
      channel.opus(random.int(1, 50) / 10);
      if (random.chance(0.5)) channel.title('Between');
      channel.cut();
      channel.opus(20);
      const segments = channel.window.segmentsFrom(0);
      const all = segments.flatMap(numbers);
      t.strictSame(all, upFrom(all[0]!, all.length), 'each packet once');
      t.ok(all.length > 35 * 50);
      t.notOk(segments.slice(1).some(({ isDiscontinuity }) => isDiscontinuity));
      t.equal(new Set(segments.map(({ init }) => init!.name)).size, 1);
      let due: bigint | null = null;
      for (const { bytes } of segments) {
        const { at, frames } = readFragment(bytes);
        if (due !== null) t.equal(at, due, 'times go on to the sample');
        due = at + BigInt(frames.length * SAMPLES);
      }
    }
  },
);
