/** A shared log that answers what it must not: it counts as lost, is not asked without a pause, and the reason is named. */

import t from 'tap';
import { ClusterTime } from '../../../src/cluster/cluster-time.js';
import { HeldLog } from '../../../src/cluster/log/held-log.js';
import type { SharedLog } from '../../../src/cluster/log/shared-log.js';
import { NodeLink } from '../../../src/cluster/titles/node-link.js';
import { FakeClock } from '../../kit/clock.js';
import { quietFor } from '../../kit/pause.js';
import { until } from '../../kit/until.js';

t.test('a log that does not wait for entries, as a server that is none of Redis', async (t) => {
  const held = new HeldLog();
  const lost: string[] = [];
  let asked = 0;
  const link = new NodeLink({
    open: async (onLost) => {
      const log: SharedLog = held.open(onLost);
      log.entriesAfter = async () => {
        asked++;
        return [];
      };
      return log;
    },
    position: () => ({ epoch: '', seq: 0, id: '' }),
    channels: () => [],
    isWhole: () => true,
    lastStamp: () => 0,
    onJoined: () => undefined,
    onPast: async () => undefined,
    onEntry: () => t.fail('there is no entry'),
    onLost: ({ message }) => void lost.push(message),
    onCaughtUp: () => undefined,
    time: new ClusterTime(new FakeClock(), 0),
  });
  t.teardown(() => link.close());
  await link.start();
  await until(() => lost.length === 1, 5000);
  t.match(lost, [/before its log has an entry/]);
  await quietFor(1000);
  t.ok(asked < 10, `it was asked ${asked} times`);
});
