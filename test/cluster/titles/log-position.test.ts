/** From where in the log a node continues after a restart: never behind what it has not read, and with its clock as it was last known. */

import t from 'tap';
import { LogPosition } from '../../../src/cluster/titles/log-position.js';
import { MemoryStore } from '../../kit/memory-store.js';

const applied = async () => undefined;

t.test('it was never in a cluster', async (t) => {
  const { position: place, seq, skewMs } = new LogPosition(new MemoryStore());
  t.same({ place, seq, skewMs }, { place: { epoch: '', seq: 0, id: '' }, seq: 0, skewMs: 0 });
});

t.test('it continues behind the last entry that it has read', async (t) => {
  const store = new MemoryStore();
  const position = new LogPosition(store);
  position.join('first', 4, false);
  position.onCaughtUp();
  position.onRead(5, 'a', false);
  await position.save(0, ['x'], applied);
  const next = new LogPosition(store);
  t.same(next.position, { epoch: 'first', seq: 5, id: 'a' });
  next.join('first', 5, true);
  t.same(next.position, { epoch: 'first', seq: 5, id: 'a' });
});

t.test('while the past is read it would begin again there, though new entries are read', async (t) => {
  const store = new MemoryStore();
  const position = new LogPosition(store);
  position.join('other', 30, false);
  position.onCaughtUp();
  position.join('other', 40, false);
  position.onRead(41, 'a', true);
  t.equal(position.seq, 41);
  await position.save(0, ['x'], applied);
  t.same(new LogPosition(store).position, { epoch: 'other', seq: 0, id: '' });
  position.onCaughtUp();
  await position.save(0, ['x'], applied);
  t.same(new LogPosition(store).position, { epoch: 'other', seq: 41, id: 'a' });
});

t.test('until the past of another life of the data is read, the former one is known', async (t) => {
  const store = new MemoryStore();
  const position = new LogPosition(store);
  position.join('first', 4, false);
  position.onCaughtUp();
  position.onRead(5, 'a', false);
  position.join('other', 40, false);
  position.onRead(41, 'b', true);
  await position.save(0, ['x'], applied);
  t.same(
    [position.position, new LogPosition(store).position],
    [position.position, { epoch: 'first', seq: 5, id: 'a' }],
  );
  position.onCaughtUp();
  t.same(position.position, { epoch: 'other', seq: 41, id: 'b' });
});

t.test('it is saved once what was read is applied, and only when it has changed', async (t) => {
  const store = new MemoryStore();
  const position = new LogPosition(store);
  position.join('first', 7, true);
  let asked = 0;
  const save = (skewMs: number) => {
    return position.save(skewMs, ['x'], async () => {
      asked++;
      t.not(new LogPosition(store).seq, position.seq, 'not before');
    });
  };
  await save(0);
  await position.save(1000, ['x'], async () => void t.fail('a small change of the clock is not saved'));
  t.equal(asked, 1);
  position.onRead(8, 'b', false);
  await save(1001);
  t.equal(new LogPosition(store).skewMs, 1001);
});

t.test('a channel that was not there has the log read from its first entry', async (t) => {
  const store = new MemoryStore();
  const whole = new LogPosition(store);
  whole.begin(['x', 'y']);
  whole.join('first', 7, true);
  whole.onRead(8, 'b', false);
  await whole.save(0, ['x'], applied);
  const same = new LogPosition(store);
  same.begin(['x']);
  t.same([same.position, same.isWhole], [{ epoch: 'first', seq: 8, id: 'b' }, true]);

  const more = new LogPosition(store);
  more.begin(['x', 'y']);
  t.equal(more.isWhole, false);
  await more.save(0, ['x', 'y'], applied);
  const again = new LogPosition(store);
  again.begin(['x', 'y']);
  t.equal(again.isWhole, false, 'it was not read');
  again.join('first', 8, false);
  again.onCaughtUp();
  t.same([again.position.seq, again.isWhole], [8, true]);
  again.expect(['z']);
  t.equal(again.isWhole, false);
  await again.save(0, ['x', 'y', 'z'], applied);
  const last = new LogPosition(store);
  last.begin(['x', 'y']);
  t.equal(last.isWhole, true);
  last.begin(['x', 'y', 'z']);
  t.equal(last.isWhole, false);

  await store.saveDocument('cluster', { epoch: 'first', seq: 9, id: 'c' });
  const earlier = new LogPosition(store);
  earlier.begin(['x']);
  t.equal(earlier.isWhole, true, 'an earlier version did not say which');
});

t.test('what was saved and is malformed counts as nothing', async (t) => {
  const store = new MemoryStore();
  await store.saveDocument('cluster', { epoch: 'first', seq: -1, id: '' });
  t.equal(new LogPosition(store).position.epoch, '');
});
