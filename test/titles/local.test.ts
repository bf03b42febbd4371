/** The engine of one process keeps the port's contract. */

import t from 'tap';
import { Sequence } from '../../src/feed/sequence.js';
import { takeNow } from '../../src/now-playing/effect.js';
import { makeTrack } from '../../src/now-playing/repeat.js';
import type { ChannelState } from '../../src/now-playing/state.js';
import { LocalEngine } from '../../src/titles/local.js';
import { stamped } from '../../src/titles/stamped.js';
import { MemoryStore } from '../kit/memory-store.js';
import { quietFor } from '../kit/pause.js';
import { SlowStore } from '../kit/slow-store.js';
import { type Bench, engineContract } from './engine-contract.js';

function open(): Bench {
  const store = new SlowStore();
  const deliver: Bench['onDeliver'] = (channel, change) => {
    bench.delivered.push({ channel, change });
    bench.onDeliver(channel, change);
  };
  const bench: Bench = {
    engine: new LocalEngine(store, deliver, () => undefined),
    delivered: [],
    committed: (channel) => store.load(channel)?.version ?? 0,
    pause: () => store.pause(),
    fail: (failing) => {
      store.failing = failing;
    },
    onDeliver: () => undefined,
  };
  return bench;
}

t.test('local', (t) => engineContract(t, open));

t.test('local, stamped', (t) =>
  engineContract(t, () => {
    const bench = open();
    const engine = stamped(bench.engine, new Sequence(), () => 1);
    return Object.assign(bench, { engine });
  }),
);

t.test('local: a change whose channel a reload removes while it waits for its turn is refused', async (t) => {
  const store = new SlowStore();
  const channels = new Set(['a']);
  const delivered: string[] = [];
  const engine = new LocalEngine(
    store,
    (channel) => void delivered.push(channel),
    () => undefined,
    (channel) => channels.has(channel),
  );
  const go = store.pause();
  const at = { channel: 'a', wallMs: 1, newId: () => '', ageMs: () => 0 };
  const push = () =>
    engine.update('a', (state) => takeNow(state, makeTrack({ type: 'now', artist: '', song: 's' }, 'id', 1), at));
  const [first, second] = [push(), push()];
  await quietFor(20);
  channels.delete('a');
  go();
  await first;
  await t.rejects(second, /There is no such channel/);
  t.strictSame(delivered, ['a'], 'the one that was being saved');
  channels.add('a');
  await push();
  t.equal(engine.state('a').version, 2);
});

t.test('local: the state and its history are one save; a new engine goes on from it', async (t) => {
  const store = new MemoryStore();

  const engine = new LocalEngine(
    store,
    () => undefined,
    () => undefined,
  );
  const track = makeTrack({ type: 'now', artist: '', song: 's' }, 'id', 1);
  const at = { channel: 'a', wallMs: Date.now(), newId: () => '', ageMs: () => 0 };
  await engine.update('a', (state) => takeNow(state, track, at));
  t.match(store.history('a', { limit: 9 }), [{ record: { song: 's' }, toMs: null }]);
  t.equal(
    new LocalEngine(
      store,
      () => undefined,
      () => undefined,
    ).state('a').now?.song,
    's',
  );
});

t.test('stamped: a new engine gives no stamp twice, though its clock stands further back', async (t) => {
  const store = new MemoryStore();
  const engineAt = (wallMs: number) => {
    const local = new LocalEngine(
      store,
      () => undefined,
      () => undefined,
    );
    return stamped(local, new Sequence(), () => wallMs);
  };
  const at = { channel: 'a', wallMs: 1, newId: () => '', ageMs: () => 0 };
  const play = (song: string) => (state: ChannelState) =>
    takeNow(state, makeTrack({ type: 'now', artist: '', song }, song, 1), at);
  const before = await engineAt(5000).update('a', play('one'));
  t.equal(before!.record!.stamp, 5000);
  const engine = engineAt(1000);
  t.equal(engine.state('a').stamp, 5000, 'as a server does at its start');
  t.equal((await engine.update('a', play('two')))!.record!.stamp, 5001);
});
