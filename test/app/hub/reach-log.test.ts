/** What the log says of a Redis that is lost, stays away for other reasons, or refuses each change. */

import t from 'tap';
import { ReachLog } from '../../../src/app/hub/reach-log.js';
import type { Log } from '../../../src/base/log.js';
import { FakeClock } from '../../kit/clock.js';

function logged() {
  const lines: string[] = [];
  const clock = new FakeClock();
  const warn = ({ reason }: { reason: string }) => void lines.push(reason);
  const log = { warn, info: () => void lines.push('reached'), debug: warn, error: warn } as unknown as Log;
  const reach = new ReachLog(log, clock, 'a', 'Redis');
  /** Notes this so often, every 200 ms. */
  const note = (reason: string | null, times = 1) => {
    for (let i = 0; i < times; i++) {
      clock.spend(200);
      reach.note(reason === null ? null : new Error(reason));
    }
  };
  return { lines, note };
}

t.test('one line for each change', async (t) => {
  const { lines, note } = logged();
  note(null, 2);
  note('gone', 1000);
  note(null, 2);
  t.same(lines.splice(0), ['reached', 'gone', 'reached']);
  note('gone');
  note(null);
  t.same(lines, ['gone', 'reached'], 'the same again after minutes');
});

t.test('it stays away for another reason: said, and not for each attempt', async (t) => {
  const { lines, note } = logged();
  note('refused');
  note('wrong password', 100);
  t.same(lines, ['refused', 'wrong password']);
  for (let i = 0; i < 100; i++) note(i % 2 === 0 ? 'late' : 'closed');
  t.ok(lines.length <= 5, `${lines}`);
});

t.test('it refuses each change, and is reached again each time', async (t) => {
  const { lines, note } = logged();
  note(null);
  for (let i = 0; i < 100; i++) {
    note('out of memory');
    note(null);
  }
  t.same(lines.splice(0), ['reached', 'out of memory', 'reached']);
  note('out of memory', 100);
  t.same(lines, ['out of memory'], 'where it lasts, the last line is true');
  note(null);
  t.same(lines, ['out of memory', 'reached']);
});
