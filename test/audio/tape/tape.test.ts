/** The ring: what lies on the tape, what is forgotten, and where a listener begins. */

import t from 'tap';
import { ADTS_HEADER_BYTES } from '../../../src/audio/frames/adts.js';
import { APE_HEADER_BYTES, HEADER_BYTES, MAX_FRAME_BYTES, tagBytes } from '../../../src/audio/frames/header.js';
import { Mark } from '../../../src/audio/tape/mark.js';
import { inForceAt } from '../../../src/audio/tape/segment.js';
import { Tape } from '../../../src/audio/tape/tape.js';
import { adtsFrame, readFilled } from '../../kit/adts.js';
import { Random } from '../../kit/random.js';
import { viewOf } from '../../kit/record.js';

const METAINT = 100;
/** What browsers read at a time (burst.ts). */
const BLOCK_BYTES = 32_768;
/** On a tape so short a burst is given in time alone. */
const SHORT_LAG_MS = 5000;

/** Seconds of audio, a segment each, and the byte that closes the last. */
function tapeOf(seconds: number, lagMs = 60_000, metaint = METAINT): Tape {
  const tape = new Tape(metaint, 1, lagMs, null);
  for (let i = 0; i < seconds; i++) tape.write(Buffer.alloc(metaint, i), 1000);
  tape.write(Buffer.alloc(1, 255), 0);
  return tape;
}

/** A second more, in four frames. */
function second(tape: Tape): void {
  for (let i = 0; i < 4; i++) tape.write(Buffer.alloc(METAINT / 4), 250);
}

t.test('segments hold what was written, with their audio time', async (t) => {
  const tape = tapeOf(200);
  t.equal(tape.head, 200);
  for (const seq of [tape.tail, 170, 199]) {
    const segment = tape.at(seq)!;
    t.equal(segment.startMs, seq * 1000);
    t.equal(segment.endMs, (seq + 1) * 1000);
    t.same(segment.plain, Buffer.alloc(METAINT, seq));
    t.equal(segment.bytes.length, METAINT + 1);
    t.equal(segment.bytes[METAINT], 0);
  }
  t.equal(tape.at(200), undefined);
});

t.test('what is older than the lag is forgotten, at the limit and one past it', async (t) => {
  const tape = tapeOf(30, 10_000);
  t.equal(tape.head, 30);
  t.equal(tape.tail, 19, 'the segment that ends exactly 10 s before the edge is the oldest');
  t.ok(tape.at(19));
  t.equal(tape.at(18), undefined);
  tape.write(Buffer.alloc(METAINT), 1000);
  t.equal(tape.at(19), undefined);
});

t.test('a listener begins at the newest segment with its burst behind it', async (t) => {
  const tape = tapeOf(30, 60_000, BLOCK_BYTES);
  for (const [burstMs, seq] of [
    [0, 30],
    // A block, and two seconds until the next may come.
    [1, 27],
    [3000, 27],
    [3001, 26],
    [5000, 25],
    [29_999, 0],
    [90_000, 0],
  ] as const) {
    t.equal(tape.joinAt(burstMs), seq, `${burstMs} ms`);
  }
  t.equal(tapeOf(30, 60_000, BLOCK_BYTES / 2).joinAt(1), 26, 'half as many bytes: a segment more');
  t.equal(tapeOf(60).joinAt(1), 5, 'with hardly any, 5 s less than the tape keeps');
  t.equal(tapeOf(60).joinAt(57_000), 3, 'unless the burst is longer');
  t.equal(new Tape(METAINT, 1, 1000, null).joinAt(5000), 0, 'an empty tape');
});

t.test('no listener joins before a fence', async (t) => {
  const tape = tapeOf(30, SHORT_LAG_MS);
  tape.fence();
  t.equal(tape.joinAt(5000), 31, 'the open segment is begun by the old source');
  t.equal(tape.joinAt(0), 31);
  for (let i = 0; i < 3; i++) second(tape);
  t.equal(tape.head, 33);
  t.equal(tape.joinAt(5000), 31);
  t.equal(tape.joinAt(1000), 31, 'the burst counts from the entry');
  t.equal(tape.joinAt(740), 32);
  for (let i = 0; i < 10; i++) second(tape);
  t.equal(tape.joinAt(4740), 38, 'and is of no matter later');
});

t.test('an entry is the first frame that begins a segment or leaves room for a tag', async (t) => {
  const entries = (...lengths: number[]) => {
    const tape = new Tape(METAINT, 1, 60_000, null);
    for (const length of lengths) tape.write(Buffer.alloc(length), length);
    tape.write(Buffer.alloc(METAINT), 0);
    return Array.from({ length: tape.head }, (_, seq) => [tape.at(seq)!.entry, tape.at(seq)!.entryMs]);
  };
  t.same(entries(100, 100).slice(0, 2), [
    [0, 0],
    [0, 100],
  ]);
  t.same(entries(120, 30, 60)[1], [50, 150], '20 bytes are too few');
  t.same(entries(121, 30, 60)[1], [21, 121], '21 are enough');
  t.same(entries(101, 98, 50)[1], [99, 199], 'the last byte may be one');
  t.equal(entries(105, 110, 100)[1]![0], -1, 'none begins late enough');
  const long = entries(310, 50).map(([entry]) => entry);
  t.same(long, [0, -1, -1, 60], 'a frame longer than a segment');
});

t.test(
  'what is left of a frame that a segment cuts, where the segment behind is closed and where it is open',
  async (t) => {
    const rests = (...lengths: number[]) => {
      const tape = new Tape(METAINT, 1, 60_000, null);
      for (const [i, length] of lengths.entries()) tape.write(Buffer.alloc(length, i + 1), length);
      return Array.from({ length: tape.head }, (_, i) => tape.rest(i + 1, false).toString('latin1'));
    };
    const bytes = (...runs: [value: number, length: number][]) =>
      runs.map(([value, length]) => String.fromCharCode(value).repeat(length)).join('');
    t.same(rests(100, 50, 50, 10), ['', ''], 'nothing was cut');
    t.same(rests(61, 60), [bytes([2, 21])], 'open: the frame that was cut');
    t.same(rests(61, 60, 30), [bytes([2, 21])], 'and none behind it');
    t.same(rests(60, 50, 30), [bytes([2, 10], [3, 30])], 'where no tag would fit in, another whole frame');
    t.same(rests(60, 140), [bytes([2, 100])], 'all of it, where that is all there is');
    t.same(rests(61, 60, 60, 60), [bytes([2, 21]), bytes([4, 41])], 'closed');
    const blocks = new Tape(METAINT, 4, 60_000, null);
    for (const [i, length] of [390, 260].entries()) blocks.write(Buffer.alloc(length, i + 1), length);
    const rest = (icy: boolean) => blocks.rest(1, icy).toString('latin1');
    const [full, half] = [bytes([2, 100]), bytes([2, 50])];
    t.same([rest(false), rest(true)], [full + full + half, [full, full, half].join('\0')], 'open, with its blocks');
    blocks.write(Buffer.alloc(400, 3), 400);
    t.same([rest(false), rest(true)], [full + full + half, [full, full, half].join('\0')], 'closed, with its blocks');
    const whole = new Tape(METAINT, 1, 10_000, null);
    for (let i = 0; i < 200; i++) whole.write(Buffer.alloc(60, i), 600);
    const { head, tail } = whole;
    for (const seq of [-1, 0, tail - 1, head - 64, head + 1])
      t.equal(whole.rest(seq, true).length, 0, `nothing at ${seq}`);
    const lengths = () => Array.from({ length: head + 1 - tail }, (_, i) => whole.rest(tail + i, true).length);
    const before = lengths();
    t.ok(before.some((length) => length > 0));
    whole.end();
    t.same(lengths(), before, 'and where listeners are sent away because the format changes');
  },
);

t.test('a listener begins where there is an entry', async (t) => {
  const tape = new Tape(METAINT, 1, SHORT_LAG_MS, null);
  for (const length of [100, 100, 310, 40, 51]) tape.write(Buffer.alloc(length), length);
  const entries = Array.from({ length: tape.head }, (_, seq) => tape.at(seq)!.entry);
  t.same(entries, [0, 0, 0, -1, -1, 50]);
  t.equal(tape.joinAt(50), 5);
  t.equal(tape.joinAt(51), 2);
  t.equal(tape.joinAt(400), 2);
  t.equal(tape.joinAt(401), 1);
  t.equal(tape.joinAt(9000), 0);
});

t.test('a title goes into the first block at or after the byte where it took effect', async (t) => {
  const [a, b, c] = ['a', 'b', 'c'].map((song) => new Mark(viewOf(song)));
  const tape = new Tape(METAINT, 1, 60_000, a!);
  tape.write(Buffer.alloc(METAINT), 1000);
  tape.put(b!, tape.endMs);
  tape.write(Buffer.alloc(METAINT - 1), 1000);
  tape.write(Buffer.alloc(1), 0);
  tape.write(Buffer.alloc(1), 0);
  tape.put(c!, tape.endMs);
  tape.write(Buffer.alloc(METAINT), 1000);
  t.equal(tape.at(0)!.before, a);
  t.equal(tape.at(0)!.mark, b, 'exactly at the end of the segment: its own block');
  t.equal(tape.at(1)!.before, b);
  t.equal(tape.at(1)!.mark, b, 'a byte later: the next');
  t.equal(tape.at(2)!.before, b);
  t.equal(tape.at(2)!.mark, c);
  t.equal(tape.at(2)!.titled.subarray(METAINT).toString('latin1', 1, 16), "StreamTitle='c'");
});

t.test('a title before the first byte is in force there', async (t) => {
  const [a, b] = ['a', 'b'].map((song) => new Mark(viewOf(song)));
  const tape = new Tape(METAINT, 1, 60_000, a!);
  tape.put(b!, tape.endMs);
  tape.write(Buffer.alloc(METAINT + 1), 1000);
  t.equal(tape.at(0)!.before, b);
});

t.test('a frame that a segment cuts within its side information is left to its title block', async (t) => {
  const FRAME_BYTES = 417;
  const SIDE_END = 36;
  // MPEG 1 layer III, stereo: 511 bytes of each frame's sound lie in those before it.
  const frame = Buffer.alloc(FRAME_BYTES, 0x5a);
  frame.set([0xff, 0xfb, 0x90, 0x00, 0xff, 0x80]);
  // The frame behind the entry has all of its head in the segment, and all but some bytes of its side information.
  for (const inside of [HEADER_BYTES, SIDE_END - 1, SIDE_END]) {
    const metaint = FRAME_BYTES + inside;
    const mark = new Mark(viewOf('A title that stands there'));
    const tape = new Tape(metaint, 1, 60_000, mark);
    for (let i = 0; i < 3; i++) tape.write(frame, 26);
    const entered = tape.at(0)!.entered(true);
    t.ok(entered.subarray(metaint).equals(mark.block), `${inside} bytes: the block is whole`);
    t.notOk(entered.subarray(0, FRAME_BYTES).equals(frame), 'the first frame is muted');
    const isMuted = !entered.subarray(FRAME_BYTES, metaint).equals(frame.subarray(0, inside));
    t.equal(isMuted, inside === SIDE_END, 'the next one, if all that mutes it is there');
    t.ok(tape.at(0)!.entered(false).equals(entered.subarray(0, metaint)), 'without ICY the same, and no block');
    t.ok(
      tape
        .at(1)!
        .bytes.subarray(0, FRAME_BYTES - inside)
        .equals(frame.subarray(inside)),
    );
  }
});

t.test('MP3 begins with a tag that says how long it is, up to its entry', async (t) => {
  for (const entry of [21, 100, 137, 138, 300, 20_000]) {
    const metaint = 40_000;
    const tape = new Tape(metaint, 1, 60_000, null);
    tape.write(Buffer.alloc(metaint + entry, 1), 1000);
    for (let i = 0; i < 3; i++) tape.write(Buffer.alloc(20_000, 2), 500);
    const entered = tape.at(1)!.entered(true);
    t.equal(tagBytes(Buffer.concat([entered, Buffer.alloc(APE_HEADER_BYTES)]), 0, true), entry);
    t.ok(
      entered.subarray(entry, metaint).equals(tape.at(1)!.plain.subarray(entry)),
      `${entry}: and then what was there`,
    );
  }
});

t.test(
  'AAC begins with its entry stretched to the segment’s first byte, or where there is no ICY, as it is',
  async (t) => {
    const random = new Random();
    const mark = new Mark(viewOf('A title that stands there'));
    for (const hasCrc of [false, true]) {
      const { frame, block } = adtsFrame(random, 300, { hasCrc });
      const cut = Buffer.concat([frame, frame]);
      const metaint = 1000;
      const tape = new Tape(metaint, 1, 60_000, mark);
      // The first segment begins with a frame; the second with the last 300 bytes of one.
      tape.write(adtsFrame(random, 1300 - 7, {}).frame, 100);
      for (let i = 0; i < 3; i++) tape.write(frame, 20);
      const [first, segment] = [tape.at(0)!, tape.at(1)!];
      t.ok(first.entered(true).subarray(0, metaint).equals(first.plain), 'at the first byte nothing has to be done');
      t.equal(segment.entry, 300);
      const entered = segment.entered(true);
      const { lengthBytes } = readFilled(entered);
      t.equal(lengthBytes, 300 + frame.length, `seed ${random.seed}: up to the end of the frame`);
      t.ok(readFilled(entered).block.equals(block), 'with its sound');
      t.ok(
        entered.subarray(lengthBytes, metaint).equals(segment.plain.subarray(lengthBytes)),
        'and then what was there',
      );
      t.ok(entered.subarray(metaint).equals(mark.block), 'its block stands at its place');
      t.ok(segment.plain.subarray(300, 300 + cut.length).equals(cut), 'others get the segment as it is');
      t.ok(segment.entered(false).equals(segment.plain.subarray(300)), 'without ICY a frame, and no stretched one');
    }
  },
);

t.test('AAC: a frame is an entry where it can be stretched, and where all of its head is there', async (t) => {
  const random = new Random();
  const frameOf = (bytes: number) => adtsFrame(random, bytes - 7, {}).frame;
  const entryAt = (offset: number, bytes: number, metaint: number) => {
    const tape = new Tape(metaint, 1, 60_000, null);
    tape.write(frameOf(metaint + offset), 1000);
    tape.write(frameOf(bytes), 1000);
    tape.write(frameOf(2 * metaint), 1000);
    return tape.at(1)!.entry;
  };
  t.equal(entryAt(7, 500, 500), 7, 'eight empty fill elements');
  t.equal(entryAt(6, 500, 500), -1);
  t.equal(entryAt(500 - ADTS_HEADER_BYTES, 500, 500), 500 - ADTS_HEADER_BYTES);
  t.equal(entryAt(500 - ADTS_HEADER_BYTES + 1, 500, 500), -1, 'a head that the segment cuts');
  t.equal(entryAt(2000, MAX_FRAME_BYTES - 2000, 4000), 2000);
  t.equal(entryAt(2000, MAX_FRAME_BYTES - 1999, 4000), -1, 'longer than a frame can be');
});

t.test(
  'a title that comes late is in the first block that a listener was not sent, and nothing older behind it',
  async (t) => {
    const [a, b, c] = ['a', 'b', 'c'].map((song) => new Mark(viewOf(song))) as [Mark, Mark, Mark];
    const tape = new Tape(METAINT, 4, 60_000, a);
    // A segment takes 4 s here.
    const seconds = (count: number) => {
      for (let i = 0; i < count * 10; i++) tape.write(Buffer.alloc(METAINT / 10, 1), 100);
    };
    /** What the blocks of a segment say, for a listener that begins with it and for one that has come to it. */
    const said = (seq: number) =>
      [true, false].map((isFirst) => {
        const bytes = isFirst ? tape.at(seq)!.entered(true) : tape.at(seq)!.titled;
        const titles: string[] = [];
        for (let at = METAINT; at < bytes.length; at += 1 + 16 * bytes[at]! + METAINT)
          titles.push(bytes[at] === 0 ? '' : bytes.toString('latin1', at + 14, at + 15));
        return titles;
      });
    seconds(18);
    tape.at(1)!.titled;
    tape.put(b, 5500);
    seconds(4);
    t.same(said(0), [
      ['a', '', '', ''],
      ['', '', '', ''],
    ]);
    t.same(
      said(1),
      [
        ['a', 'b', '', ''],
        ['', 'b', '', ''],
      ],
      'its place is in this one',
    );
    for (const seq of [2, 3, 4])
      t.same(
        said(seq),
        [
          ['b', '', '', ''],
          ['b', '', '', ''],
        ],
        'at once where it has passed',
      );
    t.same(
      [1, 2].map((seq) => inForceAt(tape.at(seq)!, tape.at(seq)!.startMs)?.view.title),
      ['a', 'b'],
    );
    seconds(4);
    tape.put(c, 13_500);
    seconds(4);
    t.same(said(2), [
      ['b', '', '', ''],
      ['b', '', '', ''],
    ]);
    t.same(said(3), [
      ['b', 'c', '', ''],
      ['b', 'c', '', ''],
    ]);
    for (const seq of [4, 5, 6]) t.same(said(seq)[0], ['c', '', '', ''], `segment ${seq} has nothing older`);
    seconds(4);
    t.same(said(7), [
      ['c', '', '', ''],
      ['', '', '', ''],
    ]);
  },
);

t.test(
  'a segment of several blocks: each title stands behind the block in which it took effect, and keeps its place',
  async (t) => {
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((song) => new Mark(viewOf(song)));
    const tape = new Tape(METAINT, 4, 60_000, a!);
    const audio = Buffer.from(Array.from({ length: 8 * METAINT }, (_, i) => 1 + (i % 200)));
    // Pieces that no block's length divides, one millisecond a byte.
    let at = 0;
    const writeTo = (byte: number) => {
      for (; at < byte; at = Math.min(byte, at + 30))
        tape.write(audio.subarray(at, Math.min(byte, at + 30)), Math.min(30, byte - at));
    };
    writeTo(130);
    tape.put(b!, tape.endMs);
    writeTo(150);
    tape.put(c!, tape.endMs);
    writeTo(400);
    tape.put(d!, tape.endMs);
    writeTo(8 * METAINT);
    const [first, second] = [tape.at(0)!, tape.at(1) ?? null];
    t.equal(tape.head, 1, 'the second is full, and closed by the byte after it');
    t.equal(second, null);
    t.same(
      first.marks.map(({ mark, atMs, atByte }) => [mark.view.title, atMs, atByte]),
      [
        ['b', 130, 130],
        ['c', 150, 150],
        ['d', 400, 400],
      ],
    );
    t.same([first.before?.view.title, first.mark?.view.title], ['a', 'd']);
    const rendered = (...blocks: (Mark | undefined)[]) =>
      Buffer.concat(
        blocks.flatMap((mark, i) => [audio.subarray(i * METAINT, (i + 1) * METAINT), mark?.block ?? Buffer.alloc(1)]),
      );
    t.ok(first.bytes.equals(rendered(undefined, undefined, undefined, undefined)));
    t.ok(first.titled.equals(rendered(undefined, c, undefined, d)), 'for a listener who has the title before');
    t.ok(first.plain.equals(audio.subarray(0, 4 * METAINT)));
    t.ok(first.entered(true).equals(rendered(a, c, undefined, d)), 'a new listener gets the one in force at once');
    t.ok(first.entered(false).equals(first.plain));
    tape.write(audio.subarray(0, 1), 1);
    t.same([tape.at(1)!.before, tape.at(1)!.marks, tape.at(1)!.titled], [d, [], tape.at(1)!.bytes]);
    t.ok(tape.rest(1, true).equals(Buffer.alloc(0)), 'it begins with a frame');
  },
);

t.test('which title is in force at a moment of a segment', async (t) => {
  const [a, b, c] = ['a', 'b', 'c'].map((song) => new Mark(viewOf(song)));
  const tape = new Tape(METAINT, 4, 60_000, a!);
  tape.write(Buffer.alloc(200), 200);
  tape.put(b!, 120);
  tape.put(c!, 200);
  tape.write(Buffer.alloc(201), 201);
  const segment = tape.at(0)!;
  t.same(
    [0, 119, 120, 199, 200, 400].map((ms) => inForceAt(segment, ms)?.view.title),
    ['a', 'a', 'b', 'b', 'c', 'c'],
  );
});

t.test('who reads a segment once has its audio without a buffer of its own', async (t) => {
  for (const blocks of [1, 3]) {
    const tape = new Tape(METAINT, blocks, 60_000, null);
    for (let i = 0; i < 3; i++) tape.write(Buffer.alloc(METAINT * blocks, i + 1), METAINT * blocks);
    const [first, second] = [tape.at(0)!, tape.at(1)!];
    const passing = first.passing;
    t.same(passing, Buffer.alloc(METAINT * blocks, 1), `${blocks} blocks`);
    t.equal(second.passing.buffer, passing.buffer, 'the one of all segments');
    t.same(second.passing, second.plain);
    t.same(first.plain, Buffer.alloc(METAINT * blocks, 1), 'what is kept is its own');
    t.equal(first.passing, first.plain, 'where that is there it is read');
  }
});

t.test('a tape that goes on in another process goes on in time, with what its segments cut of a frame', async (t) => {
  // The end of each segment cuts a frame; the oldest are forgotten.
  const former = new Tape(METAINT, 1, SHORT_LAG_MS, null);
  for (let i = 0; i < 40; i++) former.write(Buffer.alloc(70, i), 700);
  const { head, tail, edgeMs } = former;
  t.ok(tail > 0);
  const tape = Tape.adopt(former);
  t.same([tape.tail, tape.head, tape.edgeMs], [tail, head, edgeMs]);
  const restMs = former.rest(head, false).length * 10;
  t.ok(restMs > 0);
  t.equal(Math.round(tape.endMs), Math.round(edgeMs + restMs), 'behind that rest');
  for (let i = 0; i < 40; i++) tape.write(Buffer.alloc(70, i), 700);
  for (let seq = tape.tail; seq < tape.head; seq++) {
    const { startMs, endMs } = tape.at(seq)!;
    t.equal(Math.round(endMs - startMs), 1000);
    t.equal(Math.round(startMs), seq * 1000, 'as if nothing had happened');
  }
  t.ok(tape.tail > head, 'and old audio is forgotten');
});
