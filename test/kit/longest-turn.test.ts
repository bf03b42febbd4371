import t from 'tap';
import { longestTurnMs } from './longest-turn.js';

/** Turns with this CPU time each. */
const turns = (...ms: number[]) =>
  longestTurnMs(async () => {
    for (const each of ms) {
      const before = process.cpuUsage();
      for (let spent = 0; spent < each * 1000; ) {
        const { user, system } = process.cpuUsage(before);
        spent = user + system;
      }
      await new Promise((next) => setImmediate(next));
    }
  });

t.test('the longest, not the sum', async (t) => {
  const ms = await turns(10, 60, 10, 10, 10, 10, 10);
  t.ok(ms >= 60 && ms < 110, `${ms} ms`);
});
