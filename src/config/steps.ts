/**
 * How a list of the configuration becomes another one: what stays, what comes, what goes. Used alike by the plan of a reload, and by those who
 * carry it out. Pure functions.
 */

import { isDeepStrictEqual } from 'node:util';
import type { AddressConfig, SourceConfig } from './schema.js';

/** An entry of the next list. */
export interface ListStep<T> {
  readonly next: T;
  /** Where it stood before; null: it is new. */
  readonly from: number | null;
  /** It is there already, and has to begin anew. */
  readonly isAnew: boolean;
}

export interface ListSteps<T> {
  /** In the order of the next list. */
  readonly steps: readonly ListStep<T>[];
  /** Places, in the list before, of what goes. */
  readonly gone: readonly number[];
}

/** An encoder is the channel's one; a pulled stream is known by its first URL, a file by its path. Of an encoder nothing has to begin anew. */
export function sourceSteps(before: readonly SourceConfig[], next: readonly SourceConfig[]): ListSteps<SourceConfig> {
  return stepsOf(before, next, nameOfSource, (a, b) => b.type === 'pull' && !isDeepStrictEqual(plain(a), plain(b)));
}

/** An address is known by its host and port; every connection stays whatever else of it changes. */
export function addressSteps(
  before: readonly AddressConfig[],
  next: readonly AddressConfig[],
): ListSteps<AddressConfig> {
  return stepsOf(
    before,
    next,
    ({ host, port }) => `${host} ${port}`,
    (a, b) => !isDeepStrictEqual(a, b),
  );
}

function stepsOf<T>(
  before: readonly T[],
  next: readonly T[],
  nameOf: (entry: T) => string,
  isAnew: (before: T, next: T) => boolean,
): ListSteps<T> {
  const left = new Map<string, number[]>();
  for (const [i, entry] of before.entries()) left.set(nameOf(entry), [...(left.get(nameOf(entry)) ?? []), i]);
  const steps = next.map((entry): ListStep<T> => {
    const from = left.get(nameOf(entry))?.shift() ?? null;
    return { next: entry, from, isAnew: from !== null && isAnew(before[from]!, entry) };
  });
  return { steps, gone: [...left.values()].flat().sort((a, b) => a - b) };
}

function nameOfSource(source: SourceConfig): string {
  if (source.type === 'encoder') return source.type;
  return source.type === 'file' ? `file ${source.path}` : `pull ${[source.url].flat()[0]}`;
}

/** As it can be compared, and without what takes effect by itself. */
function plain(source: SourceConfig): object {
  const { titleOffsetMs: _, ...rest } = source;
  return 'password' in rest && rest.password !== undefined && 'reveal' in rest.password
    ? { ...rest, password: rest.password.reveal() }
    : rest;
}
