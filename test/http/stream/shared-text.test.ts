/** A text for all who ask: rendered once a second, and each gets their own URL in it, escaped. */

import t from 'tap';
import { escapeMarkup } from '../../../src/http/markup.js';
import { reachedAt, SharedText } from '../../../src/http/stream/shared-text.js';

t.test('one rendering a second, whatever the hosts', async (t) => {
  let renderings = 0;
  const text = new SharedText(({ base, host }) => `${++renderings} ${base}/a ${host} ${base}/b`, escapeMarkup);
  t.equal(text.for(reachedAt('http://one:1'), 5000), '1 http://one:1/a one http://one:1/b');
  t.equal(text.for(reachedAt('https://[::1]:2'), 5999), '1 https://[::1]:2/a [::1] https://[::1]:2/b');
  t.equal(
    text.for(reachedAt('http://one/x?a&b$&'), 6000),
    '2 http://one/x?a&amp;b$&amp;/a one http://one/x?a&amp;b$&amp;/b',
  );
});
