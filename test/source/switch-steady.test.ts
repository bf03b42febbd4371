/** Losses and stalls that come again and again: what is a pause of a steady source, and when a source is unsteady. */

import t from 'tap';
import { frameOf } from '../kit/frame-of.js';
import { Random } from '../kit/random.js';
import {
  AHEAD_MS,
  BURST_MS,
  CHECK_MS,
  type FakeSource,
  STALL_MS,
  STALLS_PER_MINUTE,
  STEADY_MS,
  setUp,
} from '../kit/switch-harness.js';

t.test('pieces of 0.1 to 5 s are no stalls, whole or in several reads, with jitter, and behind a burst', async (t) => {
  const random = new Random();
  for (const pieceMs of [100, 500, 1000, 1600, 3000, 5000]) {
    for (const reads of [1, 4, 40]) {
      for (const burstMs of [0, 8000]) {
        const { audio, fakes, heard, clock, changes, events } = setUp(['encoder', 'file']);
        const [encoder, file] = fakes as [FakeSource, FakeSource];
        audio.start();
        const frameMs = pieceMs / 40;
        const send = (frames: number) => {
          for (let i = 0; i < frames; i++) encoder.send('e', frameMs);
        };
        send(burstMs / frameMs);
        const startMs = clock.now();
        for (let piece = 0; piece < 60_000 / pieceMs; piece++) {
          // Up to half a second late, and over up to two thirds of its playing time.
          const onTimeMs = startMs + piece * pieceMs + random.int(0, 500);
          const spanMs = reads === 1 ? 0 : (random.next() * pieceMs * 2) / 3;
          for (let read = 0; read < reads; read++) {
            clock.advance(Math.max(0, onTimeMs + (read * spanMs) / reads - clock.now()));
            send(40 / reads);
          }
        }
        const what = `${pieceMs} ms in ${reads} reads behind ${burstMs} ms, seed ${random.seed}`;
        t.strictSame([changes, events, file.starts], [['encoder'], [], 1], what);

        const lastMs = clock.now();
        while (heard() === 'encoder') clock.advance(20);
        const foundMs = clock.now() - lastMs;
        t.ok(
          foundMs >= STALL_MS && foundMs <= pieceMs + 600 + STALL_MS + CHECK_MS,
          `${what}: found after ${foundMs} ms`,
        );
      }
    }
  }
});

t.test(
  'a source that stalls again and again is not on air before it has delivered for a while; nothing flaps',
  async (t) => {
    const { audio, fakes, heard, pass, changes, events } = setUp(['encoder', 'file']);
    const [encoder, file] = fakes as [FakeSource, FakeSource];
    const stall = () => pass(STALL_MS + 300, file);
    const unsteady = () => events.filter((line) => line.endsWith('unsteady'));
    audio.start();
    for (let i = 1; i <= STALLS_PER_MINUTE; i++) {
      pass(2000, encoder, file);
      t.equal(heard(), 'encoder', `back at once, ${i}`);
      t.strictSame(unsteady(), []);
      stall();
    }
    t.strictSame(unsteady(), ['encoder unsteady']);
    const before = changes.length;
    for (let i = 0; i < 20; i++) {
      pass(5000, encoder, file);
      stall();
    }
    t.same([heard(), changes.length], ['file', before], 'two minutes of it: not heard');
    pass(STEADY_MS - 200, encoder, file);
    t.equal(heard(), 'file');
    pass(400, encoder, file);
    t.equal(heard(), 'encoder');
    t.strictSame(unsteady(), ['encoder unsteady', 'encoder no more unsteady'], 'reported once each');
    stall();
    pass(200, encoder, file);
    t.equal(heard(), 'encoder', 'the minute is over: it counts anew');

    for (let i = 0; i < STALLS_PER_MINUTE; i++) {
      stall();
      pass(200, encoder, file);
    }
    t.equal(heard(), 'file');
    encoder.lose();
    pass(STEADY_MS - 200, encoder, file);
    t.equal(heard(), 'file', 'another connection changes nothing of it');
    pass(400, encoder, file);
    t.equal(heard(), 'encoder');
  },
);

t.test(
  'an upstream that is lost again and again is not heard before it has delivered for a while; one loss is no matter',
  async (t) => {
    const { audio, fakes, heard, pass, changes, events } = setUp(['pull', 'file']);
    const [pull, file] = fakes as [FakeSource, FakeSource];
    audio.start();
    for (let i = 1; i <= STALLS_PER_MINUTE; i++) {
      pass(1000, pull, file);
      t.equal(heard(), 'pull', `back at once, ${i}`);
      t.strictSame(events, []);
      pull.lose();
      pass(300, file);
      t.equal(heard(), 'file');
    }
    t.strictSame(events, ['pull unsteady']);
    const before = changes.length;
    for (let i = 0; i < 100; i++) {
      pass(700, pull, file);
      pull.lose();
      pass(300, file);
    }
    t.same([heard(), changes.length], ['file', before], 'a hundred connections: not heard');
    pass(STEADY_MS - 200, pull, file);
    t.equal(heard(), 'file');
    pass(400, pull, file);
    t.equal(heard(), 'pull');
    t.strictSame(events, ['pull unsteady', 'pull no more unsteady'], 'reported once each');

    for (let i = 0; i < STALLS_PER_MINUTE; i++) {
      pull.lose();
      pass(200, file);
      pull.send();
    }
    t.equal(heard(), 'file');
    pull.lose();
    pass(59_000, file);
    pull.send();
    t.equal(heard(), 'file');
    pull.lose();
    pass(60_200, file);
    pull.send();
    t.equal(heard(), 'pull', 'gone for a minute: what was is past');
    t.equal(events.filter((line) => line === 'pull no more unsteady').length, 1, 'it is not reported as well');
  },
);

t.test(
  'what goes on air is ahead of real time by no more than one source may be, and behind by no more than a burst',
  async (t) => {
    const { audio, fakes, clock } = setUp(['pull', 'encoder', 'file']);
    const [pull, encoder] = fakes as [FakeSource, FakeSource];
    audio.start();
    const send = (source: FakeSource, ms: number) => source.input.onFrame(frameOf(Buffer.from('f'), ms, 128, false));
    t.equal(audio.pacer.aheadMs(clock.now()), 0, 'nothing has gone on air');
    t.equal(send(encoder, AHEAD_MS), 0, 'at the limit');
    t.equal(Math.round(send(encoder, 1) * 1000) / 1000, 1, 'and one past it');
    encoder.lose();
    t.equal(send(pull, 100), 100, 'it is the limit of all sources; a wait is no longer than what it waits for');
    t.equal(send(encoder, 100), 0, 'who is not on air waits for nobody');
    clock.advance(3_600_000);
    t.equal(audio.pacer.aheadMs(clock.now()), -BURST_MS);
    send(pull, 100);
    t.equal(audio.pacer.aheadMs(clock.now()), 100 - BURST_MS);
  },
);

t.test('an encoder is heard at once however often it connects anew', async (t) => {
  const { audio, fakes, heard, pass, events } = setUp(['encoder', 'file']);
  const [encoder, file] = fakes as [FakeSource, FakeSource];
  audio.start();
  for (let i = 0; i < 3 * STALLS_PER_MINUTE; i++) {
    pass(1000, encoder, file);
    t.equal(heard(), 'encoder');
    encoder.lose();
    pass(300, file);
    t.equal(heard(), 'file');
  }
  t.strictSame(events, []);
});

t.test('an encoder that comes back while it is waited for has not been lost', async (t) => {
  const { audio, fakes, heard, pass, events } = setUp(['encoder', 'file'], 5000);
  const [encoder, file] = fakes as [FakeSource, FakeSource];
  audio.start();
  for (let i = 0; i < 20; i++) {
    pass(500, encoder, file);
    encoder.lose();
    pass(500, file);
    t.equal(heard(), 'encoder');
  }
  t.strictSame(events, []);
  for (let i = 0; i < STALLS_PER_MINUTE; i++) {
    encoder.lose();
    pass(6000, file);
    t.equal(heard(), 'file');
    encoder.send();
  }
  t.equal(heard(), 'encoder', 'one that comes later is heard at once all the same');
});

t.test('an unsteady source is on air while nothing else has audio', async (t) => {
  const { audio, fakes, heard, pass, events } = setUp(['encoder', 'pull']);
  const [encoder, pull] = fakes as [FakeSource, FakeSource];
  audio.start();
  for (let i = 0; i < STALLS_PER_MINUTE + 2; i++) {
    pass(500, encoder);
    pass(STALL_MS + 300);
    t.equal(heard(), null);
    encoder.send();
    t.equal(heard(), 'encoder', 'it is the only one');
  }
  pass(1000, encoder, pull);
  t.equal(heard(), 'encoder', 'and goes on');
  pass(STALL_MS + 300, pull);
  pass(1000, encoder, pull);
  t.equal(heard(), 'pull');
  pull.lose();
  t.equal(heard(), 'encoder');
  pull.send();
  t.equal(heard(), 'encoder');
  t.ok(events.includes('encoder unsteady'));
});
