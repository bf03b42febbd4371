/** Titles of the source on air and of the others, and audio that waits for its title. */

import t from 'tap';
import { CHECK_MS, type FakeSource, PIECE_MS, STALL_MS, STALLS_PER_MINUTE, setUp } from '../kit/switch-harness.js';

t.test('titles: of the source on air; of another one when it is on air', async (t) => {
  const { fakes, audio, titles } = setUp(['encoder', 'pull', 'file']);
  const [encoder, pull] = fakes as [FakeSource, FakeSource, FakeSource];
  audio.start();
  await pull.input.onTitle('first');
  pull.send();
  t.strictSame(titles, ['pull: first'], 'a block may stand before the first whole frame');
  await pull.input.onTitle('one');
  encoder.send();
  await pull.input.onTitle('two');
  await pull.input.onTitle('three');
  t.strictSame(titles, ['pull: first', 'pull: one'], 'the pull is not heard now');
  encoder.lose();
  t.strictSame(titles, ['pull: first', 'pull: one', 'pull: three'], 'the title in force where it comes back');
  encoder.send();
  pull.lose();
  pull.send();
  encoder.lose();
  t.equal(titles.length, 3, 'a title from before a loss is not used again');
  encoder.send();
  encoder.lose();
  t.equal(titles.length, 3);
});

t.test(
  'a title sent beside the stream: of the source on air; of one that is connected when it is on air',
  async (t) => {
    const { fakes, audio, titles } = setUp(['encoder', 'pull']);
    const [encoder, pull] = fakes as [FakeSource, FakeSource];
    audio.start();
    pull.send();
    await audio.title(encoder, 'not connected');
    t.strictSame(titles, ['encoder: not connected'], 'another program speaks for it: at once');
    encoder.state = 'up';
    await audio.title(encoder, 'before its audio');
    t.equal(titles.length, 1);
    encoder.send();
    t.equal(titles.at(-1), 'encoder: before its audio');
    await audio.title(encoder, 'live');
    t.equal(titles.at(-1), 'encoder: live');
    encoder.lose();
    pull.send();
    encoder.send();
    t.equal(titles.length, 3, 'a title from before a loss is not used again');
  },
);

t.test('a source that is not read while its title is saved has not stalled, up to the longest piece', async (t) => {
  let save: () => void = () => undefined;
  const saved = new Promise<void>((done) => (save = done));
  const { audio, fakes, heard, clock } = setUp(['pull', 'file'], 0, STALLS_PER_MINUTE, saved);
  const [pull] = fakes as [FakeSource, FakeSource];
  audio.start();
  pull.send();
  const title = pull.input.onTitle('a slow disk');
  clock.advance(4 * STALL_MS);
  t.equal(heard(), 'pull');
  save();
  await title;
  clock.advance(STALL_MS - CHECK_MS);
  t.equal(heard(), 'pull', 'and then has as long as ever');
  clock.advance(3 * CHECK_MS);
  t.equal(heard(), null);

  const never = setUp(['pull', 'file'], 0, STALLS_PER_MINUTE, new Promise(() => undefined));
  const [other] = never.fakes as [FakeSource, FakeSource];
  never.audio.start();
  other.send();
  void other.input.onTitle('a disk that hangs');
  never.clock.advance(PIECE_MS + STALL_MS - CHECK_MS);
  t.equal(never.heard(), 'pull');
  never.clock.advance(3 * CHECK_MS);
  t.equal(never.heard(), null);
});

t.test(
  'audio waits for the title that stands before it: until it is saved, for 250 ms, or until its source is gone',
  async (t) => {
    const { fakes, audio, out, pass, clock } = setUp(
      ['encoder', 'file'],
      0,
      STALLS_PER_MINUTE,
      new Promise(() => undefined),
    );
    const [encoder, file] = fakes as [FakeSource, FakeSource];
    audio.start();
    file.send();
    const begin = () => {
      void encoder.input.onTitle('a slow disk');
      out.length = 0;
      encoder.send('one');
      encoder.send('two');
      t.strictSame(out, []);
    };
    begin();
    pass(200);
    t.strictSame(out, []);
    pass(50 + CHECK_MS);
    t.strictSame(out, ['one', 'two'], 'no longer than that');
    encoder.send('three');
    t.strictSame(out, ['one', 'two', 'three']);
    encoder.lose();
    begin();
    encoder.lose();
    t.strictSame(out, ['one', 'two'], 'what came is heard');
    begin();
    clock.advance(2 * STALL_MS);
    t.strictSame(out, ['one', 'two'], 'once');

    let resolve = () => {};
    const saved = new Promise<void>((done) => {
      resolve = done;
    });
    const other = setUp(['encoder', 'file'], 0, STALLS_PER_MINUTE, saved);
    other.audio.start();
    void other.fakes[0]!.input.onTitle('a disk');
    other.fakes[0]!.send('one');
    t.strictSame(other.out, []);
    resolve();
    await saved;
    t.strictSame(other.out, ['one'], 'at once');
  },
);

t.test('frames that waited for a title go on in turns of 2,000, in order, and a loss comes behind them', async (t) => {
  const COUNT = 5000;
  const AT_ONCE = 2000;
  const numbers = (count: number) => Array.from({ length: count }, (_, i) => `${i}`);
  const begin = () => {
    let resolve = () => {};
    const saved = new Promise<void>((done) => {
      resolve = done;
    });
    const made = setUp(['encoder', 'file'], 0, STALLS_PER_MINUTE, saved);
    const [encoder, file] = made.fakes as [FakeSource, FakeSource];
    made.audio.start();
    void encoder.input.onTitle('a slow disk');
    for (const number of numbers(COUNT)) encoder.send(number, 1);
    t.strictSame(made.out, []);
    resolve();
    return { ...made, encoder, file, saved };
  };
  const first = begin();
  await first.saved;
  t.equal(first.out.length, AT_ONCE, 'so many in one turn');
  first.encoder.send(`${COUNT}`);
  t.equal(first.out.length, AT_ONCE, 'what comes meanwhile waits its turn');
  first.pass(100);
  t.strictSame(first.out, numbers(COUNT + 1), 'all of them, in order');
  first.encoder.send('live');
  t.equal(first.out.at(-1), 'live');

  const lost = begin();
  lost.encoder.lose();
  t.strictSame([lost.out.length, lost.heard()], [AT_ONCE, 'encoder']);
  lost.pass(40);
  t.strictSame([lost.out.length, lost.heard()], [2 * AT_ONCE, 'encoder']);
  lost.pass(40);
  t.strictSame(lost.out, numbers(COUNT));
  t.equal(lost.heard(), null, 'it is lost behind its last frame');

  const back = begin();
  back.encoder.lose();
  back.encoder.send('again');
  t.strictSame(back.out, [...numbers(COUNT), 'again'], 'it came back at once: its new stream follows the old one');
  t.strictSame(back.changes, ['encoder', null, 'encoder']);
  back.pass(200);
  t.equal(back.out.length, COUNT + 1);

  const left = setUp(['encoder', 'pull', 'file'], 0, STALLS_PER_MINUTE, new Promise(() => undefined));
  const [better, heard] = left.fakes as [FakeSource, FakeSource];
  left.audio.start();
  void heard.input.onTitle('a slow disk');
  for (const number of numbers(COUNT)) heard.send(number, 1);
  heard.lose();
  better.send('better');
  left.pass(200, better);
  t.strictSame(left.out.slice(AT_ONCE - 1, AT_ONCE + 1), [`${AT_ONCE - 1}`, 'better'], 'a better source ends it');
  better.lose();
  t.equal(left.heard(), null, 'the loss counts');
});
