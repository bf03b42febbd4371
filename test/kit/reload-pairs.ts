/**
 * Reloads by seed: consecutive configurations, each a random edit of the previous one, under listeners that check each byte, encoders and
 * watchers. From each plan alone follows which clients are ended or switched: exactly these are, all others notice nothing, and the configuration
 * is in force. Accepted titles reach every reader.
 */

import type { Test } from 'tap';
import { planText } from '../../src/config/plan.js';
import { heldNow, isAsBefore } from './held.js';
import { Random } from './random.js';
import { ChannelAir } from './reload-air.js';
import { connectEncoders, endings, nobodyElse, onAir, refill } from './reload-audience.js';
import { request } from './reload-clients.js';
import { type ChannelState, type ConfigState, channelsOf, nameOf } from './reload-config.js';
import { drain } from './reload-heard.js';
import { addresses, history, inForce, operator } from './reload-in-force.js';
import { type Concerned, concernedBy } from './reload-plan.js';
import { PATIENCE_MS, type PairsSize, PairsWorld, pushAnywhere } from './reload-world.js';
import { WORKERS } from './server.js';
import { until } from './until.js';

export async function reloadPairs(t: Test, size: PairsSize, random = new Random()): Promise<void> {
  const world = await PairsWorld.begin(t, size, random);
  try {
    await play(world);
  } catch (error) {
    const said = world.subject.said();
    throw new Error(`SEED=${random.seed}, pair ${world.done}: ${(error as Error).message}\n${said}`, { cause: error });
  }
  const { refused, ended, cut, switched, closed, accepted } = world.counts;
  const who = `${ended} listeners ended, ${closed} watchers closed, ${cut} encoders cut, ${switched} sources changed`;
  t.equal(world.done, size.pairs, `${refused} of them refused: ${who}, ${accepted} titles`);
}

async function play(world: PairsWorld): Promise<void> {
  const first = structuredClone(world.config);
  const held = heldNow();
  for (const [key, channel] of channelsOf(world.config)) begin(world, key, channel);
  await settle(world, new Set(world.air.keys()));
  await drain(world);
  const { pairs, drainEvery } = world.size;
  for (let drained = 0; world.done < pairs; ) {
    await volley(world, Math.min(pairs - world.done, world.random.chance(0.6) ? 1 : world.random.int(2, 6)));
    if (world.done - drained < drainEvery && world.done < pairs) continue;
    await drain(world);
    drained = world.done;
  }
  await history(world);
  for (const { player } of world.listeners) player.close();
  for (const watcher of world.watchers) watcher.close();
  for (const { socket } of world.encoders.values()) socket.destroy();
  world.forget();
  await world.subject.reload(world.state.text(first));
  // The next request releases the previous mounts.
  await request(world.port, 'GET /healthz HTTP/1.1');
  if (WORKERS > 0) return;
  let now = held;
  const figures = () => `held before: ${JSON.stringify(held)}, after: ${JSON.stringify(now)}`;
  const isFree = () => {
    now = heldNow();
    return isAsBefore(held, now);
  };
  await until(isFree, PATIENCE_MS, figures, 500);
  world.t.comment(figures());
}

function begin(world: PairsWorld, key: string, channel: ChannelState): void {
  const air = new ChannelAir();
  world.air.set(key, air);
  air.change([], channel.sources.map(nameOf), undefined, world.isThere(key));
}

/** Reloads without a pause between them, with titles meanwhile, and then checks the consequences of all. */
async function volley(world: PairsWorld, count: number): Promise<void> {
  const touched = new Set<string>();
  for (let i = 0; i < count; i++) {
    world.done++;
    const { config, refused, secrets } = world.state.next();
    const [before, text] = [world.config, world.state.text(config)];
    const pushing = world.random.chance(0.3) ? pushAnywhere(world, config) : undefined;
    if (refused !== null) {
      world.counts.refused++;
      const why = await world.subject.reload(text).then(
        () => 'nothing',
        (error: Error) => error.message,
      );
      if (!refused.test(why)) throw new Error(`refused with ${why}, not ${refused}`);
      touched.add(world.random.chance(0.5) ? [...channelsOf(before).keys()][0]! : 'c0');
    } else {
      const plan = world.subject.plan(world.state.yaml, text);
      if (plan.refused.length > 0) throw new Error('a plan that needs a restart');
      const said = await world.subject.reload(text);
      const planned = planText(plan);
      if (sorted(said) !== sorted(planned)) throw new Error(`planned:\n${planned}\nsaid:\n${said}`);
      world.state.config = config;
      secrets();
      follow(world, before, config, concernedBy(plan));
      for (const { path } of plan.changes) {
        const key = /^stations\.[\w-]+\.channels\.([\w-]+)/.exec(path)?.[1];
        if (key !== undefined) touched.add(key);
      }
    }
    await pushing;
  }
  await settle(world, touched);
}

/** Applies the consequences of a plan to the model. */
function follow(
  world: PairsWorld,
  before: ConfigState,
  after: ConfigState,
  { channels, stations, encoders, sources }: Concerned,
): void {
  const [was, is] = [channelsOf(before), channelsOf(after)];
  for (const listener of world.listeners) if (channels.has(listener.key)) listener.isEnded = true;
  for (const watcher of world.watchers) {
    if ((watcher.scope === 'channel' ? channels : stations).has(watcher.key)) watcher.isEnded = true;
  }
  for (const key of [...encoders, ...channels]) {
    const encoder = world.encoders.get(key);
    if (encoder === undefined) continue;
    world.cut.push(encoder);
    world.encoders.delete(key);
  }
  for (const key of channels) world.air.delete(key);
  for (const [key, channel] of is) {
    const known = world.air.get(key);
    if (known === undefined) begin(world, key, channel);
    else if (sources.has(key)) {
      world.counts.switched++;
      const names = (all: ChannelState) => all.sources.map(nameOf);
      known.change(names(was.get(key)!), names(channel), sources.get(key), world.isThere(key));
    }
  }
}

/** Checks that exactly the clients in the plans have ended, and what is in force; then replaces them. */
async function settle(world: PairsWorld, touched: ReadonlySet<string>): Promise<void> {
  await endings(world);
  await connectEncoders(world);
  await onAir(world);
  for (const key of touched) await inForce(world, key);
  if (world.random.chance(0.3)) await addresses(world);
  await operator(world);
  await refill(world);
  nobodyElse(world);
}

/** Sorted, since stations may be in another order. */
const sorted = (lines: string) => lines.split('\n').sort().join('\n');
