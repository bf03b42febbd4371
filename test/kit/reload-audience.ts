/** The clients during changes of the configuration: checks that exactly the right ones end, and replaces them. */

import type { ChannelAir } from './reload-air.js';
import { request, StampedListener, TitleWatcher } from './reload-clients.js';
import { channelsOf, codecOf, hashed, nameOf } from './reload-config.js';
import { PATIENCE_MS, type PairsWorld } from './reload-world.js';
import { StampedEncoder } from './stamped.js';
import { until } from './until.js';

export async function endings(world: PairsWorld): Promise<void> {
  const listeners = world.listeners.filter(({ isEnded }) => isEnded);
  const watchers = world.watchers.filter(({ isEnded }) => isEnded);
  const isOver = () =>
    listeners.every(({ player }) => player.closed) &&
    watchers.every(({ code }) => code !== 0) &&
    world.cut.every(({ closed }) => closed);
  await until(isOver, PATIENCE_MS, () => {
    const open = listeners.filter(({ player }) => !player.closed).map(({ key }) => key);
    const watching = watchers.filter(({ code }) => code === 0).map(({ key, scope }) => `${scope} ${key}`);
    return `not ended: listeners of ${open}, watchers of ${watching}, ${world.cut.filter(({ closed }) => !closed).length} encoders`;
  });
  for (const { key, reader } of listeners) {
    if (reader.fault !== '') throw new Error(`${key}: ${reader.fault}`);
    if (reader.leftover > 0) throw new Error(`${key} did not end with a whole frame: ${reader.leftover} bytes`);
  }
  for (const { key, scope, code } of watchers)
    if (code !== 1001) throw new Error(`${scope} ${key} closed with ${code}`);
  world.counts.ended += listeners.length;
  world.counts.closed += watchers.length;
  world.counts.cut += world.cut.splice(0).length;
  world.listeners = world.listeners.filter(({ isEnded }) => !isEnded);
  world.watchers = world.watchers.filter(({ isEnded }) => !isEnded);
}

export function nobodyElse(world: PairsWorld): void {
  for (const { key, player, reader } of world.listeners) {
    if (player.closed) throw new Error(`a listener of ${key} was ended: ${player.statusLine}`);
    if (reader.fault !== '') throw new Error(`${key}: ${reader.fault}`);
  }
  for (const [key, { closed, answer }] of world.encoders)
    if (closed) throw new Error(`the encoder of ${key} was cut: ${answer}`);
  for (const { scope, key, code } of world.watchers)
    if (code !== 0) throw new Error(`${scope} ${key} was closed: ${code}`);
}

/** Connects encoders to most channels that accept one. */
export async function connectEncoders(world: PairsWorld): Promise<void> {
  for (const [key, { sources }] of channelsOf(world.config)) {
    const source = sources.find(({ type }) => type === 'encoder');
    if (source === undefined || world.encoders.has(key) || world.random.chance(0.2)) continue;
    const password = world.state.passwords.get(key)!.find((each) => hashed(each) === source['password'])!;
    const number = world.sources.size + 1;
    world.sources.set(number, 'encoder');
    const encoder = new StampedEncoder(world.t, world.port, `/${key}`, password, codecOf(key), number);
    await until(
      () => encoder.status > 0,
      PATIENCE_MS,
      () => `no answer to the encoder of ${key}`,
    );
    if (!encoder.isTaken) throw new Error(`${key} with its password: ${encoder.answer}`);
    world.encoders.set(key, encoder);
    const names = sources.map(nameOf);
    world.air.get(key)!.change(names, names, undefined, world.isThere(key));
  }
}

/** Waits until the expected sources are on air. */
export async function onAir(world: PairsWorld): Promise<void> {
  const isDue = ({ isOpen, unknownUntilMs }: ChannelAir) => isOpen && performance.now() > unknownUntilMs;
  if (![...world.air.values()].some(isDue)) return;
  const left = () => [...world.air].filter(([, air]) => isDue(air));
  const look = async () => {
    const { body } = await request(world.port, 'GET /metrics HTTP/1.1');
    for (const [key, air] of left()) {
      const rows = new RegExp(
        `^airsplice_source_heard\\{channel="${key}",kind="(\\w+)",place="(\\d+)"\\} 1$`,
        'm',
      ).exec(body);
      const source = rows === null ? undefined : channelsOf(world.config).get(key)!.sources[Number(rows[2])];
      if ((source === undefined ? null : nameOf(source)) === air.onAir) air.seen();
    }
    return left().length === 0;
  };
  await until(look, PATIENCE_MS, () => `not on air: ${left().map(([key, { onAir }]) => `${onAir} of ${key}`)}`, 20);
}

/** Replaces ended clients by new ones, on any channel with audio. */
export async function refill(world: PairsWorld): Promise<void> {
  const random = world.random;
  const config = channelsOf(world.config);
  const open = [...world.air].filter(([, { onAir, isOpen }]) => onAir !== null && !isOpen).map(([key]) => key);
  const fresh: StampedListener[] = [];
  const url = world.config.top['listenerHook']!['url'];
  const asked = () =>
    world.hooks.map(({ received }) => received.filter(({ body }) => body.includes('listener_add')).length);
  const before = asked();
  const here = new Map(open.map((key) => [key, 0]));
  for (const { key } of world.listeners) here.set(key, (here.get(key) ?? 0) + 1);
  while (open.length > 0 && world.listeners.length + fresh.length < world.size.listeners) {
    // First, one of each channel.
    const key = open.find((each) => here.get(each) === 0) ?? open[random.int(0, open.length - 1)]!;
    here.set(key, here.get(key)! + 1);
    const mounts = [`/${key}`, ...config.get(key)!.mounts];
    const path = mounts[random.int(0, mounts.length - 1)]!;
    fresh.push(new StampedListener(world.port, key, path, codecOf(key), world.lengths, random.chance(0.7)));
  }
  while (world.watchers.length < world.size.watchers) {
    const scope = random.chance(0.7) ? 'channel' : 'station';
    const keys = [...(scope === 'channel' ? config.keys() : Object.keys(world.config.stations))];
    const key = keys[random.int(0, keys.length - 1)]!;
    const watcher = new TitleWatcher(world.t, world.port, scope, key, world.titles, random.chance(0.3));
    await watcher.opened();
    world.watchers.push(watcher);
  }
  await until(
    () => fresh.every(({ isHere }) => isHere),
    PATIENCE_MS,
    () => {
      const missing = fresh.filter(({ isHere }) => !isHere);
      return missing
        .map(({ key, player, reader }) => `${key} ${player.statusLine} ${player.audioBytes} ${reader.fault}`)
        .join(', ');
    },
  );
  world.listeners.push(...fresh);
  const hooked = fresh.filter(({ key }) => config.get(key)!.access === 'hook').length;
  const wanted = world.hooks.map((hook, i) => before[i]! + (hook.url === url ? hooked : 0));
  if (String(asked()) !== String(wanted)) throw new Error(`the hooks were asked ${asked()} times, not ${wanted}`);
}
