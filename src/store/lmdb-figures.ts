/** Figures by kind, scope and time, in the LMDB file of lmdb.ts, which owns it. Reads are synchronous, and small: their callers page. */

import type { Database, RootDatabase } from 'lmdb';
import type { FigureKey, FigurePage, StoredFigure } from './store.js';

/** A FigureKey, as lmdb's types have it. */
type LmdbKey = [kind: string, scope: string, atMs: number];

/** Sorts after every number, and after every scope. */
const AFTER_ALL = '\uffff';

export class LmdbFigures {
  readonly #database: Database<string, LmdbKey>;

  constructor(root: RootDatabase) {
    this.#database = root.openDB({ name: 'figures', encoding: 'string' });
  }

  read(kind: string, scope: string, { fromMs, beforeMs, limit }: FigurePage): StoredFigure[] {
    const range = { start: [kind, scope, fromMs], end: [kind, scope, beforeMs], limit };
    return [...this.#database.getRange(range)].map(({ key, value }) => ({ atMs: key[2], text: value }));
  }

  /** One read for each scope, however many figures it has. */
  scopes(kind: string): string[] {
    const scopes: string[] = [];
    const end = [kind, AFTER_ALL];
    let start = [kind];
    for (;;) {
      const [key] = [...this.#database.getKeys({ start, end, limit: 1 })];
      if (key === undefined) return scopes;
      scopes.push(key[1]);
      start = [kind, key[1], AFTER_ALL];
    }
  }

  count(kind: string, scope: string): number {
    return this.#database.getKeysCount({ start: [kind, scope], end: [kind, scope, AFTER_ALL] });
  }

  /** Within a transaction of lmdb.ts. */
  put([kind, scope, atMs]: FigureKey, text: string | undefined): Promise<boolean> {
    const key: LmdbKey = [kind, scope, atMs];
    return text === undefined ? this.#database.remove(key) : this.#database.put(key, text);
  }
}
