/** Who says what a window has says nothing that is not written: another process that goes on behind `kill -9` would give the same numbers to other segments. */

import { readFileSync } from 'node:fs';
import t from 'tap';
import { KeptHls } from '../kit/kept-hls.js';
import { smallDisk } from '../kit/small-disk.js';
import { StoppedWrite } from '../kit/stopped-write.js';
import { until } from '../kit/until.js';

/** Until another segment is cut, whose number is not written. */
function cutOneMore({ link }: KeptHls): number {
  const before = link.window.lastNumber!;
  while (link.window.lastNumber === before) {
    link.channel.play(0.1);
    link.flow();
  }
  return link.window.lastNumber!;
}

t.test(
  'a write that stands still: it is waited for, a second at most; where all is written nobody waits',
  async (t) => {
    const kept = new KeptHls(t);
    const { link } = kept;
    await kept.pass(30);
    const channel = link.hub.of(link)!;
    t.equal(channel.written(), null, 'all is written');
    t.equal(link.worker.window.lastNumber, link.window.lastNumber, 'and all has been said');
    const write = new StoppedWrite(t, `${kept.index}.part`);
    const number = cutOneMore(kept);
    const waiting = channel.written();
    t.ok(waiting, 'it is not written');
    t.equal(channel.written(), waiting, 'all wait for the same');
    t.equal(link.worker.window.lastNumber, number - 1, 'a worker does not know of it');
    let isOver = false;
    void waiting!.then(() => {
      isOver = true;
    });
    link.channel.clock.advance(900);
    link.flow();
    await Promise.resolve();
    t.notOk(isOver);
    link.channel.clock.advance(200);
    await waiting;
    link.flow();
    t.equal(channel.written(), null, 'a second is over');
    t.equal(link.worker.window.lastNumber, number, 'now it does');
    const next = cutOneMore(kept);
    t.equal(channel.written(), null, 'nor is what follows waited for while it stands still');
    t.equal(link.worker.window.lastNumber, next);
    write.release();
    await kept.files.settled();
    t.equal(JSON.parse(readFileSync(kept.index, 'utf8')).lastNumber, next);
  },
);

t.test('what waits is said at once when it is written', async (t) => {
  const kept = new KeptHls(t);
  const { link } = kept;
  await kept.pass(30);
  const write = new StoppedWrite(t, `${kept.index}.part`);
  const number = cutOneMore(kept);
  t.equal(link.worker.window.lastNumber, number - 1);
  const found = link.worker.hls.file(link.worker.source, link.window.last!.name) as Promise<unknown>;
  link.flow();
  write.release();
  await link.hub.of(link)!.written();
  await until(() => {
    link.flow();
    return link.worker.window.lastNumber === number;
  }, 10_000);
  t.ok(await found, 'who asked for it meanwhile gets it');
  // The pipe is window.json by now: the next one is a file again.
  cutOneMore(kept);
  await kept.files.settled();
  t.ok(JSON.parse(readFileSync(kept.index, 'utf8')).lastNumber > number);
});

t.test('where nothing can be written nobody waits', async (t) => {
  const kept = new KeptHls(t);
  const disk = smallDisk(t, kept.folder, '2m');
  if (disk === null) return t.plan(0, 'a file system cannot be mounted here');
  const { link } = kept;
  await kept.pass(30);
  disk.fill(0);
  await kept.pass(8);
  t.ok(kept.files.faults.size > 0);
  cutOneMore(kept);
  t.equal(link.hub.of(link)!.written(), null);
  t.equal(link.worker.window.lastNumber, link.window.lastNumber);
  await kept.files.settled();
});
