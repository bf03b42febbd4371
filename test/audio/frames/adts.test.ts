/**
 * A stretched ADTS frame: as long as was asked, its raw data block as it was, and nothing but whole fill elements in front of it, as a
 * reader made from the syntax tables sees it (ISO 13818-7, tables 6.2 to 6.12).
 */

import t from 'tap';
import { canStretch, stretchFrame } from '../../../src/audio/frames/adts.js';
import { emptyHeader, isAdts, MAX_FRAME_BYTES, readHeader } from '../../../src/audio/frames/header.js';
import { adtsFrame, readFilled } from '../../kit/adts.js';
import { Random } from '../../kit/random.js';

t.test('every length can be reached', async (t) => {
  const random = new Random();
  const { frame, block } = adtsFrame(random, 300, {});
  const wrong: number[] = [];
  const most = MAX_FRAME_BYTES - frame.length;
  // A fill element is full at 270 bytes, a group of eight at 2,167.
  const lengths = [2167, 4334, 6501].flatMap((full) => [full - 1, full, full + 1, full + 2, full + 300]);
  for (let by = 7; by < 600; by++) lengths.push(by);
  for (let i = 0; i < 100; i++) lengths.push(random.int(600, most));
  for (const by of [...lengths, most]) {
    const out = Buffer.concat([random.bytes(by), frame]);
    stretchFrame(out, by);
    const read = readFilled(out);
    if (read.lengthBytes !== out.length || !read.block.equals(block)) wrong.push(by);
  }
  t.same(wrong, [], `seed ${random.seed}`);
  t.ok(canStretch(frame, MAX_FRAME_BYTES - frame.length), 'up to the longest frame');
  t.notOk(canStretch(frame, MAX_FRAME_BYTES - frame.length + 1), 'and not past it');
  t.ok(canStretch(frame, 7), 'eight empty fill elements');
  t.notOk(canStretch(frame, 6));
});

t.test('a CRC goes, since it covers the header; the fixed header stays', async (t) => {
  const random = new Random();
  const { frame, block } = adtsFrame(random, 200, { hasCrc: true });
  const out = Buffer.concat([Buffer.alloc(50), frame]);
  stretchFrame(out, 50);
  t.ok(readFilled(out).block.equals(block));
  const [before, after] = [emptyHeader(), emptyHeader()];
  t.ok(readHeader(frame, 0, before) && readHeader(out, 0, after));
  t.match(after, { ...before, lengthBytes: frame.length + 50 });
  t.notOk(canStretch(adtsFrame(random, 200, { hasCrc: true, blocks: 2 }).frame, 50), 'each block has a CRC of its own');
  t.ok(canStretch(adtsFrame(random, 200, { blocks: 2 }).frame, 50));
  t.ok(isAdts(frame, 0));
  t.notOk(isAdts(Buffer.from([0xff, 0xfb, 0x90, 0]), 0), 'MP3');
});
