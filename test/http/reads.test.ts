/** Headers such as Accept: what they prefer, and that a long one costs next to nothing. */

import t from 'tap';
import { preferred } from '../../src/http/compression.js';
import { prefersHtml } from '../../src/http/page/error-page.js';
import { Languages } from '../../src/http/page/page-texts.js';
import { weighted } from '../../src/http/reads.js';
import { costRatio } from '../kit/cost.js';

/** As long as a head may be (limits.httpHeadBytes). */
const LONG = 32_000;

t.test('items, in their order, with their weights', async (t) => {
  t.strictSame(weighted('a, B;q=0.5;x=y , c ; level=1; Q = 0.25 ,d;q=x,e;q=0'), [
    { name: 'a', q: 1 },
    { name: 'b', q: 0.5 },
    { name: 'c', q: 0.25 },
    { name: 'd', q: 0 },
    { name: 'e', q: 0 },
  ]);
  const items = (count: number) => Array.from({ length: count }, (_, i) => `x${i}`).join(',');
  t.equal(weighted(items(32)).at(-1)!.name, 'x31', 'as many as there may be');
  t.equal(weighted(items(33)).length, 32, 'one more');
  t.strictSame(weighted(`a${';x'.repeat(7)};q=0.5`), [{ name: 'a', q: 0.5 }]);
  t.strictSame(weighted(`a${';x'.repeat(8)};q=0.5`), [{ name: 'a', q: 1 }]);
});

t.test('a head full of items, or of parameters, costs less than to cut it into characters', async (t) => {
  const languages = new Languages({});
  const readers: Record<string, (header: string) => unknown> = {
    'Accept-Encoding': preferred,
    Accept: (header) => prefersHtml(`text/html${header}`),
    'Accept-Language': (header) => languages.languageOf('/', header),
  };
  for (const [name, read] of Object.entries(readers)) {
    for (const part of [',', 'a,', ';', ';q', ' ']) {
      const header = part.repeat(LONG / part.length);
      const ratio = await costRatio(
        1,
        () => read(header),
        () => header.split(''),
      );
      t.ok(
        ratio < 1,
        `${name}: ${JSON.stringify(part)}, again and again, takes ${ratio} times what it takes to cut it`,
      );
    }
  }
});
