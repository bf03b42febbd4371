/** The clock of a player: where it is by what was written, acknowledged and reported. Pure. */

import t from 'tap';
import { PlayerClock } from '../../../src/listener/player/player-clock.js';

/** 16 bytes a millisecond. */
function write(player: PlayerClock, toMs: number, nowMs: number): void {
  player.write(toMs, (toMs - player.writtenMs) * 16, nowMs);
}

t.test('it plays in real time what is written, and no more', async (t) => {
  const player = new PlayerClock();
  player.begin(1000);
  write(player, 5000, 1000);
  t.equal(player.positionAt(1000), 0);
  t.equal(player.positionAt(4000), 3000);
  t.equal(player.positionAt(60_000), 5000);
  t.equal(player.dueMs(3000, 1000), 4000);
  t.equal(player.dueMs(5001, 1000), Number.POSITIVE_INFINITY, 'not before it is written');
});

t.test('what is written late was silence: it does not catch up', async (t) => {
  const player = new PlayerClock();
  player.begin(0);
  write(player, 2000, 0);
  write(player, 3000, 1500);
  t.equal(player.positionAt(2500), 2500, 'in time');
  write(player, 9000, 4000);
  t.equal(player.positionAt(4000), 3000, 'silent for a second');
  t.equal(player.positionAt(5000), 4000);
});

t.test('a browser begins with its first whole block, and stands still until the next one is whole', async (t) => {
  const player = new PlayerClock(32_768);
  player.begin(0);
  write(player, 2000, 0);
  t.equal(player.positionAt(500), 0, '32,000 bytes');
  t.equal(player.dueMs(100, 0), Number.POSITIVE_INFINITY);
  write(player, 3000, 1000);
  t.equal(player.positionAt(1000), 0);
  t.equal(player.positionAt(2000), 1000);
  t.equal(player.dueMs(2048, 2000), 3048);
  t.equal(player.dueMs(2049, 2000), Number.POSITIVE_INFINITY, 'it lies in the second block');
  write(player, 4096, 4000);
  t.equal(player.positionAt(4000), 2048, 'silent from 3048 to 4000');
});

t.test('what it had at the last sample holds titles back until the next one, and not for ever', async (t) => {
  const player = new PlayerClock();
  player.begin(0);
  write(player, 5000, 0);
  player.limit(1000, 2000);
  player.had(1000, 3000);
  t.equal(player.positionAt(2000), 1000);
  t.equal(player.dueMs(1000, 2000), 2000);
  t.equal(player.dueMs(1001, 2000), 3000, 'not known before');
  t.equal(player.dueMs(1001, 3000), 2001);
  player.limit(4000, 2500);
  t.equal(player.positionAt(2500), 1500, 'it never moves forwards');
});

t.test('a report moves it both ways, within what was written', async (t) => {
  const player = new PlayerClock();
  player.begin(0);
  write(player, 5000, 0);
  t.equal(player.report(5001, 1000), false);
  t.equal(player.report(-0.001, 1000), false);
  t.equal(player.positionAt(1000), 1000, 'nothing has changed');
  t.equal(player.report(5000, 1000), true);
  t.equal(player.positionAt(1000), 5000);
  t.equal(player.report(0, 2000), true);
  t.equal(player.positionAt(2500), 500);
});

t.test('for ten seconds only reports count, then the model again, from there', async (t) => {
  const player = new PlayerClock(32_768);
  player.begin(0);
  write(player, 20_000, 0);
  player.report(1500, 1000);
  player.limit(0, 10_999);
  player.had(0, 12_000);
  t.equal(player.positionAt(10_999), 11_499);
  t.equal(player.dueMs(20_000, 10_999), 19_500, 'also in a block that is not whole');
  player.limit(0, 11_000);
  t.equal(player.positionAt(11_000), 0);
  player.begin(0);
  t.equal(player.positionAt(1000), 1000, 'a beginning forgets what was reported before it');
});

t.test('an estimate counts until the first report, and never past what was written', async (t) => {
  const player = new PlayerClock();
  player.begin(0);
  write(player, 5000, 0);
  player.estimate(2000, 1000);
  t.equal(player.positionAt(1500), 2500);
  player.estimate(1000, 1500);
  t.equal(player.positionAt(1500), 1000, 'the next one counts');
  t.equal(player.positionAt(60_000), 5000);
  t.ok(player.report(3000, 2000));
  player.estimate(0, 2000);
  t.equal(player.positionAt(2000), 3000);
  player.estimate(0, 30_000);
  t.equal(player.positionAt(3000), 4000, 'for good');
  player.begin(40_000);
  player.estimate(10, 40_000);
  t.equal(player.positionAt(40_000), 10, 'but for a beginning');
});
