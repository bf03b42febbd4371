/** Checks what listeners and watchers received since the last call: as planned, and the same for all. */

import { nobodyElse, onAir } from './reload-audience.js';
import { numberOf, type StampedListener } from './reload-clients.js';
import { channelsOf } from './reload-config.js';
import { PATIENCE_MS, type PairsWorld, push } from './reload-world.js';
import { until } from './until.js';

/** Time until sent audio has reached every listener: an open segment, and a second until its turn; twice that for a busy machine. */
const DRAIN_MS = 4000;
const BYTES_A_MS = 16;

/** Waits until everything sent has reached all clients; checks that it is as planned, and the same for all. */
export async function drain(world: PairsWorld): Promise<void> {
  await onAir(world);
  for (const key of channelsOf(world.config).keys()) await push(world, key, channelsOf(world.config).get(key)!);
  const playing = world.listeners.filter(
    ({ key }) => world.air.get(key)!.onAir !== null && !world.air.get(key)!.isOpen,
  );
  for (const listener of world.listeners) listener.bytesBefore = listener.player.audioBytes;
  const hasAll = ({ player, bytesBefore, reader }: StampedListener) =>
    reader.fault !== '' || player.closed || player.audioBytes - bytesBefore > DRAIN_MS * BYTES_A_MS;
  await until(
    () => playing.every(hasAll),
    PATIENCE_MS,
    () =>
      `nothing comes to listeners of ${[...new Set(playing.filter((each) => !hasAll(each)).map(({ key }) => key))]}`,
  );
  nobodyElse(world);
  await until(
    () => world.watchers.every(({ fault }) => fault === ''),
    2000,
    () => world.watchers.map(({ fault }) => fault).join(' '),
  );
  for (const key of world.air.keys())
    compare(
      world,
      key,
      playing.filter((listener) => listener.key === key),
    );
  for (const listener of world.listeners) listener.runsBefore = listener.reader.runs.length;
}

function compare(world: PairsWorld, key: string, listeners: readonly StampedListener[]): void {
  const air = world.air.get(key)!;
  const longest = listeners.reduce<StampedListener | undefined>(
    (most, each) => (most === undefined || each.reader.runs.length > most.reader.runs.length ? each : most),
    undefined,
  );
  const old = listeners.filter(({ runsBefore }) => runsBefore > 0);
  const names = ({ reader, runsBefore }: StampedListener) =>
    reader.runs.slice(runsBefore).map(({ source }) => world.sources.get(source)!);
  const fault = air.judge(old.length === 0 ? [] : names(old[0]!));
  if (fault !== '' && old.length > 0) throw new Error(`${key}: ${fault}`);
  const steps = ({ reader: { runs } }: StampedListener) =>
    runs.slice(1).map(({ source, first }, i) => `${runs[i]!.source}:${runs[i]!.last}>${source}:${first}`);
  for (const listener of listeners) {
    const mine = steps(listener);
    const theirs = mine.length === 0 ? [] : steps(longest!).slice(-mine.length);
    if (String(mine) !== String(theirs)) throw new Error(`${key}: one heard ${mine}, another ${theirs}`);
    const last = world.sources.get(listener.reader.runs.at(-1)!.source);
    if (last !== air.onAir) throw new Error(`${key}: ${last} is heard, ${air.onAir} is on air`);
    const { titles, metaint } = listener.player;
    const title = titles.at(-1)?.title ?? '';
    if (metaint > 0 && numberOf(title) !== world.lastTitle(key)) {
      throw new Error(`${key}: ICY says ${title}, not song ${world.lastTitle(key)}`);
    }
  }
}
