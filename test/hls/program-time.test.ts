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
      time.note(inSegment * FRAME_MS, arrivalOf(ms));
      ms += FRAME_MS;
    }
    if (time.missingMs(inSegment * SAMPLES) !== 0) return Number.NaN;
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
  let maxMs = 0;
  for (let ms = 0; ms < 200_000; ms += FRAME_MS * 154) {
    time.note(0, ms + 20);
    time.close(154 * SAMPLES);
    maxMs = Math.max(maxMs, time.segmentMs - ms - FRAME_MS * 154);
  }
  t.ok(maxMs > 19 && maxMs < 21, `${maxMs}`);
});

t.test('encoders of ±100 ppm over hours: the date is that of arrival, and never begins anew', async (t) => {
  for (const drift of [0.0001, -0.0001]) {
    const time = new ProgramTime(0, RATE);
    const seconds = 4 * 3600;
    // Pieces of a quarter of a second.
    const offMs = run(time, seconds, (ms) => (ms - (ms % 250)) * (1 + drift));
    t.ok(Math.abs(offMs - seconds * 1000 * drift) < 15, `${drift}: ${offMs}`);
  }
});

/** A segment of about four seconds whose frames are so late. @returns by how much audio is missing */
function missing(time: ProgramTime, lateOf: (ms: number) => number): number {
  for (let i = 0; i < 154; i++) time.note(i * FRAME_MS, time.segmentMs + i * FRAME_MS + lateOf(i * FRAME_MS));
  return time.missingMs(154 * SAMPLES);
}

t.test('lateness that lasts is missing audio; what is made up is not, nor what gets worse', async (t) => {
  const cases: readonly [what: string, lateOf: (ms: number) => number, missingMs: number][] = [
    ['a second, and not more', () => 1000, 0],
    ['more', () => 1001, 1001],
    ['some milliseconds sooner and later', (ms) => 1500 + 40 * Math.sin(ms), 1540],
    ['pieces of a quarter of a second', (ms) => 1500 - (ms % 250), 1500],
    ['all at once', (ms) => 20_000 - ms, 0],
    ['twice as fast', (ms) => 20_000 - ms / 2, 0],
    ['a tenth faster', (ms) => 20_000 - ms / 11, 0],
    ['made up at last', (ms) => (ms < 3900 ? 1500 : 0), 0],
    ['made up, and late again', (ms) => (ms > 2000 && ms < 2100 ? 1000 : 5000), 5000],
    ['later and later', (ms) => 2000 + ms, 0],
    ['late from within its first second on', (ms) => (ms < 500 ? 0 : 1500), 1500],
    ['late by its end only', (ms) => (ms < 3000 ? 0 : 1500), 0],
    ['the clock is set back', () => -3_600_000, 0],
    ['and ahead', () => 3_600_000, 3_600_000],
  ];
  for (const [what, lateOf, expectedMs] of cases) {
    const missingMs = missing(new ProgramTime(0, RATE), lateOf);
    t.ok(Math.abs(missingMs - expectedMs) < 10, `${what}: ${missingMs}`);
  }
});

t.test('in pieces of ten seconds it is known within a minute', async (t) => {
  const time = new ProgramTime(0, RATE);
  let [ms, missedMs, missingMs] = [0, 0, 0];
  const segment = (lateMs: number): boolean => {
    const beginMs = ms;
    missingMs = missing(time, (inMs) => lateMs - ((beginMs + inMs) % 10_000));
    ms += 154 * FRAME_MS;
    if (missingMs === 0) time.close(154 * SAMPLES);
    return missingMs !== 0;
  };
  while (ms < 120_000) t.notOk(segment(0));
  while (missedMs < 120_000 && !segment(1500)) missedMs += 154 * FRAME_MS;
  t.ok(missedMs > 8000 && missedMs < 75_000, `${missedMs}`);
  t.ok(Math.abs(missingMs - 1500) < 150, `${missingMs}`);
});

t.test('what waited and came is no drift', async (t) => {
  const time = new ProgramTime(0, RATE);
  // Five seconds at once, after two minutes.
  const offMs = run(time, 300, (ms) => (ms >= 120_000 && ms < 125_000 ? 125_000 : ms));
  t.ok(Math.abs(offMs) < 5, `${offMs}`);
});

t.test('the sum of a million lengths is that of their samples', async (t) => {
  const time = new ProgramTime(0, RATE);
  let [sum, samples] = [0, 0];
  for (let i = 0; i < 1_000_000; i++) {
    const own = SAMPLES * (154 - (i % 3));
    samples += own;
    time.note(0, time.segmentMs);
    sum += time.close(own);
  }
  t.ok(Math.abs(sum - (samples / RATE) * 1e6) <= 1, `${sum}`);
});
