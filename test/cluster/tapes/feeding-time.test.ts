/** Until when an owner feeds: at each bound, and one past it. */

import t from 'tap';
import { FeedingTime } from '../../../src/cluster/tapes/feeding-time.js';
import { KNOWN_MS } from '../../../src/cluster/tapes/leases.js';

const TICK_MS = 100;
const STILL_MS = 500;
const ALONE_MS = 3000;

/** Ticks up to this moment. */
class Owner {
  readonly feeding: FeedingTime;
  nowMs = 0;
  isReached = true;
  stoodStill = 0;

  constructor(isFenced = true) {
    this.feeding = new FeedingTime(isFenced, 0);
  }

  get feeds(): boolean {
    return this.feeding.untilMs(this.nowMs) >= this.nowMs;
  }

  run(untilMs: number): this {
    while (this.nowMs < untilMs) {
      this.nowMs = Math.min(untilMs, this.nowMs + TICK_MS);
      if (this.feeding.tick(this.nowMs, this.isReached)) this.stoodStill++;
    }
    return this;
  }
}

t.test('it feeds for as long as it has known of its lease', async (t) => {
  const owner = new Owner().run(1000);
  owner.feeding.onMine(1000, 1010);
  t.ok(owner.run(1000 + KNOWN_MS).feeds);
  t.notOk(owner.run(1000 + KNOWN_MS + 1).feeds);
  owner.feeding.onMine(owner.nowMs, owner.nowMs);
  t.ok(owner.feeds);
  t.equal(owner.stoodStill, 0);
});

t.test(
  'one that stood still feeds when an answer comes to what it asks then, not to what it asked before',
  async (t) => {
    for (const seesAnswerFirst of [true, false]) {
      const owner = new Owner().run(1000);
      owner.feeding.onMine(1000, 1000);
      const wokenMs = 1000 + STILL_MS + 1;
      if (!seesAnswerFirst) owner.feeding.tick(wokenMs, true);
      owner.nowMs = wokenMs;
      owner.feeding.onMine(1000, wokenMs);
      t.notOk(owner.feeds);
      owner.run(wokenMs + 300);
      t.equal(owner.stoodStill, seesAnswerFirst ? 1 : 0, 'it asks at once');
      t.notOk(owner.feeds);
      owner.feeding.onMine(wokenMs, owner.nowMs);
      t.ok(owner.feeds);
    }
  },
);

t.test('so long a time between two looks is not standing still', async (t) => {
  const owner = new Owner().run(1000);
  owner.feeding.onMine(1000, 1000);
  t.equal(owner.feeding.untilMs(1000), 1000 + STILL_MS, 'until then it need not look');
  owner.nowMs = 1000 + STILL_MS;
  t.ok(owner.feeds);
  t.notOk(owner.feeding.tick(owner.nowMs, true));
});

t.test('without Redis it feeds on; not where it stood still, for a while', async (t) => {
  const owner = new Owner().run(1000);
  owner.feeding.onMine(1000, 1000);
  owner.isReached = false;
  t.ok(owner.run(20_000).feeds, 'it is as it was');
  owner.nowMs += STILL_MS + 1;
  const wokenMs = owner.nowMs;
  t.notOk(owner.feeds);
  owner.feeding.tick(wokenMs, false);
  t.notOk(owner.run(wokenMs + ALONE_MS).feeds);
  t.ok(owner.run(wokenMs + ALONE_MS + TICK_MS).feeds);
});

t.test('where Redis may take too long to answer, it is not asked for', async (t) => {
  const owner = new Owner(false);
  owner.nowMs = 1_000_000;
  t.equal(owner.feeding.untilMs(owner.nowMs), Number.POSITIVE_INFINITY);
  t.notOk(owner.feeding.tick(owner.nowMs, false));
});
