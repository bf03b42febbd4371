/** A stream that begins in its middle, by the links that are known: whatever stood between, as many as are kept, and one more. */

import t from 'tap';
import { framerFor } from '../../../src/audio/frames/format.js';
import type { FrameSink } from '../../../src/audio/frames/framer.js';
import { KnownLinks, MAX_KNOWN_LINKS } from '../../../src/audio/ogg/known-links.js';
import { opusLink, opusPages } from '../../kit/made-ogg.js';

/** How many packets are found, and the titles before them. @param chunks of one connection */
function read(known: KnownLinks | undefined, ...chunks: Buffer[]) {
  const titles: string[] = [];
  const sink: FrameSink = { onFrame: () => undefined, onTitle: ({ song }) => void titles.push(song) };
  const framer = framerFor(sink, known);
  for (const chunk of chunks) framer.push(chunk);
  return { frames: framer.counters.frames, titles, framer };
}

t.test('the same stream goes on, with the title that stands in it; another one does not', async (t) => {
  const known = new KnownLinks();
  read(known, opusLink(1, 20, 'TITLE=One'));
  read(known, opusLink(2, 20, 'TITLE=Two'));
  t.match(read(known, opusPages(1, 40, 20)), { frames: 20, titles: ['One'] });
  t.match(read(known, opusPages(2, 9, 20)), { frames: 20, titles: ['Two'] });
  t.match(read(known, opusPages(3, 40, 20)), { frames: 0, titles: [] });
  t.match(read(undefined, opusPages(1, 40, 20)), { frames: 0, titles: [] });
});

t.test('in the middle of a page it goes on with the next one', async (t) => {
  const known = new KnownLinks();
  read(known, opusLink(1, 20));
  const pages = opusPages(1, 40, 20);
  const second = pages.indexOf('OggS', 1);
  for (const at of [1, 20, second - 1]) t.equal(read(known, pages.subarray(at)).frames, 10, `${at}`);
  t.equal(read(known, pages.subarray(1, 20), pages.subarray(20)).frames, 10);
  t.equal(read(known, ...[...pages.subarray(20)].map((byte) => Buffer.of(byte)), pages.subarray(second)).frames, 10);
  t.equal(read(new KnownLinks(), pages.subarray(1)).frames, 0);
});

t.test('behind its headers of its own a link is the latest, and behind its end nothing goes on', async (t) => {
  const known = new KnownLinks();
  read(known, opusLink(1, 10, 'TITLE=One'), opusLink(2, 10, 'TITLE=Two'));
  t.equal(read(known, opusPages(1, 4, 10)).frames, 0, 'the one before it is over');
  t.equal(read(known, opusPages(2, 4, 10), opusLink(1, 10), opusPages(2, 5, 10)).frames, 20, 'it has been left');
});

t.test('as many encoders as are kept, and one more', async (t) => {
  const known = new KnownLinks();
  for (let serial = 0; serial < MAX_KNOWN_LINKS; serial++) read(known, opusLink(serial, 1), opusLink(serial + 100, 1));
  t.equal(read(known, opusPages(100, 2, 10)).frames, 10, 'each has one');
  read(known, opusLink(99, 1));
  t.equal(read(known, opusPages(100, 2, 10)).frames, 10, 'it came back since');
  t.equal(read(known, opusPages(101, 2, 10)).frames, 0);
  t.equal(read(known, opusPages(102, 2, 10)).frames, 10);
});

t.test('one that another process has gone on with is known there', async (t) => {
  const { framer } = read(undefined, opusLink(1, 20, 'TITLE=One'));
  const known = new KnownLinks();
  framerFor({ onFrame: () => undefined }, known).adopt(framer.state!);
  t.match(read(known, opusPages(1, 40, 20)), { frames: 20, titles: ['One'] });
});
