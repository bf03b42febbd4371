/** What the log says of channels without audio (once, then each minute, and when audio is back), of segments without a file, and of a wrong clock. */

import t from 'tap';
import { clockWatch, hlsWatch, silenceWatch } from '../../../src/app/hub/hub-watches.js';
import { keepLines } from '../../kit/log-lines.js';

t.test('channels without audio are one line: at 10 s, each minute, and at once where another is added', async (t) => {
  const { log, lines } = keepLines();
  const missing = new Map([...'ab'].map((key) => [key, { missingSinceMs: Number.POSITIVE_INFINITY }]));
  const watch = silenceWatch(missing, log);
  const at = (seconds: number) => {
    const before = lines.length;
    watch(seconds * 1000);
    return lines.slice(before).map(({ level, channels, longestSeconds }) => [level, channels, longestSeconds]);
  };
  t.strictSame(at(5), []);
  missing.get('a')!.missingSinceMs = 0;
  t.strictSame(at(9.9), []);
  t.strictSame(at(10), [['warn', ['a'], 10]]);
  t.strictSame(at(69.9), []);
  t.strictSame(at(70), [['warn', ['a'], 70]]);
  missing.get('b')!.missingSinceMs = 65_000;
  t.strictSame(at(75), [['warn', ['a', 'b'], 75]]);
  missing.get('a')!.missingSinceMs = Number.POSITIVE_INFINITY;
  t.strictSame(at(76), [['info', ['a'], undefined]]);
  missing.get('b')!.missingSinceMs = Number.POSITIVE_INFINITY;
  t.strictSame(at(200), [['info', ['b'], undefined]]);
  t.strictSame(at(300), []);
});

t.test('of a thousand channels a line names twenty', async (t) => {
  const { log, lines } = keepLines();
  silenceWatch(new Map(Array.from({ length: 1000 }, (_, i) => [`c${i}`, { missingSinceMs: 0 }])), log)(60_000);
  t.equal(lines.length, 1);
  t.equal(lines[0]!['count'], 1000);
  t.equal((lines[0]!['channels'] as string[]).length, 20);
});

t.test('segments that cannot be written: once for each reason, and when they can', async (t) => {
  const { log, lines } = keepLines();
  const faults = new Map<string, string>();
  const watch = hlsWatch(() => new Map(faults), log);
  const look = () => {
    const before = lines.length;
    watch();
    watch();
    return lines.slice(before).map(({ level, channels, reasons }) => [level, channels, reasons]);
  };
  t.strictSame(look(), []);
  faults.set('a', 'ENOSPC');
  t.strictSame(look(), [['error', ['a'], ['ENOSPC']]]);
  faults.set('b', 'EIO');
  t.strictSame(look(), [['error', ['a', 'b'], ['ENOSPC', 'EIO']]]);
  faults.delete('a');
  t.strictSame(look(), [['info', ['a'], undefined]]);
  faults.clear();
  t.strictSame(look(), [['info', ['b'], undefined]]);
});

t.test('a clock that is wrong is named each time that it is set, and when it is right again', async (t) => {
  const { log, lines } = keepLines();
  const clock = { skewMs: 0 };
  const watch = clockWatch(clock, log);
  const at = (skewMs: number) => {
    const before = lines.length;
    clock.skewMs = skewMs;
    watch();
    watch();
    return lines.slice(before).map(({ level, aheadSeconds }) => [level, aheadSeconds]);
  };
  t.strictSame(at(499), []);
  t.strictSame(at(-499), []);
  t.strictSame(at(500), [['warn', 0.5]]);
  t.strictSame(at(700), [], 'it drifts');
  t.strictSame(at(-600_000), [['warn', -600]]);
  t.strictSame(at(86_400_000), [['warn', 86_400]]);
  t.strictSame(at(3), [['info', undefined]]);
  t.strictSame(at(-3), []);
});
