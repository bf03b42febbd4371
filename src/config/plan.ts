/**
 * The changes of a reload: a pure diff of two configurations. Each change has its path, the values before and after, and when it takes effect
 * (effects.ts). Values of secrets, and of members that may hold one, are left out.
 */

import { KeyObject } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { channelsOf } from './adopt.js';
import { EFFECTS, type Effect, effectOf } from './effects.js';
import { addressSteps, type ListSteps, sourceSteps } from './list-steps.js';
import type { LoadedConfig } from './load.js';
import { isMap, isSame } from './same.js';
import type { ChannelConfig } from './schema.js';

export interface PlannedChange {
  /** Such as `stations.demo.channels.demo.name`. */
  readonly path: string;
  readonly kind: 'added' | 'removed' | 'changed';
  /** Values as text; undefined: left out. */
  readonly before?: string | undefined;
  readonly after?: string | undefined;
  readonly effect: Effect;
  /** A consequence besides the effect. */
  readonly note?: string | undefined;
}

export interface ReloadPlan {
  readonly changes: readonly PlannedChange[];
  /** Changes that this process cannot make. */
  readonly refused: readonly PlannedChange[];
}

/** Longest text of a value. */
const TEXT_CHARACTERS = 60;
/** Members that may hold a secret, at any place. */
const HIDDEN = new Set([
  'url',
  'sentinels',
  'password',
  'user',
  'pushTokens',
  'keys',
  'headers',
  'overflowUrl',
  'parameters',
  'hook',
]);
/** Exceptions from HIDDEN. */
const PUBLIC = new Set(['stations.*.channels.*.url']);

export function planReload(live: LoadedConfig, next: LoadedConfig): ReloadPlan {
  const changes: PlannedChange[] = [];
  const { addresses, stations: before, order, ...rest } = live;
  const { addresses: nextAddresses, stations: after, order: nextOrder, ...nextRest } = next;
  compare([], rest, nextRest, changes);
  compareAddresses(live, next, changes);
  for (const key of Object.keys({ ...before, ...after })) {
    const [was, will] = [ownMember(before, key), ownMember(after, key)];
    const { channels: _, ...mine } = was ?? {};
    const { channels: __, ...theirs } = will ?? {};
    if (was === undefined) changes.push({ path: `stations.${key}`, kind: 'added', effect: 'now' });
    else if (will === undefined) {
      changes.push({ path: `stations.${key}`, kind: 'removed', effect: 'now', note: 'its watchers are closed' });
    } else compare(['stations', key], mine, theirs, changes);
  }
  compareChannels(live, next, changes);
  if (!isDeepStrictEqual(order, nextOrder) && changes.every(({ kind }) => kind === 'changed')) {
    changes.push({ path: 'stations', kind: 'changed', effect: 'now', note: 'another order' });
  }
  return { changes, refused: changes.filter(({ effect }) => effect === 'restart') };
}

/** The plan as text, a line for each change. */
export function planText({ changes }: ReloadPlan): string {
  if (changes.length === 0) return 'nothing changes';
  return changes.map(lineOf).join('\n');
}

const SIGNS = { added: '+', removed: '-', changed: '~' } as const;

function lineOf({ path, kind, before, after, effect, note }: PlannedChange): string {
  const values = before === undefined && after === undefined ? '' : `: ${before ?? 'default'} → ${after ?? 'default'}`;
  const sign = effect === 'restart' ? '!' : SIGNS[kind];
  return `${sign} ${path}${values} (${note ?? EFFECTS[effect]})`;
}

function compareChannels(live: LoadedConfig, next: LoadedConfig, changes: PlannedChange[]): void {
  const [before, after] = [channelsOf(live), channelsOf(next)];
  const pathOf = (key: string, { stations }: LoadedConfig) => {
    const station = Object.keys(stations).find((name) => Object.hasOwn(stations[name]!.channels, key))!;
    return ['stations', station, 'channels', key];
  };
  for (const key of before.keys()) {
    if (after.has(key)) continue;
    const note = 'its listeners and watchers are disconnected cleanly';
    changes.push({ path: pathOf(key, live).join('.'), kind: 'removed', effect: 'now', note });
  }
  for (const [key, config] of after) {
    const path = pathOf(key, next);
    const known = before.get(key);
    if (known === undefined) {
      changes.push({ path: path.join('.'), kind: 'added', effect: 'now' });
      continue;
    }
    const was = pathOf(key, live)[1];
    if (was !== path[1]) {
      changes.push({ path: path.join('.'), kind: 'changed', effect: 'now', note: `from the station ${was}` });
    }
    const { sources, ...mine } = known;
    const { sources: nextSources, ...theirs } = config;
    compare(path, mine, theirs, changes);
    compareSources(path, known, config, changes);
  }
}

function compareSources(
  path: readonly string[],
  before: ChannelConfig,
  after: ChannelConfig,
  changes: PlannedChange[],
) {
  const { steps, gone } = sourceSteps(before.sources, after.sources);
  const pathAt = (i: number) => `${path.join('.')}.sources[${i}]`;
  for (const i of gone) {
    const { type } = before.sources[i]!;
    const note = type === 'encoder' ? 'a connected encoder is disconnected' : undefined;
    changes.push({ path: pathAt(i), kind: 'removed', before: type, after: 'none', effect: 'source', note });
  }
  for (const [i, { next, from, isAnew }] of steps.entries()) {
    if (from === null) {
      changes.push({ path: pathAt(i), kind: 'added', before: 'none', after: next.type, effect: 'source' });
    } else if (isAnew) {
      changes.push({ path: pathAt(i), kind: 'changed', effect: 'source', note: 'it is pulled again' });
    } else compareKept(pathAt(i), before.sources[from]!, next, changes);
  }
  if (isReordered({ steps, gone })) {
    const note = 'another order of preference';
    changes.push({ path: `${path.join('.')}.sources`, kind: 'changed', effect: 'source', note });
  }
}

/** A source that stays: it reads its options when it needs them, so changes take effect at once. */
function compareKept(path: string, before: object, after: object, changes: PlannedChange[]): void {
  const [mine, theirs] = [before as Record<string, unknown>, after as Record<string, unknown>];
  for (const name of Object.keys({ ...mine, ...theirs })) {
    if (isSame(mine[name], theirs[name])) continue;
    const isHidden = HIDDEN.has(name) || holdsSecret(mine[name]) || holdsSecret(theirs[name]);
    const texts = isHidden ? {} : { before: textOf(mine[name]), after: textOf(theirs[name]) };
    const note = name === 'password' || name === 'user' ? 'for the next encoder; a connected one stays' : undefined;
    changes.push({ path: `${path}.${name}`, kind: 'changed', ...texts, effect: 'now', note });
  }
}

function isReordered({ steps }: ListSteps<unknown>): boolean {
  const indexes = steps.flatMap(({ from }) => from ?? []);
  return indexes.some((index, i) => i > 0 && index < indexes[i - 1]!);
}

function compareAddresses(live: LoadedConfig, next: LoadedConfig, changes: PlannedChange[]): void {
  const { steps, gone } = addressSteps(live.addresses, next.addresses);
  const nameOf = ({ host, port }: { host: string; port: number }) => `${host}:${port}`;
  for (const i of gone) {
    const note = 'accepts no new connections; existing ones continue';
    changes.push({
      path: `addresses[${i}]`,
      kind: 'removed',
      before: nameOf(live.addresses[i]!),
      after: 'none',
      effect: 'newcomers',
      note,
    });
  }
  for (const [i, { next: address, from, isAnew }] of steps.entries()) {
    const path = `addresses[${i}]`;
    if (from === null) {
      changes.push({ path, kind: 'added', before: 'none', after: nameOf(address), effect: 'newcomers' });
    } else if (isAnew) compare([path], live.addresses[from]!, address, changes, 'newcomers');
  }
}

function compare(
  path: readonly string[],
  before: object,
  after: object,
  changes: PlannedChange[],
  effect?: Effect,
): void {
  const [mine, theirs] = [before as Record<string, unknown>, after as Record<string, unknown>];
  for (const name of Object.keys({ ...mine, ...theirs })) {
    const [a, b] = [ownMember(mine, name), ownMember(theirs, name)];
    if (isSame(a, b)) continue;
    const to = [...path, name];
    if (isMap(a) && isMap(b) && !isSecret(a)) {
      compare(to, a, b, changes, effect);
      continue;
    }
    const general = generalized(to);
    const isNamedPublic = !general.some((each) => HIDDEN.has(each)) || PUBLIC.has(general.join('.'));
    const isPublic = isNamedPublic && !holdsSecret(a) && !holdsSecret(b);
    changes.push({
      path: to.join('.'),
      kind: a === undefined ? 'added' : b === undefined ? 'removed' : 'changed',
      ...(isPublic && { before: textOf(a), after: textOf(b) }),
      effect: effect ?? effectOf(general)!,
    });
  }
}

/** A member of a map with arbitrary keys, not an inherited one such as `constructor`. */
function ownMember<T>(map: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(map, name) ? map[name] : undefined;
}

/** The path with `*` for the keys of stations and channels. */
function generalized(path: readonly string[]): string[] {
  if (path[0] !== 'stations') return [...path];
  return path.map((name, i) => (i === 1 || i === 3 ? '*' : name));
}

/** Whether it is a digest, a password to be sent, or a key. */
function isSecret(value: unknown): boolean {
  return isMap(value) && ('sha256' in value || 'reveal' in value || value instanceof KeyObject);
}

/** Whether there is a secret at any depth. */
function holdsSecret(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(holdsSecret);
  if (!isMap(value)) return false;
  return isSecret(value) || Object.entries(value).some(([name, member]) => HIDDEN.has(name) || holdsSecret(member));
}

function textOf(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (isMap(value)) return '{…}';
  const text = JSON.stringify(value);
  return text.length > TEXT_CHARACTERS ? `${text.slice(0, TEXT_CHARACTERS - 1)}…` : text;
}
