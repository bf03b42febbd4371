/**
 * The configuration in force is one object for the life of the process: a reload puts the next one into it, in one step. Code that keeps a section
 * and reads its options when it needs them gets the new values.
 *
 * Maps of options keep their identity; so do channels, by key, even if they move to another station. Lists, secrets and texts are replaced.
 */

import type { LoadedConfig } from './load.js';
import type { ChannelConfig } from './schema.js';

/** @param next must not be used afterwards: parts of it become parts of `live` */
export function adoptConfig(live: LoadedConfig, next: LoadedConfig): void {
  const known = channelsOf(live);
  for (const { channels } of Object.values(next.stations)) {
    for (const [key, config] of Object.entries(channels)) {
      const kept = known.get(key);
      if (kept === undefined) continue;
      assign(kept, config);
      channels[key] = kept;
    }
  }
  assign(live, next);
}

/** The channels of all stations, by key. */
export function channelsOf({ stations }: Pick<LoadedConfig, 'stations'>): Map<string, ChannelConfig> {
  return new Map(Object.values(stations).flatMap(({ channels }) => Object.entries(channels)));
}

function assign(live: object, next: object): void {
  for (const name of Object.keys(live)) if (!Object.hasOwn(next, name)) Reflect.deleteProperty(live, name);
  for (const [name, value] of Object.entries(next)) {
    const before: unknown = Reflect.get(live, name);
    if (before !== value && isSection(before) && isSection(value)) assign(before, value);
    else Reflect.set(live, name, value);
  }
}

/** Whether it is a map of options, not a list, secret or function. */
function isSection(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
