/** Which source is on air, when another takes over, and what runs meanwhile: all the time, on demand, or while nothing better has audio. */

import t from 'tap';
import type { AudioFormat } from '../../src/audio/frames/audio-format.js';
import type { Input } from '../../src/source/input.js';
import type { SourceKind } from '../../src/source/source.js';
import { CHECK_MS, FakeSource, LINGER_MS, STALL_MS, setUp } from '../kit/switch-harness.js';

t.test('the better source takes over at once, and the file runs only while nothing better has bytes', async (t) => {
  const { audio, fakes, out, changes, heard, clock } = setUp(['encoder', 'pull', 'file']);
  const [encoder, pull, file] = fakes as [FakeSource, FakeSource, FakeSource];
  t.strictSame([audio.onAir, audio.hopeful], [null, false]);
  audio.start();
  t.strictSame(
    fakes.map((source) => source.starts),
    [1, 1, 1],
  );
  t.equal(audio.hopeful, true);
  file.send('f1');
  t.equal(heard(), 'file');
  pull.send('p1');
  t.equal(heard(), 'pull');
  t.strictSame([file.running, pull.running], [false, true], 'the file is stopped in the same call');
  encoder.send('e1');
  pull.send('p2');
  encoder.send('e2');
  t.strictSame(out, ['f1', 'p1', 'e1', 'e2'], 'each chunk is heard from the first one on, no chunk of another between');
  t.equal(pull.stops, 0, 'a pull that is not on demand stays connected');
  t.strictSame(changes, ['file', 'pull', 'encoder']);
  clock.advance(STALL_MS - CHECK_MS);
  pull.send('p3');
  t.equal(heard(), 'encoder', 'a short silence of the encoder changes nothing');
  t.equal(out.at(-1), 'e2');
});

t.test('an encoder that went is waited for while it was heard, and only then', async (t) => {
  const RETURN_MS = 5000;
  const { audio, fakes, heard, changes, clock, titles } = setUp(['encoder', 'file'], RETURN_MS);
  const [encoder, file] = fakes as [FakeSource, FakeSource];
  audio.start();
  encoder.send();
  await encoder.input.onTitle('Song');
  encoder.lose();
  clock.advance(RETURN_MS - CHECK_MS);
  t.same([heard(), file.running], ['encoder', false], 'no other source takes its place');
  encoder.send();
  t.equal(audio.titleOnAir, 'Song', 'it goes on as it was');
  clock.advance(RETURN_MS - CHECK_MS);
  t.equal(heard(), 'encoder', 'a stall is the same');
  encoder.lose();
  clock.advance(3 * CHECK_MS);
  t.same([heard(), file.running, audio.titleOnAir], [null, true, undefined], 'but no longer');
  file.send();
  encoder.send('back');
  t.same(changes, ['encoder', null, 'file', 'encoder']);
  t.same(titles, ['encoder: Song'], 'another stream: its title is not used again');

  const other = setUp(['pull', 'encoder', 'file'], RETURN_MS);
  const [pull, second, last] = other.fakes as [FakeSource, FakeSource, FakeSource];
  other.audio.start();
  second.send();
  pull.send();
  second.lose();
  pull.lose();
  last.send();
  t.equal(other.heard(), 'file', 'a source that was not heard is not waited for');

  const spare = setUp(['pull', 'encoder', 'file'], RETURN_MS);
  const [main, stalled] = spare.fakes as [FakeSource, FakeSource, FakeSource];
  spare.audio.start();
  stalled.send();
  spare.pass(STALL_MS + CHECK_MS, main);
  t.equal(spare.heard(), 'pull');
  main.lose();
  t.equal(spare.heard(), null, 'nor is one that stalled while another source was heard');
});

const format = (codec: AudioFormat['codec'], sampleRate: number, channels = 2): AudioFormat => ({
  codec,
  sampleRate,
  channels,
});

t.test(
  'of several files the one in the format on air: codec, then rate, then channels, else as configured',
  async (t) => {
    const { audio, air, fakes, heard, clock } = setUp(['encoder', 'file1', 'file2', 'file3', 'file4']);
    const [encoder, ...files] = fakes as [FakeSource, ...FakeSource[]];
    const formats = [format('mp3', 44_100), format('aac', 44_100), format('aac', 48_000, 1), format('aac', 48_000)];
    for (const [i, file] of files.entries()) {
      file.format = formats[i]!;
      file.onStart = () => {
        file.send();
        air.format = file.format;
      };
    }
    audio.start();
    t.equal(heard(), 'file1', 'nothing has played: as configured');
    for (const [playing, best] of [
      [format('aac', 48_000), 'file4'],
      [format('aac', 48_000, 1), 'file3'],
      [format('aac', 22_050, 1), 'file3'],
      [format('aac', 22_050), 'file2'],
      [format('mp3', 22_050), 'file1'],
      [format('opus', 48_000), 'file1'],
      [format('aac', 0, 0), 'file2'],
    ] as const) {
      encoder.send();
      air.format = playing;
      clock.advance(CHECK_MS);
      t.equal(heard(), 'encoder');
      const starts = files.map((file) => file.starts);
      encoder.lose();
      t.equal(heard(), best);
      clock.advance(CHECK_MS);
      t.equal(heard(), best, 'and no other is heard on the way');
      t.same(
        files.filter((file, i) => file.starts > starts[i]!).map(({ name }) => name),
        [best],
      );
    }
  },
);

t.test('a file that cannot be played: the next best at once; one that hangs is not waited for', async (t) => {
  const { audio, air, fakes, heard, clock, pass } = setUp(['encoder', 'file1', 'file2', 'file3']);
  const [encoder, one, two, three] = fakes as [FakeSource, FakeSource, FakeSource, FakeSource];
  one.format = format('mp3', 44_100);
  two.format = format('aac', 44_100);
  three.format = format('aac', 48_000);
  audio.start();
  encoder.send();
  air.format = format('aac', 48_000);
  pass(200, encoder);
  three.onStart = () => three.lose('no such file');
  encoder.lose();
  t.same([one.running, two.running, three.running], [false, true, true]);
  clock.advance(400);
  t.notOk(one.running);
  clock.advance(200);
  t.ok(one.running, 'the second best has hung for half a second');
  one.send();
  t.equal(heard(), 'file1');
  air.format = one.format;
  pass(CHECK_MS, one);
  t.same([one.running, two.running, three.running], [true, false, false], 'what plays now is in the format on air');
});

t.test('stall: the next one is heard after stallMs, the better one again with its first frames', async (t) => {
  const { fakes, audio, heard, pass, clock, reasons, changes } = setUp(['encoder', 'pull', 'file']);
  const [encoder, pull, file] = fakes as [FakeSource, FakeSource, FakeSource];
  audio.start();
  pass(1000, encoder, pull);
  t.equal(heard(), 'encoder');
  pass(STALL_MS - 200, pull);
  t.equal(heard(), 'encoder');
  pass(200 + CHECK_MS, pull);
  t.equal(heard(), 'pull');
  t.equal(reasons.at(-1), 'stalled');
  t.equal(file.running, false, 'a pull that has bytes leaves no gap for the file');
  encoder.send();
  t.equal(heard(), 'encoder');
  clock.advance(STALL_MS + CHECK_MS);
  t.equal(heard(), null, 'both stalled');
  t.equal(file.running, true);
  file.send();
  t.strictSame(changes.slice(-2), [null, 'file']);
});

t.test('loss: the next one is heard at once, and the file is started at once', async (t) => {
  const { fakes, audio, heard, out, reasons } = setUp(['encoder', 'pull', 'file']);
  const [encoder, pull, file] = fakes as [FakeSource, FakeSource, FakeSource];
  audio.start();
  pull.send();
  encoder.send();
  encoder.lose('the connection failed');
  t.strictSame([heard(), reasons.at(-1)], ['pull', 'the connection failed']);
  pull.lose();
  t.equal(heard(), null);
  t.strictSame([file.running, pull.running, pull.stops], [true, true, 0]);
  file.send('f');
  t.equal(out.at(-1), 'f');
  file.lose();
  t.equal(heard(), null, 'the loss of the last resort is a loss');
  encoder.lose('again');
  t.equal(heard(), null);
  encoder.send();
  t.equal(heard(), 'encoder');
  t.equal(file.running, false);
});

t.test('on demand: runs from the first listener until the last has been gone for lingerMs', async (t) => {
  const { fakes, audio, heard, pass, clock, changes } = setUp(['demand']);
  const [pull] = fakes as [FakeSource];
  audio.start();
  clock.advance(60_000);
  t.strictSame([pull.starts, audio.hopeful], [0, false]);
  audio.want(true);
  t.strictSame([pull.starts, audio.hopeful], [1, true]);
  pass(5000, pull);
  t.equal(heard(), 'demand');
  audio.want(false);
  pass(LINGER_MS - 200, pull);
  t.equal(pull.stops, 0);
  audio.want(true);
  pass(LINGER_MS * 2, pull);
  t.strictSame([pull.stops, pull.starts, heard()], [0, 1, 'demand'], 'a listener came back in time: no new connection');
  audio.want(false);
  pass(LINGER_MS + 200, pull);
  t.strictSame([pull.stops, pull.running, heard()], [1, false, null]);
  t.equal(changes.at(-1), null);
  audio.want(true);
  t.equal(pull.starts, 2);
  audio.want(false);
  audio.want(true);
  audio.want(false);
  t.strictSame([pull.starts, pull.stops], [2, 1]);
  clock.advance(LINGER_MS + CHECK_MS);
  t.equal(pull.stops, 2, 'one that never had bytes is stopped too');
});

t.test('on demand behind an encoder: runs only while it is needed', async (t) => {
  const { fakes, audio, heard, pass } = setUp(['encoder', 'demand', 'file']);
  const [encoder, pull, file] = fakes as [FakeSource, FakeSource, FakeSource];
  audio.start();
  pass(500, encoder);
  audio.want(true);
  pass(500, encoder);
  t.equal(pull.starts, 0);
  encoder.lose();
  t.strictSame([pull.starts, file.running], [1, true]);
  file.send();
  pull.send();
  t.strictSame([heard(), file.running], ['demand', false]);
  encoder.send();
  t.strictSame([heard(), pull.running], ['encoder', false]);
  encoder.lose();
  audio.want(false);
  t.equal(pull.running, true, 'linger');
  pass(LINGER_MS + CHECK_MS, file);
  t.strictSame([heard(), pull.running], ['file', false]);
});

t.test('a source that delivers, or is lost, inside start()', async (t) => {
  const a = setUp(['pull', 'file']);
  const [pull, file] = a.fakes as [FakeSource, FakeSource];
  file.onStart = () => file.send('f');
  pull.onStart = () => pull.lose('refused');
  a.audio.start();
  t.strictSame([a.heard(), a.out, pull.starts, file.starts], ['file', ['f'], 1, 1]);
  pull.send('p');
  t.strictSame([a.heard(), file.running], ['pull', false]);
  pull.lose('gone');
  t.strictSame([a.heard(), a.out, file.starts, file.stops], ['file', ['f', 'p', 'f'], 2, 1]);

  const b = setUp(['demand', 'file']);
  const [demand, last] = b.fakes as [FakeSource, FakeSource];
  demand.onStart = () => demand.send('d');
  last.onStart = () => last.send('f');
  b.audio.start();
  b.audio.want(true);
  t.strictSame([b.heard(), b.out, last.running], ['demand', ['f', 'd'], false]);
  demand.onStart = () => demand.lose('refused');
  demand.lose('gone');
  t.strictSame([b.heard(), demand.running], ['file', true]);

  const c = setUp(['file1', 'file2', 'file3']);
  for (const source of c.fakes) {
    source.onStart = () => {
      source.lose();
      source.send();
    };
  }
  c.audio.start();
  t.strictSame([c.heard(), c.fakes.map((source) => source.running)], ['file1', [true, false, false]]);
});

t.test('stop: everything is let go of, and what still comes is not heard', async (t) => {
  const { fakes, audio, out, clock, changes } = setUp(['encoder', 'demand', 'file']);
  const [encoder, pull, file] = fakes as [FakeSource, FakeSource, FakeSource];
  audio.start();
  audio.want(true);
  encoder.send('e');
  audio.stop();
  t.strictSame(
    fakes.map((source) => source.running),
    [false, false, false],
  );
  encoder.send('late');
  file.send('late');
  encoder.lose();
  audio.want(true);
  clock.advance(60_000);
  t.strictSame(out, ['e']);
  t.strictSame(changes, ['encoder']);
  t.strictSame([encoder.starts, pull.starts, file.starts], [1, 1, 1]);
});

t.test(
  'sources change while one that has gone still plays: each keeps its place, and it plays on until the next one has bytes',
  (t) => {
    const { audio, fakes, heard, pass, changes } = setUp(['pull', 'file']);
    const [pull, file] = fakes as [FakeSource, FakeSource];
    const settings = { onDemand: false, lingerMs: 0, returnMs: 0, bitrateKbps: 0 };
    const made: FakeSource[] = [];
    const fresh = (name: string, kind: SourceKind) => ({
      settings,
      from: null,
      make: (input: Input) => made[made.push(new FakeSource(name, kind, input)) - 1]!,
    });
    const stays = (from: number) => ({ settings, from, make: () => t.fail('it is there') as never });
    audio.start();
    pass(1000, pull);
    audio.replace([fresh('other', 'pull'), stays(1)]);
    t.equal(heard(), 'pull', 'the other one has no bytes yet');
    audio.replace([stays(0), fresh('encoder', 'encoder'), stays(1)]);
    const [other, encoder] = made as [FakeSource, FakeSource];
    t.same(audio.sources, [other, encoder, file]);
    pass(1000, pull);
    t.equal(heard(), 'pull', 'it still plays');
    t.same(changes, ['pull'], 'nothing was heard between');
    pass(200, pull, other);
    t.equal(heard(), 'other');
    t.notOk(pull.running, 'then it ends');

    audio.replace([fresh('third', 'pull'), stays(2)]);
    t.equal(heard(), 'other');
    audio.replace([stays(1)]);
    t.notOk(other.running, 'what it waited for has gone: so does it');
    pass(200, file);
    t.equal(heard(), 'file');
    t.end();
  },
);
