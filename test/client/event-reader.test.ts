/** Server-sent events, wherever their bytes were cut, and from a server whose events do not end. */

import t from 'tap';
import { EventReader } from '../../src/client/event-reader.js';

t.test('cut anywhere', async (t) => {
  const text = 'event: x\ndata: one\ndata:two\n\n: a comment\n\nid: 7\r\ndata: {"a":1}\r\n\r\n';
  for (let cut = 0; cut <= text.length; cut++) {
    const seen: string[] = [];
    const reader = new EventReader((data) => seen.push(data));
    reader.push(text.slice(0, cut));
    reader.push(text.slice(cut));
    t.same(seen, ['one\ntwo', '{"a":1}'], `cut at ${cut}`);
  }
});

t.test('an event that does not end: one line of it, or lines and lines', async (t) => {
  for (const piece of ['x'.repeat(10_000), `data: ${'x'.repeat(10_000)}\n`]) {
    const reader = new EventReader(() => undefined);
    t.throws(() => {
      for (let i = 0; i < 200; i++) reader.push(i === 0 ? `data: ${piece}` : piece);
    }, /too long/);
  }
  let count = 0;
  const reader = new EventReader(() => count++);
  for (let i = 0; i < 200; i++) reader.push(`data: ${'x'.repeat(10_000)}\n\n`);
  t.equal(count, 200, 'many that do end');
});
