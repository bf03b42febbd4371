/**
 * The ring of an Ogg tape: what is forgotten, by time and by number, and where a listener may begin. What its pages say is in ogg.test.ts.
 */

import t from 'tap';
import { framerFor } from '../../../src/audio/frames/format.js';
import type { OggLink } from '../../../src/audio/ogg/ogg-link.js';
import { OggTape } from '../../../src/audio/ogg/ogg-tape.js';
import { Mark } from '../../../src/audio/tape/mark.js';
import { opusLink } from '../../kit/made-ogg.js';
import { viewOf } from '../../kit/record.js';

const LAG_MS = 10_000;
const PACKET_MS = 20;
const METAINT = 4000;

const { packet, link } = (() => {
  let found: { packet: Buffer; link: OggLink } | undefined;
  framerFor({
    onFrame: ({ bytes, link }) => {
      found ??= { packet: Buffer.from(bytes), link: link! };
    },
  }).push(opusLink(1, 1));
  return found!;
})();

/** A tape with so much audio on it. */
function tapeOf(ms: number): OggTape {
  const tape = new OggTape(link, METAINT, 1, LAG_MS, null);
  play(tape, ms);
  return tape;
}

function play(tape: OggTape, ms: number): void {
  for (let doneMs = 0; doneMs < ms; doneMs += PACKET_MS) tape.write(packet, PACKET_MS, false, link);
}

t.test('what is older than the lag is forgotten, at the limit and one past it', async (t) => {
  // Segments of a second; each is closed by the packet behind it.
  const tape = tapeOf(30_000 + PACKET_MS);
  t.strictSame([tape.head, tape.tail, tape.edgeMs], [30, 19, 30_000]);
  t.equal(tape.at(19)!.endMs, 20_000, 'the segment that ends exactly 10 s before the edge is the oldest');
  t.equal(tape.at(18), undefined);
  play(tape, 1000);
  t.strictSame([tape.head, tape.tail, tape.at(19)], [31, 20, undefined]);
  t.equal(tape.at(30)!.startMs, 30_000, 'numbers stay with their segments');
});

t.test(
  'links with no audio to speak of are forgotten by number: what plays no time would never grow old',
  async (t) => {
    const tape = new OggTape(link, METAINT, 1, LAG_MS, null);
    for (let i = 0; i < 500; i++) tape.write(packet, 0, true, link);
    t.strictSame([tape.head, tape.edgeMs], [499, 0]);
    t.equal(tape.head - tape.tail, 41, 'as many as there are segments of 250 ms in the lag, and one');
  },
);

t.test('a segment of packets that hardly play has half a MB at most, and a packet', async (t) => {
  const tape = new OggTape(link, METAINT, 1, LAG_MS, null);
  const large = Buffer.alloc(50_000, 0xfc);
  for (let i = 0; i < 100; i++) tape.write(large, 1, false, link);
  const lengths = Array.from({ length: tape.head }, (_, seq) => tape.at(seq)!.plain.length);
  t.ok(lengths.length >= 8, `${lengths.length} segments of 5 MB`);
  t.ok(Math.max(...lengths) < 512 * 1024 + 51_000, lengths.join());
});

t.test('a link of Opus repeats 80 ms, and 256 KiB at most, at the limit and past it', async (t) => {
  // Of 2.5 ms each; the tape writes what it is given.
  for (const [bytes, kept] of [
    [8192, 32],
    [8193, 31],
    [256 * 1024, 1],
    [256 * 1024 + 1, 0],
  ] as const) {
    const tape = new OggTape(link, METAINT, 1, LAG_MS, null);
    const large = Buffer.alloc(bytes, 0xe0);
    for (let i = 0; i < 100; i++) tape.write(large, 2.5, false, link);
    const open = tape.leave();
    t.equal(open.recent.length, kept, `${bytes}`);
    // Another process goes on with another link.
    const next = OggTape.adopt(tape, open);
    next.write(large, 2.5, false, link);
    next.leave();
    const { length } = next.at(next.head - 1)!.bytes;
    t.ok(length > (kept + 1) * bytes && length < (256 * 1024 + bytes) * 1.01, `${length}`);
  }
});

t.test('no listener joins before a fence', async (t) => {
  const tape = tapeOf(5000 + PACKET_MS);
  t.equal(tape.joinAt(3000), 0, 'a burst is there');
  tape.fence();
  t.equal(tape.joinAt(3000), 6, 'nor in the open segment, which began before it');
  t.equal(tape.joinAt(0), 6);
  play(tape, 3000);
  t.strictSame([tape.head, tape.joinAt(3000)], [8, 6], 'less of a burst, and nothing of before');

  const empty = new OggTape(link, METAINT, 1, LAG_MS, null);
  empty.fence();
  play(empty, 2000);
  t.equal(empty.joinAt(1000), 0, 'before the first packet it keeps out nothing');
});

t.test(
  'a link begins at its title’s very place where that is known ahead, else where the segment is long enough',
  async (t) => {
    for (let placeMs = 2000; placeMs <= 3200; placeMs += PACKET_MS) {
      const linkOf = (aheadMs: number) => {
        const mark = new Mark(viewOf('Ahead'));
        const tape = tapeOf(placeMs - aheadMs);
        tape.put(mark, placeMs, (aheadMs / PACKET_MS) * packet.length);
        play(tape, aheadMs + 2000);
        const segments = Array.from({ length: tape.head }, (_, seq) => tape.at(seq)!);
        const placed = segments.flatMap(({ marks }) => marks).map(({ atMs }) => atMs);
        const longest = Math.max(...segments.map(({ startMs, endMs }) => endMs - startMs));
        const [link] = segments.filter(({ linkBytes }) => linkBytes > 0);
        return { placed, longest, endMs: link!.endMs, inForce: link!.mark === mark };
      };
      t.match(linkOf(1000), { placed: [placeMs], endMs: placeMs, inForce: true });
      t.ok(linkOf(1000).longest < 1250, `${linkOf(1000).longest} ms`);
      const unknown = linkOf(0);
      t.ok(unknown.endMs >= placeMs && unknown.endMs <= placeMs + 250, `${placeMs}: ${unknown.endMs}`);
    }
  },
);
