/** Which title is heard at a date, as playlists come and correct one another. */

import t, { type Test } from 'tap';
import { datedTitles, MAX_TITLES } from '../../src/client/date-range.js';
import { DatedTitles } from '../../src/client/dated-titles.js';

/** @param places by id, unix seconds */
function list(places: Readonly<Record<string, number>>) {
  const ranges = Object.entries(places).map(([id, second]) => ({
    ID: id,
    CLASS: 'net.airsplice.title',
    'START-DATE': new Date(second * 1000).toISOString(),
    'X-TITLE': `song ${id}`,
  }));
  return datedTitles(ranges);
}

function start(t: Test) {
  const next: (string | null)[] = [];
  const titles = new DatedTitles({
    date: () => null,
    reports: null,
    onNext: (record) => {
      if (record !== null) t.equal(record.type, 'next');
      next.push(record?.song ?? null);
    },
    onClose: () => undefined,
  });
  const heard = (second: number) => titles.take(second * 1000).map(({ song }) => song);
  return { titles, heard, next };
}

t.test('the last one at or before the date, once; also where the date goes back, or over several', async (t) => {
  const { titles, heard } = start(t);
  t.strictSame(heard(100), []);
  titles.update(list({ a: 100, b: 110, c: 120 }));
  t.strictSame(heard(99.999), [], 'before all that are known');
  t.strictSame(heard(100), ['song a']);
  t.strictSame(heard(109.999), []);
  t.strictSame(heard(121), ['song c'], 'a player that jumps has not heard what lies between');
  t.strictSame(heard(111), ['song b'], 'and hears again what it goes back to');
});

t.test('from its first date on the newest playlist counts; what was before it stays', async (t) => {
  const { titles, heard } = start(t);
  titles.update(list({ a: 100, wrong: 110, c: 120 }));
  t.strictSame(heard(105), ['song a']);
  titles.update(list({ right: 110, c: 120, d: 130 }));
  t.strictSame(heard(106), [], 'who is behind the list still hears what it heard');
  t.strictSame(heard(112), ['song right'], 'never the wrong one');
  titles.update(list({ 'right.2': 110, c: 120 }));
  t.strictSame(heard(113), ['song right.2'], 'one that is heard is corrected');
  titles.update([]);
  t.strictSame(heard(121), ['song c'], 'a list without titles changes nothing');
  t.strictSame(heard(131), [], 'what a newer list does not have is over');
});

t.test('the next one as soon as it is listed; null when none is', async (t) => {
  const { titles, heard, next } = start(t);
  titles.update(list({ a: 100 }));
  heard(100);
  t.equal(titles.ahead(), null);
  t.strictSame(next, [], 'none was reported');
  titles.update(list({ a: 100, b: 110 }));
  t.equal(titles.ahead(), 110_000);
  t.equal(titles.ahead(), 110_000);
  titles.update(list({ a: 100, 'b.2': 110, c: 115 }));
  t.equal(titles.ahead(), 110_000);
  heard(110);
  t.equal(titles.ahead(), 115_000);
  heard(115);
  t.equal(titles.ahead(), null);
  t.strictSame(next, ['song b', 'song b.2', 'song c', null]);
});

t.test('a play of days keeps what a list can have', async (t) => {
  const { titles, heard } = start(t);
  const count = MAX_TITLES + 1000;
  for (let from = 0; from < count; from += 100)
    titles.update(list(Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`t${from + i}`, from + i]))));
  t.strictSame(heard(count), [`song t${count - 1}`]);
  t.strictSame(heard(1000), ['song t1000']);
  t.strictSame(heard(999), []);
});
