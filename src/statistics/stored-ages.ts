/**
 * Finds stored figures that are beyond their age or number: a few of each kind and scope with each save. The time of the oldest is remembered, so
 * that the store is read only if something has expired; a server with a thousand channels has ten thousand kinds and scopes. Owned by recorder.ts.
 */

import type { FigureChange, FigureKey, Store } from '../store/store.js';
import type { Slices } from './sliced-work.js';

/** Figures of a scope and kind removed with each save at most: more than are added. */
const MAX_PRUNED = 16;
/** Read at first: with most saves one expires, and the next one does not. */
const FEW = 2;

interface Found {
  readonly found: readonly number[];
  readonly nextMs: number;
}

export class StoredAges {
  readonly #store: Store;
  /** By kind and scope: the time before which nothing is stored. A kind that is absent has not been read yet. */
  readonly #oldestMs = new Map<string, Map<string, number>>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** @param rest pauses between scopes @param surplusOf how many figures a scope has beyond its number */
  async expired(
    kind: string,
    beforeMs: number,
    rest: Slices,
    surplusOf: (scope: string) => number = () => 0,
  ): Promise<FigureKey[]> {
    const scopes = this.#scopesOf(kind);
    const expired: FigureKey[] = [];
    for (const [scope, oldestMs] of scopes) {
      const surplus = surplusOf(scope);
      if (oldestMs < beforeMs || surplus > 0) {
        const { found, nextMs } = this.#read(kind, scope, beforeMs, surplus);
        for (const atMs of found) expired.push([kind, scope, atMs]);
        scopes.set(scope, found[0] ?? nextMs);
      }
      const turn = rest.pause();
      if (turn !== undefined) await turn;
    }
    return expired;
  }

  /** These figures have been stored. */
  onSaved(rows: readonly FigureChange[]): void {
    for (const [[kind, scope, atMs], text] of rows) {
      const scopes = this.#oldestMs.get(kind);
      if (text !== undefined && atMs < (scopes?.get(scope) ?? Number.POSITIVE_INFINITY)) scopes?.set(scope, atMs);
    }
  }

  /** The times of the figures that have expired, and of the next one. */
  #read(kind: string, scope: string, beforeMs: number, surplus: number, limit = FEW): Found {
    const page = this.#store.figures(kind, scope, { fromMs: 0, beforeMs: Number.MAX_SAFE_INTEGER, limit });
    const times = page.map(({ atMs }) => atMs);
    const kept = times.findIndex((atMs, i) => atMs >= beforeMs && i >= surplus);
    if (kept === -1 && times.length === limit && limit < MAX_PRUNED)
      return this.#read(kind, scope, beforeMs, surplus, MAX_PRUNED);
    const found = kept === -1 ? times : times.slice(0, kept);
    return { found, nextMs: times[found.length] ?? Number.POSITIVE_INFINITY };
  }

  #scopesOf(kind: string): Map<string, number> {
    let scopes = this.#oldestMs.get(kind);
    if (scopes === undefined) {
      scopes = new Map(this.#store.figureScopes(kind).map((scope) => [scope, Number.NEGATIVE_INFINITY]));
      this.#oldestMs.set(kind, scopes);
    }
    return scopes;
  }
}
