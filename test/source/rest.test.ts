/** When a file on air rests and goes on, against a false clock: a switch and its fakes (kit/switch-harness.ts). */

import t from 'tap';
import { BURST_MS, type FakeSource, STALLS_PER_MINUTE, setUp } from '../kit/switch-harness.js';

const REST_MS = 30_000;
/** It is looked at at whole seconds. */
const LOOK_MS = 1100;

function make(names: readonly string[], restMs = REST_MS) {
  const made = setUp(names, 0, STALLS_PER_MINUTE, Promise.resolve(), restMs);
  for (const fake of made.fakes) fake.mayRest = fake.kind === 'file';
  made.audio.start();
  return made;
}

t.test(
  'a file on air that nobody reads any more rests, is not overdue, and goes on for the next one who reads',
  (t) => {
    const { audio, clock, fakes, heard, pass, rests, changes, events } = make(['encoder', 'file']);
    const [encoder, file] = fakes as [FakeSource, FakeSource];
    file.mayRest = false;
    audio.rest.read(true);
    pass(1000, file);
    audio.rest.read(false);
    pass(REST_MS + 1000, file);
    t.strictSame(rests, [], 'it has not stood still: it is asked again');
    file.mayRest = true;
    pass(LOOK_MS, file);
    t.strictSame(rests, ['rests']);
    clock.advance(100_000);
    t.strictSame([heard(), changes, events], ['file', ['file'], []]);
    audio.rest.read(true);
    audio.rest.read(true);
    t.strictSame(rests, ['rests', 'wakes']);
    pass(REST_MS * 2, file);
    audio.rest.read(false);
    pass(REST_MS - 1000, file);
    t.strictSame(rests, ['rests', 'wakes']);
    pass(1000 + LOOK_MS, file);
    t.strictSame(rests, ['rests', 'wakes', 'rests']);

    encoder.send();
    t.strictSame([heard(), file.running], ['encoder', false], 'a better one takes over as ever');
    pass(REST_MS * 2, encoder);
    encoder.lose();
    file.send();
    t.equal(heard(), 'file');
    t.strictSame(rests, ['rests', 'wakes', 'rests', 'rests'], 'nobody has read it for long: at once');
    audio.rest.read(true);
    t.strictSame(rests, ['rests', 'wakes', 'rests', 'rests', 'wakes']);
    clock.advance(1700);
    t.equal(heard(), null, 'it is overdue as ever');
    t.end();
  },
);

t.test('what nobody has read yet rests from its first frame on, whatever the time', (t) => {
  for (const restMs of [1000, 86_400_000]) {
    const { audio, clock, fakes, heard, rests, changes, events } = make(['file'], restMs);
    const [file] = fakes as [FakeSource];
    clock.advance(500);
    t.strictSame(rests, [], 'there is nothing yet');
    file.send();
    t.strictSame(rests, ['rests']);
    clock.advance(100_000);
    audio.rest.read(true);
    audio.want(true);
    t.strictSame(rests, ['rests', 'wakes']);
    t.equal(file.input.aheadMs, -BURST_MS);
    t.strictSame([heard(), changes, events], ['file', ['file'], []], 'to go on takes it off air for no moment');
  }
  t.end();
});

t.test('what must not rest plays on, also where nobody has read it yet, until it may', (t) => {
  const restMs = { now: Number.POSITIVE_INFINITY };
  const { audio, fakes, pass, rests } = setUp(['file'], 0, STALLS_PER_MINUTE, Promise.resolve(), () => restMs.now);
  const [file] = fakes as [FakeSource];
  file.mayRest = true;
  audio.start();
  pass(REST_MS * 2, file);
  t.strictSame(rests, []);
  restMs.now = REST_MS;
  pass(LOOK_MS, file);
  t.strictSame(rests, ['rests']);
  restMs.now = Number.POSITIVE_INFINITY;
  pass(LOOK_MS);
  t.strictSame(rests, ['rests', 'wakes']);
  pass(REST_MS * 2, file);
  t.strictSame(rests, ['rests', 'wakes']);
  t.end();
});

t.test('behind a rest, however short, all that a listener begins with comes at once', (t) => {
  const { audio, clock, fakes, rests } = make(['file'], 1000);
  const [file] = fakes as [FakeSource];
  file.send('f', 1000);
  clock.advance(1100);
  audio.rest.read(true);
  t.strictSame(rests, ['rests', 'wakes']);
  t.equal(file.input.aheadMs, -BURST_MS);
  t.end();
});

t.test('who reads before the first frame gets as much at once; who has audio of another source, what it lacks', (t) => {
  const { audio, air, fakes, heard, pass, rests } = make(['encoder', 'file']);
  const [encoder, file] = fakes as [FakeSource, FakeSource];
  audio.rest.read(true);
  file.send();
  t.strictSame(rests, ['rests', 'wakes']);
  t.equal(file.input.aheadMs, -BURST_MS + 26, 'its first frame is part of that');
  air.isEmpty = false;
  pass(1000, file);
  pass(1000, encoder);
  encoder.lose();
  file.send();
  t.equal(heard(), 'file');
  t.strictSame(rests, ['rests', 'wakes']);

  const forbidden = make(['file'], Number.POSITIVE_INFINITY);
  forbidden.audio.rest.read(true);
  forbidden.fakes[0]!.send();
  t.strictSame(forbidden.rests, []);
  t.end();
});
