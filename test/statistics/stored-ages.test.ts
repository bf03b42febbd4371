/** What has expired is found, a few at a time, and the store is read only where something may have. */

import t from 'tap';
import { Slices } from '../../src/statistics/sliced-work.js';
import { StoredAges } from '../../src/statistics/stored-ages.js';
import type { FigureChange, FigurePage } from '../../src/store/store.js';
import { MemoryStore } from '../kit/memory-store.js';

class CountedStore extends MemoryStore {
  reads = 0;

  override figures(kind: string, scope: string, page: FigurePage) {
    this.reads++;
    return super.figures(kind, scope, page);
  }

  override figureScopes(kind: string) {
    this.reads++;
    return super.figureScopes(kind);
  }
}

const row = (scope: string, atMs: number): FigureChange => [['minute', scope, atMs], 'x'];

async function filled(scopes: number, times: number) {
  const store = new CountedStore();
  const rows = Array.from({ length: scopes }, (_, i) =>
    Array.from({ length: times }, (_, at) => row(`channel:${i}`, at)),
  );
  await store.saveFigures(rows.flat());
  const ages = new StoredAges(store);
  /** As recorder.ts does: what has expired is removed with the next rows. */
  const save = async (more: readonly FigureChange[], beforeMs: number) => {
    const expired = await ages.expired('minute', beforeMs, new Slices());
    const all = [...more, ...expired.map((key) => [key, undefined] as const)];
    await store.saveFigures(all);
    ages.onSaved(all);
    return expired.map(([, scope, atMs]) => `${scope} ${atMs}`);
  };
  return { store, ages, save };
}

t.test('where nothing has expired the store is read once', async (t) => {
  const { store, save } = await filled(100, 3);
  t.same(await save([], 0), []);
  t.equal(store.reads, 101);
  for (let i = 0; i < 5; i++) t.same(await save([row('channel:7', 3 + i), row('channel:new', 3 + i)], 0), []);
  t.equal(store.reads, 101, 'whatever is added');
  const old = Array.from({ length: 100 }, (_, i) => [0, 1, 2].map((at) => `channel:${i} ${at}`)).flat();
  t.same((await save([], 4)).sort(), [...old, 'channel:7 3', 'channel:new 3'].sort());
});

t.test('16 of a scope at most with each save, and all of them in the end', async (t) => {
  const { store, save } = await filled(1, 40);
  t.equal((await save([], 39)).length, 16);
  t.equal((await save([], 39)).length, 16);
  t.equal((await save([], 39)).length, 7);
  t.same(await save([], 39), []);
  t.equal(store.figureCount('minute', 'channel:0'), 1);
  const { reads } = store;
  await save([], 39);
  t.equal(store.reads, reads);
});

t.test('a figure that comes behind the others by its time expires too', async (t) => {
  const { save } = await filled(1, 0);
  await save([row('channel:0', 100)], 50);
  await save([row('channel:0', 40)], 50);
  t.same(await save([], 50), ['channel:0 40']);
});

t.test('what could not be removed is found again', async (t) => {
  const { ages, save } = await filled(2, 3);
  t.equal((await ages.expired('minute', 1, new Slices())).length, 2);
  t.same(await save([], 1), ['channel:0 0', 'channel:1 0']);
});

t.test('the oldest of a scope that has too many, whatever their age', async (t) => {
  const { ages } = await filled(2, 5);
  const surplusOf = (scope: string) => (scope === 'channel:1' ? 2 : 0);
  const keys = await ages.expired('minute', 1, new Slices(), surplusOf);
  t.same(keys, [
    ['minute', 'channel:0', 0],
    ['minute', 'channel:1', 0],
    ['minute', 'channel:1', 1],
  ]);
});
