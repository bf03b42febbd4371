/** Lines about refusals: each address has one, and a refused client fills neither disk nor memory. */

import t from 'tap';
import type { Log } from '../../src/base/log.js';
import { RefusalLog } from '../../src/base/refusal-log.js';
import { FakeClock } from '../kit/clock.js';

type Line = Readonly<Record<string, unknown>>;

function bench(limits: { perSecond: number; remembered: number }) {
  const lines: Line[] = [];
  const clock = new FakeClock();
  const warn = (fields: Line, msg: string) => void lines.push({ ...fields, msg });
  const log = new RefusalLog({ warn } as unknown as Log, clock, limits);
  const refuse = (address: string, reason = 'wrong secret') =>
    log.warn({ address, reason, status: 403 }, 'push refused');
  return { lines, clock, refuse };
}

t.test('each address has a line at once, and one a second; the next one counts the others', async (t) => {
  const { lines, clock, refuse } = bench({ perSecond: 100, remembered: 100 });
  for (let i = 0; i < 50; i++) {
    refuse('192.0.2.1');
    refuse(`2001:db8::${i}`);
  }
  refuse('192.0.2.2');
  refuse('192.0.2.1', 'too many wrong secrets');
  t.match(lines, [
    { address: '192.0.2.1', reason: 'wrong secret', status: 403, suppressed: undefined, msg: 'push refused' },
    { address: '2001:db8::0' },
    { address: '192.0.2.2' },
    { address: '192.0.2.1', reason: 'too many wrong secrets' },
  ]);
  t.equal(lines.length, 4);
  t.same(Object.keys(lines[0]!).slice(0, 2), ['address', 'reason'], 'before all that strangers wrote');
  clock.advance(999);
  refuse('192.0.2.1');
  t.equal(lines.length, 4, 'none before the second is over');
  clock.advance(1);
  refuse('192.0.2.1');
  t.equal(lines.length, 5);
  t.match(lines[4], { address: '192.0.2.1', suppressed: 50 });
});

t.test('so many lines a second in all, and one past it is counted', async (t) => {
  const { lines, clock, refuse } = bench({ perSecond: 5, remembered: 3 });
  let asked = 0;
  for (let ms = 0; ms < 2500; ms += 10) {
    for (let i = 0; i < 100; i++) refuse(`10.0.${asked >> 8}.${asked++ & 255}`);
    clock.advance(10);
  }
  t.equal(lines.length, 15, 'in two and a half seconds');
  const count = (name: string) => lines.reduce((sum, line) => sum + Number(line[name] ?? 0), 0);
  t.ok(count('suppressedOthers') > asked / 3, 'the others are counted');
  t.ok(lines.length + count('suppressed') + count('suppressedOthers') <= asked);
});
