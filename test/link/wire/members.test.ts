/** Each message of a tape, with each of its members at every boundary: it ends its link with an error that names both, or the tape can be used. */

import t from 'tap';
import type { OggSegment } from '../../../src/audio/ogg/ogg-segment.js';
import type { AudioTape } from '../../../src/audio/tape/audio-tape.js';
import { inForceAt } from '../../../src/audio/tape/segment.js';
import { TapeNames } from '../../../src/link/tapes/tape-names.js';
import { TapeReceiver } from '../../../src/link/tapes/tape-receiver.js';
import { TapeSender } from '../../../src/link/tapes/tape-sender.js';
import { LinkConnection } from '../../../src/link/wire/link-connection.js';
import { greeting } from '../../../src/link/wire/link-version.js';
import { readMembers, text, whole } from '../../../src/link/wire/members.js';
import { MessageReader, WireError } from '../../../src/link/wire/wire.js';
import { FakeClock } from '../../kit/clock.js';
import { framed, uint32 } from '../../kit/lies.js';
import { LinkHarness } from '../../kit/link-harness.js';
import { asStream, linkPipe } from '../../kit/link-pipe.js';
import { fromHub, fromWorker, type KnownMessage, storyOf, type TapeKind } from '../../kit/tape-lies.js';

t.test('a member that is not what it should be is named', async (t) => {
  const members = { channel: text(3), count: whole(10, 1) };
  const read = (...parts: Buffer[]) => readMembers(new MessageReader(Buffer.concat(parts), true), members);
  const channel = Buffer.concat([uint32(3), Buffer.from('abc')]);
  t.same(read(channel, uint32(10)), { channel: 'abc', count: 10 });
  t.throws(() => read(channel, uint32(11)), new WireError('count: 11 is not within 1 to 10'));
  t.throws(() => read(channel, uint32(0)), new WireError('count: 0 is not within 1 to 10'));
  t.throws(() => read(channel), new WireError('count: a message is too short'));
  t.throws(() => read(uint32(4), Buffer.from('abcd'), uint32(1)), new WireError('channel: 4 is not within 0 to 3'));
  t.throws(() => read(uint32(2), Buffer.of(0xc0, 0x80), uint32(1)), new WireError('channel: it is not UTF-8'));
});

/** All that listeners, and hubs that take it over, ask of a tape. */
function use(tape: AudioTape): void {
  for (const burstMs of [0, 1, 1000, 10_000, 600_000]) for (const moreMs of [0, 1000]) tape.joinAt(burstMs, moreMs);
  for (let seq = tape.tail; seq < tape.head; seq++) {
    const segment = tape.at(seq)!;
    void [segment.plain, segment.titled, segment.titledFor(segment.before), segment.enteredBehind(Buffer.alloc(20))];
    for (const icy of [true, false]) {
      if (segment.entry >= 0) segment.entered(icy);
      tape.rest(seq, icy);
      const rendering = tape.rendering(icy);
      for (let next = seq; rendering !== null && next < tape.head; next++) {
        const one = tape.at(next)! as OggSegment;
        rendering.next(next === seq ? one.entered() : one.plain, one);
      }
    }
    inForceAt(segment, segment.endMs);
    tape.lastEntry(seq);
  }
  for (const icy of [true, false]) tape.rest(tape.head, icy);
}

/** Of segments: where that is looked at, not each is used with each that comes. */
const MANY = 100;

interface Outcome {
  readonly error: Error | undefined;
  readonly tape: AudioTape | undefined;
}

/** A worker that is sent this of one channel, and uses what it has then. */
function worker(messages: readonly Buffer[]): Outcome {
  const [clock, pipe, errors] = [new FakeClock(), linkPipe(), [] as Error[]];
  const receiver = new TapeReceiver(clock, 1000);
  receiver.connect(
    new LinkConnection(asStream(pipe.worker), (error) => errors.push(error as Error), { peer: 'node b' }),
  );
  const audio = receiver.audio('demo');
  audio.want(true);
  audio.observe({
    onGrown: () => audio.tape && audio.tape.head < MANY && use(audio.tape),
    onLate: () => undefined,
    onFence: () => undefined,
    onTape: () => undefined,
  });
  pipe.hub.write(greeting());
  for (const message of messages) {
    pipe.hub.write(message);
    pipe.hub.deliver(Number.POSITIVE_INFINITY);
    clock.advance(10);
  }
  const { tape } = audio;
  if (tape !== undefined && tape.tail !== Number.POSITIVE_INFINITY && tape.head < MANY) use(tape);
  return { error: errors[0], tape };
}

for (const kind of ['frames', 'ogg'] satisfies TapeKind[]) {
  t.test(`from a hub, of a tape of ${kind}`, async (t) => {
    t.equal(worker(storyOf(kind)).error, undefined, 'what is honest is taken');
    const ended = new Map<string, number>();
    for (const message of fromHub(kind)) {
      const { name, type } = message;
      for (const { what, payload } of message.lies()) {
        const lie = framed(type, Buffer.concat([uint32(1), payload]));
        try {
          // Once at its place, and once more behind it: numbers are to go on from there.
          const { error } = worker([...message.before, lie, ...message.after]);
          if (error === undefined) continue;
          ended.set(name, (ended.get(name) ?? 0) + 1);
          if (!(error instanceof WireError) || !error.message.startsWith('node b: message '))
            t.fail(`${what}: ${error}`);
        } catch (error) {
          t.fail(`${name}: ${what}: ${(error as Error).stack}`);
        }
      }
    }
    for (const { name } of fromHub(kind)) t.ok(ended.has(name) || name === 'NO_TAPE', name);
  });
}

t.test('from a worker', async (t) => {
  for (const message of fromWorker()) {
    let ended = 0;
    for (const { what, payload } of message.lies()) {
      const harness = new LinkHarness();
      harness.title();
      harness.play(3000);
      const [pipe, errors] = [linkPipe(), [] as Error[]];
      const connection = new LinkConnection(asStream(pipe.hub), (error) => errors.push(error as Error), {
        peer: 'worker 3',
      });
      const sender = new TapeSender(connection, {
        clock: harness.clock,
        names: new TapeNames(),
        audioOf: (channel) => (channel === 'demo' ? harness.audio : undefined),
      });
      pipe.worker.write(greeting());
      for (const each of message.before) pipe.worker.write(each);
      pipe.worker.write(framed(message.type, Buffer.concat([uint32(message.subscription), payload])));
      try {
        pipe.worker.deliver(Number.POSITIVE_INFINITY);
        harness.play(2000);
        pipe.hub.deliver(Number.POSITIVE_INFINITY);
        t.ok(sender.count <= 1, what);
      } catch (error) {
        t.fail(`${message.name}: ${what}: ${(error as Error).stack}`);
      }
      pipe.hub.destroy();
      t.equal(harness.audio.listeners, 0, 'nobody is left');
      if (errors.length > 0) ended++;
      for (const { message: said } of errors) t.match(said, /^worker 3: message /, what);
    }
    t.ok(ended > 0, `${message.name}: ${ended} links were ended`);
  }
});

t.test('marks that are never let go of, and a tape whose time stands still', async (t) => {
  const known = fromHub('frames');
  const of = (name: string) => known.find((message) => message.name === name)!;
  const many = (name: string, count: number, values: (i: number) => object) => {
    const message: KnownMessage = of(name);
    return Array.from({ length: count }, (_, i) =>
      framed(message.type, Buffer.concat([uint32(1), message.honest(values(i))])),
    );
  };
  const marks = (count: number) => many('MARK', count, (i) => ({ order: i + 10, keptFrom: 0, blockNumber: i + 10 }));
  t.equal(worker([...storyOf('frames'), ...marks(9000)]).error, undefined);
  t.match(worker([...storyOf('frames'), ...marks(10_001)]).error?.message, /node b: message MARK: more marks/);
  const still = many('FRAMES_SEGMENT', 10_000, (i) => ({ seq: i + 2, startMs: 3000, endMs: 3000, entry: -1 }));
  const { error, tape } = worker([...storyOf('frames'), ...still]);
  t.match(error?.message, /more audio than fits into its time/);
  t.ok(tape!.head < 10_000, `${tape!.head} segments`);
  const leap = many('FRAMES_SEGMENT', 25_000, (i) => ({ seq: i + 2, startMs: 3000, endMs: 1e15, entry: -1 }));
  t.match(
    worker([...storyOf('frames'), ...leap]).error?.message,
    /more audio than fits into its time/,
    'behind a leap',
  );
});

t.test('a bad message of one of many tapes on a link drops that tape only, for a growing time', async (t) => {
  const [clock, pipe] = [new FakeClock(), linkPipe()];
  const [errors, bad] = [[] as Error[], [] as string[]];
  const receiver = new TapeReceiver(clock, 1000, undefined, undefined, ({ message }) => bad.push(message));
  receiver.connect(new LinkConnection(asStream(pipe.worker), (error) => errors.push(error as Error)));
  const asked: number[] = [];
  pipe.hub.on('data', (bytes: Buffer) => {
    // SUBSCRIBE, and LISTENING behind it.
    for (
      let at = bytes.toString('latin1', 0, 8) === 'airsplnk' ? 12 : 0;
      at < bytes.length;
      at += 5 + bytes.readUInt32LE(at)
    ) {
      if (bytes[at + 4] === 1) asked.push(bytes.readUInt32LE(at + 5));
    }
  });
  const say = (messages: readonly Buffer[], id: number) => {
    for (const message of messages) {
      const copy = Buffer.from(message);
      copy.writeUInt32LE(id, 5);
      pipe.hub.write(copy);
    }
    pipe.hub.deliver(Number.POSITIVE_INFINITY);
    pipe.worker.deliver(Number.POSITIVE_INFINITY);
  };
  const [demo, other] = [receiver.audio('demo'), receiver.audio('other')];
  pipe.hub.write(greeting());
  for (const audio of [demo, other]) audio.want(true);
  pipe.worker.deliver(Number.POSITIVE_INFINITY);
  t.same(asked, [1, 2]);
  say(storyOf('frames'), 1);
  say(storyOf('ogg', 'other'), 2);
  const whole = other.tape!;
  // Another tape under the name of the one that is there: as a hub passes it on that was lied to.
  const oggOf = storyOf('ogg').at(-1)!;
  for (const pauseMs of [1000, 2000, 4000]) {
    say([oggOf], asked.at(-1) === 2 ? 1 : asked.at(-1)!);
    t.equal(demo.tape, undefined);
    t.equal(other.tape, whole, 'the other one stays');
    clock.advance(pauseMs - 1);
    pipe.worker.deliver(Number.POSITIVE_INFINITY);
    const before = asked.length;
    clock.advance(1);
    pipe.worker.deliver(Number.POSITIVE_INFINITY);
    t.equal(asked.length, before + 1, `asked for again after ${pauseMs} ms`);
    say(storyOf('frames'), asked.at(-1)!);
    t.ok(demo.tape!.head > 0, 'and taken');
  }
  t.same(errors, []);
  t.match(bad[0], /^the tape of demo: message OGG_SEGMENT: /);
});
