/** What one channel of a node keeps while its changes wait to be sent. */

import t from 'tap';
import type { Unsent } from '../../../src/cluster/titles/ordered.js';
import { SharedChannel } from '../../../src/cluster/titles/shared-channel.js';
import type { ChannelState, HistoryEntry } from '../../../src/now-playing/state.js';
import { play } from '../../kit/cluster.js';
import { MemoryStore } from '../../kit/memory-store.js';

t.test(
  'what waits is bounded in size too, since all of it is written with each change; the newest is never dropped',
  async (t) => {
    let longest = 0;
    const store = new (class extends MemoryStore {
      override save(channel: string, state: ChannelState, history?: readonly HistoryEntry[]): Promise<void> {
        longest = Math.max(longest, JSON.stringify(state).length);
        return super.save(channel, state, history);
      }
    })();
    let dropped = 0;
    const shared = new SharedChannel({
      channel: 'x',
      store,
      maxUnsent: 100,
      lastStamp: () => 0,
      deliver: () => undefined,
      onUnsaved: (error) => t.fail(String(error)),
      onDropped: () => dropped++,
      onBad: (place, reason) => t.fail(`${place} ${reason}`),
    });
    const push = (i: number, bytes: number) =>
      shared.commitHere((state) => {
        const change = play('x', `${i}`, `${i}`, 1_795_178_248_000 + i * 1000)(state)!;
        const now = { ...change.state.now!, extdata: JSON.stringify({ a: 'x'.repeat(bytes) }) };
        const history = change.history.map((row) => (row.toMs === null ? { ...row, record: now } : row));
        const decided = { atMs: i, node: 'a' };
        return { change: { ...change, record: now, state: { ...change.state, now }, history }, id: `${i}`, decided };
      });
    for (let i = 1; i <= 100; i++) await push(i, 100);
    t.equal(shared.unsent.length, 100, 'as many as are usual');
    t.equal(dropped, 0);
    for (let i = 101; i <= 200; i++) await push(i, 16_000);
    t.equal(shared.unsent.at(-1)?.id, '200');
    t.ok(shared.unsent.length < 20, `${shared.unsent.length} large ones`);
    t.equal(dropped, 200 - shared.unsent.length);
    t.ok(longest < 1_500_000, `${longest} characters are written at once`);
    await push(201, 16_000_000);
    t.same(
      shared.unsent.map(({ id }: Unsent) => id),
      ['201'],
    );
  },
);
