/** A segment as decoders and apps read it: one tag, then the frames as they are. */

import t from 'tap';
import { packedSegment, timestampAt } from '../../src/hls/packed.js';
import { readPacked } from '../kit/hls-channel.js';
import { numberedFrame } from '../kit/numbered.js';

const TITLE = {
  id: 'a.1',
  title: 'Pata Pata',
  artist: 'Miriam Makeba',
  album: '',
  record: '4711',
  etype: 0,
  durationSeconds: 0,
};

t.test('a tag with timestamp and title, then the frames as they are', async (t) => {
  const frames = Buffer.concat([numberedFrame(1), numberedFrame(2)]);
  const { tag, audio } = readPacked(packedSegment(900_000, TITLE, frames));
  t.strictSame(tag, { PRIV: '900000', TIT2: 'Pata Pata', TPE1: 'Miriam Makeba', TXXX: '4711' });
  t.ok(audio.equals(frames));
  const whole = readPacked(packedSegment(1, { ...TITLE, album: 'Live', artist: 'Зымфира — 🎵' }, frames)).tag;
  t.strictSame([whole['TALB'], whole['TPE1']], ['Live', 'Зымфира — 🎵']);
});

t.test('no title, and one without words', async (t) => {
  const frames = numberedFrame(1);
  t.strictSame(readPacked(packedSegment(0, null, frames)).tag, { PRIV: '0' });
  const nothing = { ...TITLE, title: '', artist: '', record: '' };
  t.strictSame(readPacked(packedSegment(0, nothing, frames)).tag, { PRIV: '0' });
});

t.test('a tag of 128 bytes and more: its size has seven bits a byte', async (t) => {
  const title = '€'.repeat(300);
  const { tag, audio } = readPacked(packedSegment(5, { ...TITLE, title }, numberedFrame(3)));
  t.equal(tag['TIT2'], title);
  t.ok(audio.equals(numberedFrame(3)));
});

t.test('timestamps of 33 bits begin again, 26.5 hours later', async (t) => {
  const startMs = 1_795_741_941_123;
  const wrap = 2 ** 33;
  t.equal(timestampAt(startMs, 0), (startMs * 90) % wrap);
  const untilWrap = (wrap - timestampAt(startMs, 0)) / 90_000;
  t.equal(timestampAt(startMs, untilWrap), 0);
  t.equal(timestampAt(startMs, untilWrap + 4), 360_000);
  t.ok(timestampAt(startMs, untilWrap - 1 / 90_000) === wrap - 1);
});
