/** What a worker has of a tape: over links that are cut at every byte, from a hub that dies, and where what comes is broken. */

import type { Socket } from 'node:net';
import t from 'tap';
import type { LateTitle } from '../../../src/audio/playable-audio.js';
import { TapeNames } from '../../../src/link/tapes/tape-names.js';
import { TapeReceiver } from '../../../src/link/tapes/tape-receiver.js';
import { LinkConnection } from '../../../src/link/wire/link-connection.js';
import { WireError } from '../../../src/link/wire/wire.js';
import { Listener } from '../../../src/listener/cursor/listener.js';
import { Sessions } from '../../../src/listener/sessions/sessions.js';
import { FRAME_MS, LinkHarness } from '../../kit/link-harness.js';
import { asStream, linkPipe } from '../../kit/link-pipe.js';
import { isLong } from '../../kit/long.js';
import { Random } from '../../kit/random.js';
import { TapePair } from '../../kit/tape-pair.js';

const CUTS_APART = isLong ? 1 : 23;
const BROKEN_STORIES = isLong ? 20_000 : 1000;

/** A socket that takes all. */
function sink() {
  const parts: Buffer[] = [];
  const write = (bytes: Buffer) => void parts.push(bytes);
  const nothing = () => undefined;
  const socket = { writableLength: 0, cork: nothing, uncork: nothing, write } as unknown as Socket;
  return { socket, bytes: () => Buffer.concat(parts) };
}

t.test('the link is cut at every byte, and goes on without a gap or a repeat', async (t) => {
  const random = new Random();
  const lengthBytes = story(0).written;
  t.ok(lengthBytes > 5000, `${lengthBytes} bytes`);
  for (let cut = random.int(0, CUTS_APART - 1); cut < lengthBytes; cut += CUTS_APART) story(cut);

  /** Listens at both ends from the beginning; the link is cut behind this byte. */
  function story(cut: number) {
    const harness = new LinkHarness().connect().enter();
    const { audio, linked, clock, pipe } = harness;
    harness.title();
    harness.play(500).settle();
    const sinks = [sink(), sink()] as const;
    const listeners = [audio, linked].map(
      (each, i) =>
        new Listener(sinks[i]!.socket, each.tape!, {
          channel: 'demo',
          cursor: 0,
          icy: true,
          session: null,
          nowMs: clock.now(),
        }),
    );
    pipe.hub.hold = true;
    for (let i = 0; i < 8; i++) {
      harness.play(150);
      if (i % 2 === 0) harness.title(i === 4 ? 400 : 0);
    }
    clock.advance(400);
    const { writableLength: written } = pipe.hub;
    pipe.hub.hold = false;
    pipe.hub.deliver(cut);
    if (cut > 0) {
      pipe.hub.destroy();
      t.equal(linked.tape?.isOver, false, 'what is there stays');
      harness.play(200);
      harness.connect();
    }
    harness.settle();
    try {
      new TapePair(random).compare(audio.tape!, linked.tape!);
      for (const listener of listeners) {
        listener.advance(clock.now());
        listener.finish();
      }
      if (!sinks[0].bytes().equals(sinks[1].bytes())) throw new Error('the listeners differ');
    } catch (error) {
      t.fail(`cut at ${cut}: ${(error as Error).message}`);
    }
    t.same(harness.broken, [], `cut at ${cut}`);
    return { written };
  }
});

t.test('broken bytes close the link, and nothing else', async (t) => {
  const random = new Random();
  const recorded: Buffer[] = [];
  const harness = new LinkHarness({ metaint: 500 }).connect().enter();
  harness.pipe.worker.on('data', (chunk: Buffer) => recorded.push(Buffer.from(chunk)));
  harness.title();
  for (let i = 0; i < 10; i++) {
    harness.play(400).settle();
    harness.title(i % 3 === 0 ? 600 : 0);
  }
  const whole = Buffer.concat(recorded);
  let closed = 0;
  for (let story = 0; story < BROKEN_STORIES; story++) {
    const errors: unknown[] = [];
    const pipe = linkPipe();
    const receiver = new TapeReceiver(harness.clock, 1000);
    receiver.audio('demo').want(true);
    const connection = new LinkConnection(asStream(pipe.worker), (error) => errors.push(error));
    receiver.connect(connection);
    const bytes = Buffer.from(whole.subarray(0, random.int(1, whole.length)));
    for (let i = random.int(1, 4); i > 0; i--) bytes[random.int(0, bytes.length - 1)] = random.int(0, 255);
    for (let at = 0; at < bytes.length; ) {
      const to = at + random.int(1, 4000);
      pipe.worker.emit('data', bytes.subarray(at, to));
      at = to;
    }
    const strange = errors.find((error) => !(error instanceof WireError));
    if (strange !== undefined) t.fail(`seed ${random.seed}, story ${story}: ${(strange as Error).stack}`);
    if (connection.isClosed !== errors.length > 0)
      t.fail(`seed ${random.seed}, story ${story}: closed where it was broken`);
    if (connection.isClosed) closed++;
  }
  t.ok(closed > BROKEN_STORIES / 5, `${closed} links were closed`);
});

t.test('a tape comes while somebody listens, and for a while after', async (t) => {
  const harness = new LinkHarness({}, 3000).connect();
  const { linked, audio } = harness;
  harness.play(3000).settle();
  t.strictSame([linked.tape, linked.hasSegments, harness.sender!.count], [undefined, false, 0], 'nobody wants it');
  harness.enter().flow();
  t.strictSame([linked.tape?.head, linked.hasSegments, harness.sender!.count], [audio.tape!.head, true, 1], 'at once');
  harness.leave();
  harness.play(2000).settle();
  t.equal(linked.tape?.head, audio.tape!.head, 'who comes back finds it');
  harness.enter();
  harness.play(3000).settle();
  t.equal(linked.tape?.head, audio.tape!.head, 'and keeps it');
  harness.leave();
  harness.play(4000).settle();
  t.strictSame([linked.tape, harness.sender!.count], [undefined, 0]);
  harness.enter().settle();
  t.equal(linked.tape?.head, audio.tape!.head, 'and again');
  t.same(harness.broken, []);
});

t.test('while the hub is away, what is wanted is asked for when it is there again', async (t) => {
  const harness = new LinkHarness();
  harness.play(3000);
  harness.enter().connect().settle();
  t.ok(harness.linked.hasSegments, 'wanted before there was a link');
  harness.pipe.hub.destroy();
  harness.leave();
  harness.clock.advance(2000);
  t.equal(harness.linked.tape, undefined, 'nobody came back');
  harness.connect().settle();
  t.equal(harness.sender!.count, 0, 'and it is not asked for');
});

t.test('another hub’s tape is another tape: its listeners are sent away', async (t) => {
  const harness = new LinkHarness().connect().enter();
  harness.title();
  harness.play(3000).settle();
  const { tape } = harness.linked;
  const mark = tape!.at(1)!.mark!;
  const { socket } = sink();
  const listener = new Listener(socket, tape!, { channel: 'demo', cursor: 0, icy: true, session: null, nowMs: 0 });
  harness.pipe.hub.destroy();
  harness.names = new TapeNames();
  harness.connect().settle();
  t.equal(listener.advance(0), false);
  t.strictSame([listener.endingReason, tape!.isOver], ['format', true]);
  const again = harness.linked.tape!.at(1)!.mark!;
  t.not(again, mark);
});

t.test('behind a tape that a new hub took back comes another one, with the title that is in force', async (t) => {
  const harness = new LinkHarness().connect().enter();
  const { audio, linked } = harness;
  harness.title();
  harness.play(3000).settle();
  const { tape } = linked;
  harness.pipe.hub.destroy();
  harness.names = new TapeNames();
  harness.names.set(audio.tape!, tape!.name);
  harness.connect().play(3000).settle();
  t.equal(linked.tape, tape, 'it goes on');
  audio.release();
  harness.play(3000).settle();
  t.not(linked.tape, tape);
  t.same(harness.broken, [], 'and the link holds');
  new TapePair(new Random()).compare(audio.tape!, linked.tape!);
  t.equal(linked.tape!.at(0)!.before!.view.title, 'T1');
});

t.test('a title that comes late is known to sessions at once, over the link too', async (t) => {
  const harness = new LinkHarness().connect(1).enter();
  const lates: LateTitle[] = [];
  const heard: string[] = [];
  const output = {
    onBegan: () => undefined,
    onHeard: () => undefined,
    onWritten: (_session: unknown, { view }: { view: { title: string } }) => void heard.push(view.title),
  };
  const sessions = new Sessions(harness.clock, output, { keepMs: 1000, max: 10 });
  const session = sessions.open({ metaid: 'one', channel: 'demo', mount: '/demo' });
  harness.linked.observe({
    onGrown: () => undefined,
    onFence: () => undefined,
    onTape: () => undefined,
    onLate: (late) => {
      lates.push(late);
      session.late(late, harness.clock.now());
    },
  });
  harness.title();
  harness.play(8000).settle();
  const { tape } = harness.linked;
  const listener = new Listener(sink().socket, tape!, {
    channel: 'demo',
    cursor: 0,
    icy: true,
    session,
    nowMs: harness.clock.now(),
  });
  listener.advance(harness.clock.now());
  t.strictSame(heard, ['T1']);
  const late = harness.title(3000);
  t.ok(late !== null);
  harness.settle();
  t.strictSame(heard, ['T1', 'T2'], 'before a block says it');
  t.strictSame(
    lates.map(({ before, mark, atMs }) => [before?.view.title, mark.view.title, atMs]),
    [['T1', 'T2', late!.atMs]],
  );
  t.equal(lates[0]!.before, tape!.at(0)!.mark, 'the marks are those of the tape');
  harness.pipe.hub.hold = true;
  harness.play(100);
  for (const agoMs of [2500, 2000]) t.ok(harness.title(agoMs) !== null);
  harness.play(100);
  harness.pipe.hub.hold = false;
  harness.settle();
  t.strictSame(heard, ['T1', 'T2', 'T4'], 'where the link stood still, the last of them');
  t.equal(lates.length, 2);
});

t.test('when audio came in is known at the worker, by its own clock', async (t) => {
  const harness = new LinkHarness();
  const fromMs = harness.clock.now();
  harness.play(5000);
  harness.clock.stepWall(3_600_000);
  harness.enter().connect().settle();
  const { linked, audio } = harness;
  for (let seq = linked.tape!.tail; seq < linked.tape!.head; seq++) {
    const { endMs } = audio.tape!.at(seq)!;
    t.equal(linked.arrivedMs(endMs), audio.arrivedMs(endMs));
    t.ok(Math.abs(linked.arrivedMs(endMs) - fromMs - endMs) <= FRAME_MS);
  }
});
