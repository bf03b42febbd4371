/** What an act leaves in the log is short, however much was sent. */

import t from 'tap';
import { auditDone } from '../../src/http/audit.js';
import { keepLines } from '../kit/log-lines.js';

const ACTOR = { name: 'ann', address: '192.0.2.1' };

t.test('long lists and long texts in them are cut, short ones are as they are', (t) => {
  const { log, lines } = keepLines();
  const ids = Array.from({ length: 1000 }, (_, i) => `${i}${'"'.repeat(1000)}`);
  auditDone(log, ACTOR, 'end listeners', { ids, ignored: ['a', 'b'], ended: 1000 });
  const [line] = lines;
  t.match(line, { user: 'ann', act: 'end listeners', ignored: ['a', 'b'], ended: 1000, outcome: 'done' });
  const kept = line!['ids'] as string[];
  t.same(kept, [...ids.slice(0, 20).map((id) => id.slice(0, 500)), 'and 980 more']);
  t.end();
});

t.test('a list of as many as there may be', (t) => {
  const { log, lines } = keepLines();
  const ids = Array.from({ length: 20 }, (_, i) => `3-${i}`);
  auditDone(log, ACTOR, 'end listeners', { ids });
  t.same(lines[0]!['ids'], ids);
  t.end();
});
