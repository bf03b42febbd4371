/** What every implementation of the port src/titles/engine.ts keeps. Run by local.test.ts, and by others when they come. */

import type { Test } from 'tap';
import { Refusal } from '../../src/base/refusal.js';
import { type Moment, takeNow } from '../../src/now-playing/effect.js';
import { makeTrack } from '../../src/now-playing/repeat.js';
import { type Change, type ChannelState, EMPTY_STATE } from '../../src/now-playing/state.js';
import type { Engine } from '../../src/titles/engine.js';
import { quietFor } from '../kit/pause.js';

/** An engine under test, with what it delivered, and a handle on its store. */
export interface Bench {
  readonly engine: Engine;
  readonly delivered: { readonly channel: string; readonly change: Change }[];
  /** The version that a crash would leave. */
  committed(channel: string): number;
  /** Commits wait until the function that comes back is called. */
  pause(): () => void;
  /** From now on commits fail, or no longer. */
  fail(failing: boolean): void | Promise<void>;
  /** Runs at every delivery, before the engine goes on. */
  onDeliver: (channel: string, change: Change) => void;
}

const at = (channel: string): Moment => ({ channel, wallMs: 1_795_178_248_000, newId: () => 'made', ageMs: () => 0 });
const play = (channel: string, song: string) => (state: ChannelState) =>
  takeNow(state, makeTrack({ type: 'now', artist: '', song }, song, 1_795_178_248), at(channel));

export async function engineContract(t: Test, open: () => Bench | Promise<Bench>): Promise<void> {
  t.test('a change is decided on committed ground, committed, delivered, answered: in this order', async (t) => {
    const bench = await open();
    const { engine, delivered } = bench;
    t.same(engine.state('a'), EMPTY_STATE);
    const go = bench.pause();
    let answered = false;
    const update = engine.update('a', play('a', 's')).then((change) => {
      answered = true;
      return change;
    });
    await quietFor(20);
    t.same(delivered, [], 'nothing is delivered before its commit');
    t.equal(engine.state('a').version, 0, 'nor is it in force');
    bench.onDeliver = () => {
      t.equal(bench.committed('a'), 1);
      t.equal(answered, false);
    };
    go();
    const change = await update;
    t.equal(delivered.length, 1, 'answered after delivery');
    t.equal(delivered[0]!.change, change);
    t.equal(engine.state('a'), change!.state);
    t.equal(await engine.update('a', () => null), null, 'nothing to change');
    t.equal(delivered.length, 1);
    t.equal(bench.committed('a'), 1);
    await engine.close();
  });

  t.test(
    'many changes of many channels: each sees the one before, versions rise by one, channels do not wait',
    async (t) => {
      const { engine, delivered } = await open();
      const channels = Array.from({ length: 20 }, (_, i) => `c${i}`);
      const updates = Array.from({ length: 30 }, (_, i) =>
        channels.map((channel) => engine.update(channel, play(channel, `${i}`))),
      );
      await Promise.all(updates.flat());
      for (const channel of channels) {
        const own = delivered.filter((one) => one.channel === channel).map((one) => one.change);
        t.same(
          own.map((change) => `${change.state.version} ${change.record!.version} ${change.record!.song}`),
          Array.from({ length: 30 }, (_, i) => `${i + 1} ${i + 1} ${i}`),
        );
        t.equal(engine.state(channel).version, 30);
      }
      const begun = delivered.findLastIndex(({ change }) => change.state.version === 1);
      const ended = delivered.findIndex(({ change }) => change.state.version === 30);
      t.ok(begun < ended, `no channel waits for another to be through: ${begun}, ${ended}`);
      await engine.close();
    },
  );

  t.test('a change that cannot be committed changes nothing, and the next one goes on', async (t) => {
    const bench = await open();
    const { engine, delivered } = bench;
    await engine.update('a', play('a', 'first'));
    await bench.fail(true);
    const refused = await Promise.allSettled([engine.update('a', play('a', 'x')), engine.update('a', play('a', 'y'))]);
    for (const outcome of refused) {
      t.match(outcome, { status: 'rejected', reason: { kind: 'unavailable', headers: { 'Retry-After': /^\d+$/ } } });
    }
    t.equal(engine.state('a').now?.song, 'first');
    t.equal(bench.committed('a'), 1);
    t.equal(delivered.length, 1);
    await bench.fail(false);
    await engine.update('a', play('a', 'second'));
    t.equal(engine.state('a').version, 2, 'without a gap');
    t.equal(delivered.at(-1)!.change.record!.song, 'second');
    await engine.close();
  });

  t.test('what is thrown while deciding comes back, and harms no other change', async (t) => {
    const { engine, delivered } = await open();
    const refusal = new Refusal('too-many', 'enough');
    const outcome = engine.update('a', () => {
      throw refusal;
    });
    await t.rejects(outcome, refusal);
    t.same(delivered, []);
    await engine.update('a', play('a', 's'));
    t.equal(engine.state('a').version, 1);
    await engine.close();
  });

  t.test('close refuses what is new and waits for what is under way', async (t) => {
    const bench = await open();
    const { engine, delivered } = bench;
    const go = bench.pause();
    const underWay = [engine.update('a', play('a', '1')), engine.update('a', play('a', '2'))];
    let closed = false;
    const closing = engine.close().then(() => {
      closed = true;
    });
    await t.rejects(engine.update('a', play('a', '3')), { message: /shutting down/ });
    await t.rejects(engine.update('new', play('new', '1')), { message: /shutting down/ });
    t.equal(closed, false);
    go();
    await Promise.all([...underWay, closing]);
    t.equal(delivered.length, 2);
    await engine.close();
  });
}
