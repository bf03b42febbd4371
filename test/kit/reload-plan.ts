/** The clients affected by a reload, from its plan alone. */

import type { ReloadPlan } from '../../src/config/plan.js';

export interface Concerned {
  /** Channels whose listeners, watchers and encoders end. */
  readonly channels: ReadonlySet<string>;
  /** Stations whose watchers are closed. */
  readonly stations: ReadonlySet<string>;
  /** Channels whose encoder is disconnected. */
  readonly encoders: ReadonlySet<string>;
  /** Channel → sources that are removed, added, restarted or moved. */
  readonly sources: ReadonlyMap<string, SourceChange>;
}

export interface SourceChange {
  /** Previous places of removed sources. */
  readonly gone: Set<number>;
  /** Places of restarted sources. */
  readonly anew: Set<number>;
}

const CHANNEL = /^stations\.[\w-]+\.channels\.([\w-]+)(?:\.sources(?:\[(\d+)\])?)?$/;

export function concernedBy({ changes }: ReloadPlan): Concerned {
  const channels = new Set<string>();
  const stations = new Set<string>();
  const encoders = new Set<string>();
  const sources = new Map<string, SourceChange>();
  for (const { path, kind, effect, before, note } of changes) {
    const [, key, place] = CHANNEL.exec(path) ?? [];
    const station = /^stations\.([\w-]+)$/.exec(path)?.[1];
    if (station !== undefined && kind === 'removed') stations.add(station);
    if (key === undefined) continue;
    if (effect !== 'source') {
      if (kind === 'removed') channels.add(key);
      continue;
    }
    const change = sources.get(key) ?? { gone: new Set(), anew: new Set() };
    sources.set(key, change);
    if (kind === 'removed') change.gone.add(Number(place));
    if (kind === 'removed' && before === 'encoder') encoders.add(key);
    if (kind === 'changed' && note === 'it is pulled again') change.anew.add(Number(place));
  }
  return { channels, stations, encoders, sources };
}
