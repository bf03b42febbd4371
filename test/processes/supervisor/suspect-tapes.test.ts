/** A hub that ended twice while it took a tape back starts without that tape. */

import t from 'tap';
import { SuspectTapes } from '../../../src/processes/supervisor/suspect-tapes.js';

type Ended = Parameters<SuspectTapes['onEnded']>[0];
const KILLED: Ended = { code: null, wasHanging: false };
const BROKEN: Ended = { code: 70, wasHanging: false };
const HANGING: Ended = { code: null, wasHanging: true };

class Story {
  nowMs = 1000;
  readonly tapes = new SuspectTapes(() => this.nowMs);

  /** A hub that takes these, one after the other, and lives for so long. @param isDone whether the last one is in place */
  hub(channels: readonly string[], isDone: boolean, livesMs: number, why = BROKEN): readonly string[] {
    this.tapes.begin();
    for (const channel of channels) this.tapes.onTakes({ type: 'takes', channel });
    if (isDone) this.tapes.onTakes({ type: 'takes', channel: null });
    this.nowMs += livesMs;
    this.tapes.onEnded(why);
    return this.tapes.channels;
  }
}

t.test('the tape that it was putting in place, twice', async (t) => {
  for (const why of [KILLED, BROKEN, HANGING]) {
    const story = new Story();
    t.same(story.hub(['a', 'b'], false, 10, why), [], 'once may be chance');
    t.same(story.hub(['b'], false, 10, why), ['b']);
    story.nowMs += 60_001;
    t.same(story.tapes.channels, [], 'later it is taken again');
  }
});

t.test('at the limit of a minute, and past it', async (t) => {
  const story = new Story();
  story.hub(['a'], false, 0);
  t.same(story.hub(['a'], false, 60_000), ['a']);
  const slow = new Story();
  slow.hub(['a'], false, 0);
  t.same(slow.hub(['a'], false, 60_001), []);
});

t.test('soon after, by its own error: all are suspect', async (t) => {
  const story = new Story();
  t.same(story.hub(['a', 'b'], true, 20_000), []);
  t.same(story.hub(['a', 'b', 'c'], true, 20_000), ['a', 'b']);
  const killed = new Story();
  for (let i = 0; i < 5; i++) t.same(killed.hub(['a'], true, 1000, KILLED), [], 'an operator has killed it');
  const late = new Story();
  for (let i = 0; i < 5; i++) t.same(late.hub(['a'], true, 60_001), [], 'it has done its work for a minute');
});

t.test('other tapes are taken all the while', async (t) => {
  const story = new Story();
  story.hub(['a'], false, 10);
  t.same(story.hub(['b'], false, 10), []);
  t.same(story.hub(['c', 'b'], false, 10), ['b']);
});
