/** Where tones change, found in samples whose changes are known. */

import t from 'tap';
import { findChanges } from '../../../bench/truth/changes.js';
import { BANDS, render, schedule, TONES } from '../../../bench/truth/tones.js';

const RATE = 24_000;
const SECONDS = 30;

function tonesOf(band: number, restless = false): { pcm: Int16Array; changes: number[] } {
  const changes = schedule(band, SECONDS, 0).map((ms) => Math.round((ms * RATE) / 1000));
  const bytes = render({ band, sampleRate: RATE, samples: SECONDS * RATE, changes, restless });
  return { pcm: new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1), changes };
}

const ms = (samples: number) => (samples * 1000) / RATE;

t.test('each band is found among all the others, to the millisecond', async (t) => {
  const bands = Array.from({ length: BANDS }, (_, band) => tonesOf(band, band === 1));
  const mixed = new Int16Array(SECONDS * RATE);
  for (const { pcm } of bands) for (const [i, sample] of pcm.entries()) mixed[i]! += sample;
  for (const [band, { changes }] of bands.entries()) {
    const [first, ...found] = findChanges(mixed, RATE, band);
    t.match(first, { tone: 0, afterSilence: true });
    t.same(
      found.map(({ tone, afterSilence }) => [tone, afterSilence]),
      changes.map((_, i) => [(i + 1) % TONES, false]),
      `band ${band}`,
    );
    const most = Math.max(...found.map(({ at }, i) => Math.abs(ms(at - changes[i]!))));
    t.ok(most < 2, `band ${band}: ${most} ms`);
  }
});

t.test('silence is not a change, and a tone behind it says so', async (t) => {
  const { pcm, changes } = tonesOf(0);
  // In the midst of a tone, and over the begin of another.
  pcm.fill(0, changes[1]! + 0.5 * RATE, changes[1]! + RATE);
  pcm.fill(0, changes[4]! - 0.2 * RATE, changes[4]! + 0.3 * RATE);
  const found = findChanges(pcm, RATE, 0).slice(1);
  t.equal(found.length, changes.length);
  t.same(found.map(({ afterSilence }) => afterSilence).indexOf(true), 4);
  t.equal(found.filter(({ afterSilence }) => afterSilence).length, 1);
});

t.test('nothing is found where nothing is', async (t) => {
  t.same(findChanges(new Int16Array(RATE), RATE, 0), []);
  t.same(findChanges(tonesOf(3).pcm, RATE, 5), [], 'another band');
});
