/** The stated wall time against arrival: pieces, drift, silence, clocks that are set; and the sum of all lengths against the samples. */

import t from 'tap';
import { ProgramTime } from '../../src/hls/program-time.js';

const RATE = 44_100;
const SAMPLES = 1152;
const FRAME_MS = (SAMPLES * 1000) / RATE;

/** Frames come in as `arrivalOf` says, in segments of about four seconds. @returns the stated time of the last, less its audio's own */
function run(time: ProgramTime, seconds: number, arrivalOf: (ms: number) => number): number {
  let ms = 0;
  while (ms < seconds * 1000) {
    let inSegment = 0;
    for (; inSegment < 154; inSegment++) {
      if (!time.takes(inSegment * FRAME_MS, arrivalOf(ms))) return Number.NaN;
      ms += FRAME_MS;
    }
    time.close(inSegment * SAMPLES);
  }
  return time.segmentMs - ms;
}

t.test('pieces of ten seconds, as an upstream may send them: it stays where it began', async (t) => {
  const time = new ProgramTime(1000, RATE);
  t.ok(Math.abs(run(time, 600, (ms) => 1000 + ms - (ms % 10_000)) - 1000) < 50);
});

t.test('an encoder that drifts is followed', async (t) => {
  for (const drift of [0.0005, -0.0005]) {
    const time = new ProgramTime(0, RATE);
    const offMs = run(time, 3600, (ms) => ms * (1 + drift));
    t.ok(Math.abs(offMs - 3_600_000 * drift) < 50, `${drift}: ${offMs}`);
  }
});

t.test('what is later by some milliseconds is not corrected by more than these', async (t) => {
  const time = new ProgramTime(0, RATE);
  let mostMs = 0;
  for (let ms = 0; ms < 200_000; ms += FRAME_MS * 154) {
    time.takes(0, ms + 20);
    time.close(154 * SAMPLES);
    mostMs = Math.max(mostMs, time.segmentMs - ms - FRAME_MS * 154);
  }
  t.ok(mostMs > 19 && mostMs < 21, `${mostMs}`);
});

t.test('where more than a second is missing it ends; where the clock is set back it goes on', async (t) => {
  const time = new ProgramTime(0, RATE);
  t.ok(time.takes(0, 999));
  t.notOk(time.takes(FRAME_MS, 1100));
  t.ok(time.takes(FRAME_MS, -3_600_000));
  time.close(44_100 * 4);
  t.ok(time.segmentMs >= 4000 - 4, `${time.segmentMs}`);
});

t.test('the sum of a million lengths is that of their samples', async (t) => {
  const time = new ProgramTime(0, RATE);
  let [sum, samples] = [0, 0];
  for (let i = 0; i < 1_000_000; i++) {
    const own = SAMPLES * (154 - (i % 3));
    samples += own;
    time.takes(0, time.segmentMs);
    sum += time.close(own);
  }
  t.ok(Math.abs(sum - (samples / RATE) * 1e6) <= 1, `${sum}`);
});
