/** Where titles lie whose audio waits in the delay line, or has not come in yet: as ChannelAudio is written to, and as a listener reads it. */

import t from 'tap';
import { ChannelAudio } from '../../../src/audio/channel-audio.js';
import { framerFor } from '../../../src/audio/frames/format.js';
import type { OggLink } from '../../../src/audio/ogg/ogg-link.js';
import type { PlacedMark } from '../../../src/audio/tape/mark.js';
import { FakeClock } from '../../kit/clock.js';
import { frameOf } from '../../kit/frame-of.js';
import { readBack } from '../../kit/icy.js';
import { opusLink } from '../../kit/made-ogg.js';
import { Random } from '../../kit/random.js';
import { viewOf } from '../../kit/record.js';

const FRAME_MS = 25;
const FRAME_BYTES = 400;
const PIECE_MS = 250;
const METAINT = 4000;
const BYTES_PER_MS = FRAME_BYTES / FRAME_MS;

/** A channel that is played all the time. */
function channelOf(delayMs: number, metaint = METAINT) {
  const clock = new FakeClock(0);
  const delay = delayMs > 0 ? { ms: delayMs, clock } : undefined;
  const audio = new ChannelAudio({
    key: 'demo',
    lagMs: 600_000,
    now: () => clock.now(),
    metaint,
    bitrateKbps: 128,
    delay,
  });
  audio.playing = 1;
  const icy: Buffer[] = [];
  /** Those that it gets, each once: one that comes late stands in every segment that was not sent. */
  const placed: PlacedMark[] = [];
  let cursor = 0;
  /** What a listener gets who was there from the beginning. */
  const listen = () => {
    const { tape } = audio;
    for (; tape !== undefined && cursor < tape.head; cursor++) {
      const segment = tape.at(cursor)!;
      for (const one of segment.marks) if (placed.every(({ mark }) => mark !== one.mark)) placed.push(one);
      icy.push(cursor === 0 ? segment.entered(true) : segment.titled);
    }
  };
  const write = (frames: number) => {
    for (let i = 0; i < frames; i++) audio.write(frameOf(Buffer.alloc(FRAME_BYTES, 1), FRAME_MS, 128));
  };
  /** A source that sends what it has played, in pieces. */
  const play = (ms: number, onPiece: () => void = () => undefined) => {
    for (let doneMs = 0; doneMs < ms; doneMs += PIECE_MS) {
      clock.advance(PIECE_MS);
      onPiece();
      write(PIECE_MS / FRAME_MS);
      listen();
    }
  };
  const titles = () =>
    readBack(Buffer.concat(icy), metaint)
      .titles.filter(({ title }) => title !== '')
      .map(({ title, byte }) => ({ song: title, byte }));
  const marks = (): readonly PlacedMark[] => placed;
  let version = 0;
  const title = (song: string, agoMs = 0, id = song) => audio.title(viewOf(song, { id, version: ++version }), agoMs);
  return { audio, clock, icy, write, play, titles, marks, title, listen };
}

t.test('a title that is late by less than the delay lies at the audio of its moment, to the byte', async (t) => {
  const { audio, clock, play, titles, marks, title } = channelOf(4000);
  play(10_000);
  const fromMs = clock.now();
  play(2000);
  t.equal(title('Late', clock.now() - fromMs), null, 'nobody is past it');
  t.equal(audio.tape!.endMs < fromMs, true);
  play(6000);
  t.same(
    marks().map(({ mark, atMs }) => [mark.view.title, Math.round(atMs)]),
    [['Late', fromMs]],
    'behind all that had come in by then',
  );
  const [seen] = titles();
  t.ok(Math.abs(seen!.byte - fromMs * BYTES_PER_MS) <= METAINT / 2, `${seen!.byte}`);
});

t.test('one that is later than the delay lies on the tape, and those who are past it are notified', async (t) => {
  const { clock, play, marks, title } = channelOf(1000);
  play(10_000);
  const late = title('Late', 4000);
  t.equal(Math.round(late!.atMs), clock.now() - 4000);
  play(3000);
  t.same(
    marks().map(({ atMs }) => Math.round(atMs)),
    [clock.now() - 7000],
  );
});

t.test('the block next to its place carries a title, before it or behind, wherever segments end', async (t) => {
  const random = new Random();
  const metaint = random.int(1500, 6000);
  const { clock, play, titles, marks, title } = channelOf(3000, metaint);
  const places: { song: string; byte: number }[] = [];
  let next = 4000;
  play(120_000, () => {
    if (clock.now() < next) return;
    // Nothing of this piece has come in.
    const byte = (clock.now() - PIECE_MS) * BYTES_PER_MS;
    const song = `Song ${places.length}`;
    title(song, 1);
    places.push({ song, byte });
    next += random.int(1000, 5000);
  });
  const seen = titles();
  const heard = places.slice(0, seen.length);
  t.ok(seen.length > 20, `seed ${random.seed}`);
  t.same(
    seen,
    heard.map(({ song, byte }) => ({ song, byte: metaint * Math.round(byte / metaint - 1e-9) })),
    `seed ${random.seed}: each once, at the nearest boundary`,
  );
  // The place of the last one may be in the open segment, whose block stands at the end of the one before.
  const placed = marks().map(({ atMs }) => Math.round(atMs * BYTES_PER_MS));
  t.ok(placed.length >= seen.length - 1, `seed ${random.seed}`);
  const bytes = places.map(({ byte }) => byte);
  t.same(placed, bytes.slice(0, placed.length), 'and keeps its exact place');
});

t.test('that holds up to the last moment, but where the block next to it ends a segment that was closed', async (t) => {
  const random = new Random();
  const metaint = random.int(1500, 6000);
  const segmentBytes = metaint * Math.floor((1000 * BYTES_PER_MS) / metaint);
  const { clock, play, titles, marks, title } = channelOf(3000, metaint);
  let next = 5000;
  play(240_000, () => {
    if (clock.now() < next) return;
    title(`Song ${next}`, random.int(2700, 2999));
    next += random.int(1000, 5000);
  });
  const places = new Map(marks().map(({ mark, atMs }) => [mark.view.title, atMs * BYTES_PER_MS]));
  let near = 0;
  for (const { song, byte } of titles()) {
    const place = places.get(song)!;
    const isNear = Math.abs(byte - place) <= metaint / 2 + 1;
    if (isNear) near++;
    const isBehindSegment = place % segmentBytes <= metaint / 2 + 1;
    if (!isNear && !isBehindSegment)
      t.fail(`seed ${random.seed}: ${song} ${byte - place} bytes off, metaint ${metaint}`);
    if (Math.abs(byte - place) > metaint) t.fail(`seed ${random.seed}: ${song} ${byte - place} bytes off`);
  }
  t.ok(near > 20, `seed ${random.seed}: ${near}`);
});

t.test('without a delay the block behind its place carries it', async (t) => {
  const { play, titles, title } = channelOf(0);
  play(1250);
  title('One');
  play(2000);
  t.same(titles(), [{ song: 'One', byte: 20_000 }]);
});

t.test('several titles wait in the line, in order; a correction is put in the place of what it corrects', async (t) => {
  const { play, titles, marks, title } = channelOf(4000);
  play(8000);
  title('One');
  play(1000);
  title('Two', 0, 'second');
  play(500);
  t.equal(title('Two, corrected', 0, 'second'), null);
  play(500);
  title('Three');
  // Before the one that waits: it lies behind it.
  title('Four', 1500);
  play(8000);
  t.same(
    marks().map(({ mark, atMs }) => [mark.view.title, Math.round(atMs)]),
    [
      ['One', 8000],
      ['Two, corrected', 9000],
      ['Three', 10_000],
      ['Four', 10_000],
    ],
  );
  t.same(
    titles().map(({ song }) => song),
    ['One', 'Two, corrected', 'Four'],
  );
});

t.test(
  'a correction of a title that is near its place, and of one that has passed it, lies where that lies',
  async (t) => {
    const { play, marks, titles, title } = channelOf(2000);
    play(6000);
    title('One', 0, 'first');
    play(1500);
    title('One, corrected', 0, 'first');
    play(4000);
    const late = title('One, once more', 0, 'first');
    t.equal(Math.round(late!.atMs), 6000);
    play(3000);
    t.same(
      marks().map(({ mark, atMs }) => [mark.view.title, Math.round(atMs)]),
      [
        ['One', 6000],
        ['One, corrected', 6000],
        ['One, once more', 6000],
      ],
    );
    t.equal(titles()[0]!.song, 'One, corrected');
  },
);

t.test('ahead of its audio: a title waits for what comes in at its moment, with a delay and without', async (t) => {
  for (const delayMs of [0, 500, 4000]) {
    const { audio, play, marks, titles, title } = channelOf(delayMs);
    play(6000);
    title('Ahead', -3000);
    title('Further', -4000);
    t.equal(title('Further, corrected', -4000, 'Further'), null);
    play(12_000);
    // Pieces of 250 ms come in when they have been played: the one of that very moment is the first with it.
    t.same(
      marks().map(({ mark, atMs }) => [mark.view.title, Math.round(atMs)]),
      [
        ['Ahead', 9000 - PIECE_MS],
        ['Further, corrected', 10_000 - PIECE_MS],
      ],
      `delay ${delayMs}`,
    );
    const error = titles()[0]!.byte - (9000 - PIECE_MS) * BYTES_PER_MS;
    t.ok(delayMs > 0 ? Math.abs(error) <= METAINT / 2 : error >= 0 && error <= METAINT, `${error}`);
    t.ok(audio.tape!.endMs > 12_000);
  }
});

t.test('titles ahead of audio that does not come do not pile up', async (t) => {
  const { clock, play, marks, title } = channelOf(0);
  play(1000);
  for (let i = 0; i < 1000; i++) {
    title(`Ahead ${i}`, -1000);
    clock.advance(500);
  }
  clock.advance(1000);
  play(3000);
  t.ok(marks().length <= 4, `${marks().length} of them`);
  t.equal(marks().at(-1)!.mark.view.title, 'Ahead 999');
});

t.test('a title behind the last audio of a lost source is on the tape when that audio is', async (t) => {
  const { audio, clock, play, write, listen, marks, titles, title } = channelOf(2000);
  play(6000);
  clock.advance(500);
  title('Lost');
  clock.advance(3000);
  t.same([audio.delayedMs, Math.round(audio.tape!.endMs)], [0, 6000]);
  t.ok(audio.emptySinceMs < clock.now());
  title('Nobody is there');
  write(80);
  clock.advance(4000);
  listen();
  t.same(
    marks().map(({ mark, atMs }) => [mark.view.title, Math.round(atMs)]),
    [
      ['Lost', 6000],
      ['Nobody is there', 6000],
    ],
  );
  t.equal(titles()[0]!.song, 'Nobody is there');
});

t.test(
  'the title of the beginning is in force at the first byte; one that is pushed while the line fills waits',
  async (t) => {
    const { audio, play, marks, titles, title } = channelOf(3000);
    title('Before all');
    play(1000);
    t.equal(audio.tape, undefined);
    title('In the second second');
    play(6000);
    t.same(
      titles().map(({ song }) => song),
      ['Before all', 'In the second second'],
    );
    t.equal(Math.round(marks()[0]!.atMs), 1000);
  },
);

t.test('what the audio is travels with it: bitrate, content type, another source', async (t) => {
  const { audio, clock, play } = channelOf(2000);
  audio.sourceChanged();
  play(5000);
  const { tape } = audio;
  audio.sourceChanged();
  // 200 bytes of AAC.
  const aac = Buffer.concat([Buffer.from('fff15080191ffc', 'hex'), Buffer.alloc(193)]);
  audio.write(frameOf(aac, FRAME_MS, 64));
  t.same([audio.contentType, audio.bitrateKbps], ['audio/mpeg', 128]);
  const from = tape!.joinAt(2000);
  t.ok(from < tape!.head, 'a burst is there');
  clock.advance(2500);
  t.same([audio.contentType, audio.bitrateKbps, audio.delayedMs], ['audio/aac', Math.round(1600 / FRAME_MS), 0]);
  t.ok(tape!.isOver);
});

t.test('Ogg: the link of a late title begins at its place', async (t) => {
  const { audio, clock, title } = channelOf(3000);
  const packets: [Buffer, OggLink][] = [];
  framerFor({ onFrame: ({ bytes, link }) => void packets.push([Buffer.from(bytes), link!]) }).push(opusLink(1, 1));
  const [packet, link] = packets[0]!;
  const play = (ms: number) => {
    for (let doneMs = 0; doneMs < ms; doneMs += 20) {
      clock.advance(20);
      audio.write(frameOf(packet, 20, 64, false, link));
    }
  };
  play(6100);
  title('Late', 1480);
  play(9000);
  const segments = Array.from({ length: audio.tape!.head }, (_, seq) => audio.tape!.at(seq)!);
  const placed = segments.flatMap(({ marks }) => marks);
  // Less than a packet: 20 ms.
  t.ok(Math.abs(placed[0]!.atMs - (6100 - 1480)) <= 20, `${placed[0]!.atMs}`);
  t.same(
    segments.filter(({ linkBytes }) => linkBytes > 0).map(({ endMs }) => endMs),
    [placed[0]!.atMs],
  );
});

t.test('let go: what comes next fills the line anew', async (t) => {
  const { audio, clock, write } = channelOf(2000);
  write(10);
  clock.advance(3000);
  t.equal(Math.round(audio.tape!.endMs), 250);
  audio.playing = 0;
  audio.release();
  t.equal(audio.tape, undefined);
  write(10);
  clock.advance(1900);
  t.same([audio.tape, audio.delayedMs, audio.roomMs], [undefined, 250, 1750]);
  audio.release();
  clock.advance(400);
  t.ok(audio.tape!.endMs > 0, 'what waits is not let go');
});
