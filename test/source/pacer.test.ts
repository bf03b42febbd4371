/** A source that sends too much is held to real time; one whose clock is a little fast, as that of a sound card, never is. */

import t from 'tap';
import { AirPacer, Pacer } from '../../src/source/pacer.js';

const AHEAD_MS = 10_000;
const FRAME_MS = 26;
const DAY_MS = 86_400_000;

const PACERS = {
  'a source': () => new Pacer({ aheadMs: AHEAD_MS }),
  'what is on air': () => new AirPacer({ aheadMs: AHEAD_MS, burstMs: 5000 }),
};

for (const [name, make] of Object.entries(PACERS)) {
  t.test(`${name}: a clock that is a little fast is not held, however long it runs`, async (t) => {
    for (const perMillion of [0, 20, 50, 100, 150]) {
      const pacer = make();
      // Many begin with a burst.
      let heldMs = pacer.book(5000, 0);
      for (let ms = 0; ms < 30 * DAY_MS; ms += 1000)
        heldMs = Math.max(heldMs, pacer.book(1000 + perMillion / 1000, ms));
      t.equal(heldMs, 0, `${perMillion} parts in a million`);
      t.ok(pacer.aheadMs(30 * DAY_MS) >= 0, 'and does not count as late');
    }
  });

  t.test(`${name}: as fast as the network takes it, it is held to real time`, async (t) => {
    const pacer = make();
    let [nowMs, audioMs, longestMs] = [0, 0, 0];
    while (audioMs < DAY_MS) {
      const waitMs = pacer.book(FRAME_MS, nowMs);
      longestMs = Math.max(longestMs, waitMs);
      nowMs += waitMs;
      audioMs += FRAME_MS;
    }
    t.ok(longestMs <= FRAME_MS, `${longestMs} ms`);
    const fasterMs = audioMs - nowMs - AHEAD_MS;
    t.ok(fasterMs < 20_000, `${Math.round(fasterMs)} ms faster in a day`);
  });
}
