/** Which input is to be on air, where an operator has pinned one, and where a reload takes out the one on air. No input here takes the air by itself. */

import t from 'tap';
import { Input, type InputOwner } from '../../src/source/input.js';
import { OrderedInputs } from '../../src/source/ordered-inputs.js';
import { AirPacer } from '../../src/source/pacer.js';
import type { SourceKind } from '../../src/source/source.js';
import { FakeClock } from '../kit/clock.js';
import {
  AHEAD_MS,
  BURST_MS,
  FakeSource,
  PIECE_MS,
  STALL_MS,
  STALLS_PER_MINUTE,
  STEADY_MS,
} from '../kit/switch-harness.js';

/** For how long one that is leaving stays, and one that is pinned may take to deliver. */
const WAIT_MS = 10_000;

function setUp(...names: readonly string[]) {
  const clock = new FakeClock();
  const options = {
    stallMs: STALL_MS,
    pieceMs: PIECE_MS,
    stallsPerMinute: STALLS_PER_MINUTE,
    steadyMs: STEADY_MS,
    silentMs: 60_000,
    aheadMs: AHEAD_MS,
    burstMs: BURST_MS,
    restMs: Number.POSITIVE_INFINITY,
  };
  const inputs = new OrderedInputs({ format: null });
  const nothing = () => undefined;
  const owner: InputOwner = {
    output: {
      format: null,
      isEmpty: true,
      onFrame: nothing,
      onTitle: async () => undefined,
      onSourceChanged: nothing,
      onRest: nothing,
      onEvent: nothing,
    },
    pacer: new AirPacer(options),
    claimAir: () => false,
    isOnAir: (input) => input === inputs.onAir,
    lookBy: nothing,
    check: nothing,
  };
  const nameOf = (input: Input | null) => (input === null ? null : (input.source as FakeSource).name);
  const make = (name: string) => {
    const settings = { onDemand: false, lingerMs: 0, returnMs: 0, bitrateKbps: 0 };
    const source = (input: Input) => new FakeSource(name, name.replace(/\d/, '') as SourceKind, input);
    return new Input(owner, { settings, make: source }, clock, options);
  };
  const made = names.map(make);
  for (const input of made) inputs.add(input);
  return {
    clock,
    inputs,
    made,
    make,
    send: (...senders: readonly Input[]) => {
      for (const { source } of senders) (source as FakeSource).send();
    },
    best: () => nameOf(inputs.best(clock.now())),
    onAir: () => nameOf(inputs.onAir),
    all: () => inputs.all.map((input) => nameOf(input)),
  };
}

t.test('what is pinned is better than all, until it is lost', async (t) => {
  const { clock, inputs, made, send, best } = setUp('encoder', 'pull', 'file');
  const [encoder, pull, file] = made as [Input, Input, Input];
  send(...made);
  t.equal(best(), 'encoder');
  inputs.put(encoder);
  inputs.pin(pull, clock.now());
  t.strictSame([best(), inputs.isPinComing, inputs.takesOver(pull)], ['pull', true, true]);
  inputs.put(pull);
  t.strictSame([inputs.isPinComing, inputs.takesOver(encoder)], [false, false]);
  t.ok(inputs.isBetterOnAir(encoder), 'also than what stands before it');
  inputs.put(file);
  t.equal(inputs.pinned, null, 'it was lost');
  t.strictSame([best(), inputs.takesOver(encoder), inputs.isBetterOnAir(encoder)], ['encoder', true, false]);
});

t.test('what is pinned and does not come is pinned no more; one that is taken out neither', async (t) => {
  const { clock, inputs, made, make, send } = setUp('encoder', 'pull');
  const [encoder, pull] = made as [Input, Input];
  send(encoder);
  inputs.put(encoder);
  inputs.pin(pull, clock.now());
  clock.advance(WAIT_MS);
  inputs.unpinLost(clock.now());
  t.equal(inputs.pinned, pull);
  clock.advance(1);
  inputs.unpinLost(clock.now());
  t.equal(inputs.pinned, null);

  inputs.pin(pull, clock.now());
  clock.advance(WAIT_MS + 1);
  send(pull);
  inputs.unpinLost(clock.now());
  t.equal(inputs.pinned, pull, 'it has come');
  inputs.replace([encoder, make('pull2')], clock.now());
  t.equal(inputs.pinned, null);
});

t.test(
  'taken out, the one on air stays behind what is waited for: until that is on air, or its time is up',
  async (t) => {
    for (const isInTime of [true, false]) {
      const { clock, inputs, made, make, send, best, onAir, all } = setUp('pull', 'file');
      const [pull, file] = made as [Input, Input];
      send(pull);
      inputs.put(pull);
      const other = make('pull2');
      inputs.replace([other, file], clock.now());
      t.strictSame(all(), ['pull2', 'pull', 'file']);
      t.strictSame([inputs.own, inputs.isLeaving, onAir(), best()], [[other, file], true, 'pull', 'pull']);
      clock.advance(WAIT_MS - 1);
      const third = make('pull3');
      inputs.replace([other, file, third], clock.now());
      t.strictSame(all(), ['pull2', 'pull', 'file', 'pull3'], 'another reload gives it no more time');
      t.notOk(inputs.endLeaving(clock.now()));
      if (isInTime) {
        send(other);
        t.ok(inputs.takesOver(other));
        inputs.put(other);
      } else {
        clock.advance(1);
        t.ok(inputs.endLeaving(clock.now()));
      }
      t.strictSame([all(), onAir()], [['pull2', 'file', 'pull3'], isInTime ? 'pull2' : null]);
      t.strictSame([(pull.source as FakeSource).stops, inputs.isLeaving], [1, false], 'it has ended, once');
    }
  },
);

t.test('taken out, the one on air ends at once where nothing new is worth waiting for', async (t) => {
  for (const [before, next] of [
    ['pull', ['file2', 'kept']],
    ['pull', ['encoder', 'kept']],
    ['pull', ['kept', 'pull2']],
    ['file', ['pull2', 'kept']],
  ] as const) {
    const { clock, inputs, made, make, onAir } = setUp(before, 'kept');
    const [gone, kept] = made as [Input, Input];
    inputs.put(gone);
    inputs.replace(
      next.map((name) => (name === 'kept' ? kept : make(name))),
      clock.now(),
    );
    t.strictSame(
      [onAir(), inputs.isLeaving, (gone.source as FakeSource).stops],
      [null, false, 1],
      `${before}, ${next}`,
    );
  }
});
