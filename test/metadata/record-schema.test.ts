/** Records that were made elsewhere, as they come in: a bad cover or image is left out, and the record stays. */

import t from 'tap';
import { check, recordSchema, viewSchema } from '../../src/metadata/record-schema.js';
import { RecordView } from '../../src/metadata/view.js';
import { FACE, makeRecord } from '../kit/record.js';

const OTHER = ['javascript:alert(1)', 'data:,x', '//x/c.jpg', '/admin/killsource?mount=/x', 'c.jpg', 'http:c.jpg'];

t.test('a cover that is not a web URL is left out, the record is read', async (t) => {
  for (const cover of OTHER) {
    const { value, bad } = check(viewSchema, { record: makeRecord({ cover, song: 'kept' }), channel: FACE });
    t.equal(bad, null, cover);
    t.match(value, { record: { cover: '', song: 'kept' } }, cover);
  }
  const cover = 'https://x/c.jpg';
  t.match(check(recordSchema, makeRecord({ cover })).value, { cover });
});

t.test('so is an image, and the others stay as they were written', async (t) => {
  for (const url of OTHER) {
    const images = `{"medium":${JSON.stringify({ url })},"small":{"url":"https://x/s","w":1.0}}`;
    const { value, bad } = check(recordSchema, makeRecord({ images }));
    t.equal(bad, null, url);
    t.equal(value?.images, '{"small":{"url":"https://x/s","w":1.0}}', url);
    t.equal(new RecordView(value!, FACE).cover, 'https://x/s', url);
  }
  t.equal(check(recordSchema, makeRecord({ images: null })).value?.images, null);
});
