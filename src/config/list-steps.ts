/**
 * The difference between two lists of the configuration: entries that stay, are added, are removed. Used for the plan of a reload and for the
 * reload itself. Pure functions.
 */

import { isDeepStrictEqual } from 'node:util';
import type { AddressConfig, SourceConfig } from './schema.js';

/** An entry of the next list. */
export interface ListStep<T> {
  readonly next: T;
  /** Its index in the previous list; null: new. */
  readonly from: number | null;
  /** It exists, but must be restarted. */
  readonly isAnew: boolean;
}

export interface ListSteps<T> {
  /** In the order of the next list. */
  readonly steps: readonly ListStep<T>[];
  /** Indices of removed entries in the previous list. */
  readonly gone: readonly number[];
}

/** An encoder is always the same source, and never restarted; a pulled stream is identified by its first URL, a file by its path. */
export function sourceSteps(before: readonly SourceConfig[], next: readonly SourceConfig[]): ListSteps<SourceConfig> {
  return stepsOf(before, next, nameOfSource, (a, b) => b.type !== 'encoder' && !isDeepStrictEqual(plain(a), plain(b)));
}

/** An address is identified by its host and port; its connections stay whatever else changes. */
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

/** A source for comparison: with its password in the clear, and without `titleOffsetMs`, which takes effect without a restart. */
function plain(source: SourceConfig): object {
  const { titleOffsetMs: _, ...rest } = source;
  return 'password' in rest && rest.password !== undefined && 'reveal' in rest.password
    ? { ...rest, password: rest.password.reveal() }
    : rest;
}
