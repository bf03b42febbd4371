/** Encoders that the hub has taken over count for their addresses in every worker. */

import { Socket } from 'node:net';
import t from 'tap';
import { HubConnections } from '../../../src/app/hub/hub-connections.js';
import { JoinedProcesses } from '../../kit/joined.js';

t.test('from when the hub has the socket until it has closed', async (t) => {
  const joined = new JoinedProcesses(1);
  const [worker] = joined.all;
  const { tallies } = worker!;
  const connections = new HubConnections(joined.tallies);
  const others = () => {
    joined.exchange();
    return [tallies.all.others('connections'), tallies.tally('connections').others('192.0.2.1')];
  };
  const [first, second] = [new Socket(), new Socket()];
  connections.take(first, '::ffff:192.0.2.1');
  connections.take(second, '192.0.2.1');
  t.same(others(), [2, 2]);
  for (const socket of [first, second]) {
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.destroy();
    await closed;
  }
  t.same(others(), [0, 0]);
});
