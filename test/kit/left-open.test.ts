/** The report of what keeps a process from ending. */

import t from 'tap';
import { leftOpen } from './left-open.mjs';

t.test('a timer is told by what it calls', async (t) => {
  const forgotten = () => 'a forgotten step';
  const timer = setInterval(forgotten, 12_345);
  t.teardown(() => clearInterval(timer));
  clearInterval(setInterval(() => 'over', 12_346));
  setInterval(() => 'nobody waits for it', 12_347).unref();
  const said = leftOpen(process.getActiveResourcesInfo()).join('\n');
  t.match(said, /Timeout of 12345 ms, again and again: .*a forgotten step/);
  t.notMatch(said, /12346|12347/);
});
