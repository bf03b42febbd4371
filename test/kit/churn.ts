/**
 * Listeners that come and go in small crowds in all the ways that players do: with ICY and without, with a metaid; closing politely, by reset,
 * half-closed, before the answer. Afterwards nothing of them may be left: no socket, session or timer, and no significant memory.
 */

import type { Test } from 'tap';
import { Listener } from '../../src/listener/cursor/listener.js';
import { alive, collect } from './heap.js';
import { pause } from './pause.js';
import { Player } from './player.js';
import { Random } from './random.js';
import { demoYaml, startServer } from './server.js';
import { until } from './until.js';

/** Joins before the measurement, so that code, pools and renderings exist. */
const WARM_JOINS = 500;
const AT_ONCE = 20;
/**
 * Variation of a busy process's heap, independent of the number of joins (0.5 to 1.9 MB for 5,000 and 20,000); a leaked listener costs several KB
 * with its socket.
 */
const HEAP_SWING_BYTES = 3 * 1024 * 1024;
/** The tape and its renderings. */
const BUFFER_SWING_BYTES = 2 * 1024 * 1024;
/** V8 from Node 22 on may keep or release two halves of its young generation, 64 MB each. */
const POOL_BYTES = Number.parseInt(process.versions.node, 10) < 22 ? 0 : 128 * 1024 * 1024;
const RESIDENT_SWING_BYTES = 48 * 1024 * 1024 + POOL_BYTES;

export async function churn(t: Test, joins: number): Promise<void> {
  const random = new Random();
  const yaml = `${demoYaml()}\nsessions: { keepSeconds: 0 }\nstreams: { lagSeconds: 10 }\n`;
  const { port, base } = await startServer(t, yaml);
  const figures = async () => {
    const text = await (await fetch(`${base}/metrics`)).text();
    return text.split('\n').filter((line) => /^airsplice_(listeners\{|unique|sessions)/.test(line));
  };
  const empty = async () => (await figures()).every((line) => line.endsWith(' 0'));
  /** Resources of this process, server and players together; those of fetch are the same before and after. */
  const resources = () => process.getActiveResourcesInfo().filter((kind) => kind !== 'TTYWrap');
  const count = (kind: string) => resources().filter((each) => each === kind).length;
  let songs = 0;

  const one = async (): Promise<void> => {
    const metaid = random.chance(0.5) ? `?metaid=ear-${random.int(1, 1e9)}` : '';
    const player = new Player(port, `/demo.mp3${metaid}`, { icy: random.chance(0.5) });
    if (random.chance(0.1)) {
      player.close();
      return;
    }
    await player.until((p) => p.audioBytes > 16_000, 30_000);
    if (random.chance(0.3)) player.socket.end();
    else if (random.chance(0.5)) player.socket.resetAndDestroy();
    player.close();
  };
  const run = async (all: number): Promise<void> => {
    for (let done = 0; done < all; done += AT_ONCE) {
      await fetch(`${base}/metapush/demo/demo-token?song=${++songs}`);
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, all - done) }, one));
    }
    await until(empty, 15_000, () => 'listeners or sessions are left');
    await until(
      () => count('TCPSocketWrap') <= idleSockets,
      15_000,
      () => resources().join(', '),
    );
  };

  await fetch(`${base}/metapush/demo/demo-token?song=0`);
  await empty();
  const idleSockets = count('TCPSocketWrap');
  await run(WARM_JOINS);
  const [before, timers] = [await minMemory(), count('Timeout')];
  await run(joins);
  let after = await minMemory();
  // On a busy machine, garbage takes a while to go; leaked memory stays.
  for (let i = 0; i < 5 && after.heap - before.heap >= HEAP_SWING_BYTES; i++) {
    await pause(1000);
    after = await minMemory();
  }

  const most = {
    heap: HEAP_SWING_BYTES,
    buffers: BUFFER_SWING_BYTES,
    resident: RESIDENT_SWING_BYTES,
  };
  const kb = (bytes: number) => `${Math.round(bytes / 1024)} KB`;
  for (const of of ['heap', 'buffers', 'resident'] as const) {
    const grown = after[of] - before[of];
    const figures = `${of} ${kb(before[of])}, after ${joins} joins ${kb(grown)} more (allowed ${kb(most[of])})`;
    t.comment(figures);
    t.ok(grown < most[of], `seed ${random.seed}: ${figures}`);
  }
  // A politely closed socket is held by the alarm that would destroy it.
  await until(
    () => alive(Listener) === 0,
    15_000,
    () => `${alive(Listener)} listeners are in the heap`,
    500,
  );
  t.ok(count('Timeout') <= timers, 'no timer is left');
  t.ok(count('TCPSocketWrap') <= idleSockets, 'no socket is left');
  t.same(
    (await figures()).filter((line) => !line.endsWith(' 0')),
    [],
    'no listener and no session is left',
  );
}

/** The least of a few readings, since garbage varies. */
async function minMemory(): Promise<{ heap: number; buffers: number; resident: number }> {
  const least = { heap: Infinity, buffers: Infinity, resident: Infinity };
  for (let i = 0; i < 5; i++) {
    await pause(100);
    collect();
    const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
    least.heap = Math.min(least.heap, heapUsed);
    least.buffers = Math.min(least.buffers, arrayBuffers);
    least.resident = Math.min(least.resident, rss);
  }
  return least;
}
