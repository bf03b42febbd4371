import { createHash } from 'node:crypto';
import t from 'tap';
import { saltedToken } from '../../src/statistics/salts.js';
import { Sketch, tokenOf } from '../../src/statistics/sketch.js';

const token = (i: number, salt = 'a') => saltedToken(salt, String(i));

t.test('counts different listeners, however often each comes', async (t) => {
  for (const count of [0, 1, 2, 10, 32, 33, 100, 1000, 10_000, 200_000]) {
    const sketch = new Sketch();
    for (let i = 0; i < count; i++) {
      sketch.add(token(i));
      if (i % 3 === 0) sketch.add(token(i));
    }
    // Four standard errors; few are exact but for two in one register.
    const off = count <= 33 ? 1 : count * 4 * 0.023;
    t.ok(Math.abs(sketch.count - count) <= off, `${count}: ${sketch.count}`);
    t.equal(Sketch.of(sketch.text).count, sketch.count, 'as text and back');
  }
});

t.test('two of one salt make one; of two salts nothing is found again', async (t) => {
  const [one, other, salted] = [new Sketch(), new Sketch(), new Sketch()];
  for (let i = 0; i < 2000; i++) {
    if (i < 1200) one.add(token(i));
    if (i >= 800) other.add(token(i));
    salted.add(token(i, 'b'));
  }
  one.merge(other);
  t.ok(Math.abs(one.count - 2000) < 200, `${one.count}`);
  one.merge(salted);
  t.ok(Math.abs(one.count - 4000) < 400, `${one.count}`);
  const few = new Sketch();
  few.add(token(1));
  few.merge(new Sketch());
  t.equal(few.count, 1);
});

t.test('what is no sketch is an empty one, and ranks keep their bounds', async (t) => {
  for (const text of ['', 'x', 'r', 'rAAAA', 'l!']) t.equal(Sketch.of(text).count, 0, text);
  t.equal(Sketch.of(`r${Buffer.alloc(2048, 255).toString('base64')}`).count, 0);
  t.equal(tokenOf(Buffer.alloc(6)) & 31, 31, 'a hash of zeros');
  t.equal(tokenOf(Buffer.alloc(6, 255)) & 31, 1);
  const hashes = Array.from({ length: 100 }, (_, i) => createHash('sha256').update(String(i)).digest());
  t.ok(hashes.every((hash) => tokenOf(hash) < 65_536));
});
