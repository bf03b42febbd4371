/** What a hub does for a worker: what it costs, what it must not hold, and that all is given back when the worker goes. */

import { createServer, connect as dial, type Socket } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { ChannelAudio } from '../../../src/audio/channel-audio.js';
import { TICK_MS } from '../../../src/base/clock.js';
import { TapeNames } from '../../../src/link/tapes/tape-names.js';
import { TapeReceiver } from '../../../src/link/tapes/tape-receiver.js';
import { TapeSender } from '../../../src/link/tapes/tape-sender.js';
import { LinkConnection } from '../../../src/link/wire/link-connection.js';
import { GreetingReader } from '../../../src/link/wire/link-version.js';
import { MARK, SUBSCRIBE } from '../../../src/link/wire/message-types.js';
import { MessageWriter } from '../../../src/link/wire/message-writer.js';
import { WireError, WireReader } from '../../../src/link/wire/wire.js';
import { FakeClock } from '../../kit/clock.js';
import { frameOf } from '../../kit/frame-of.js';
import { FRAME_BYTES, LinkHarness, SETTLE_MS } from '../../kit/link-harness.js';
import { Random } from '../../kit/random.js';
import { viewOf } from '../../kit/record.js';
import { STORY_KINDS, StorySource } from '../../kit/story-source.js';
import { TapePair } from '../../kit/tape-pair.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { patient, until } from '../../kit/until.js';

/** Of a segment, beside its bytes and 20 for each title: its fields, what its end cuts of a frame, and how far the tape has come since. */
const MAX_OVERHEAD_BYTES = 600;

t.test('a channel is wanted while anybody anywhere listens, and not while a tape lingers', async (t) => {
  const wanted: boolean[] = [];
  const harness = new LinkHarness({ onWanted: (isWanted) => void wanted.push(isWanted) }).connect();
  const { audio, linked } = harness;
  harness.play(2000);
  t.same(wanted, []);
  harness.enter().settle();
  t.strictSame([wanted, audio.listeners], [[true], 1]);
  harness.enter();
  linked.playing = 2;
  harness.settle();
  t.strictSame([audio.listeners, audio.playing], [2, 2], 'who listens there, listens here');
  linked.playing = 0;
  harness.leave();
  harness.leave();
  harness.clock.advance(500);
  harness.flow();
  t.strictSame([wanted, audio.listeners, audio.playing], [[true, false], 0, 0]);
  t.ok(linked.tape !== undefined, 'while the worker lingers, the tape comes');
  harness.clock.advance(1000);
  harness.flow();
  t.equal(linked.tape, undefined);
  harness.enter();
  linked.playing = 1;
  harness.settle();
  harness.pipe.worker.destroy();
  t.strictSame([wanted.at(-1), audio.listeners, audio.playing], [false, 0, 0], 'a worker that is gone listens no more');
});

t.test('another machine has a segment when it is closed, a worker with the next tick', async (t) => {
  for (const isPrompt of [true, false]) {
    const harness = new LinkHarness().connect(undefined, isPrompt);
    const { audio, linked } = harness;
    harness.enter().play(2000).settle();
    const { head } = audio.tape!;
    t.equal(linked.tape!.head, head);
    for (let i = 0; audio.tape!.head === head; i++) {
      t.ok(i < 100, 'a segment is closed');
      harness.write();
    }
    harness.flow();
    t.equal(linked.tape!.head, isPrompt ? head + 1 : head);
    harness.settle();
    t.equal(linked.tape!.head, head + 1);
  }
});

t.test('a channel that is not there has no tape, and the link goes on', async (t) => {
  const harness = new LinkHarness().connect();
  harness.receiver.audio('other').want(true);
  harness.enter().play(2000).settle();
  t.equal(harness.receiver.audio('other').tape, undefined);
  t.ok(harness.linked.hasSegments);
  t.same(harness.broken, []);
});

t.test(
  'a channel that is replaced goes on where it was, beside the new one; a ninth subscription ends the link',
  async (t) => {
    const harness = new LinkHarness().connect().enter();
    harness.play(2000).settle();
    const { receiver, linked } = harness;
    const all = [linked];
    const replace = () => {
      receiver.forget(linked.key);
      const audio = receiver.audio(linked.key);
      all.push(audio);
      audio.want(true);
      harness.settle();
    };
    for (let i = 0; i < 7; i++) replace();
    harness.play(2000).settle();
    t.same(
      all.map(({ tape }) => tape?.head),
      all.map(() => harness.audio.tape!.head),
    );
    t.same(harness.broken, []);
    all.pop()!.want(false);
    // It lingers.
    harness.clock.advance(1500);
    harness.flow();
    replace();
    t.same(harness.broken, []);
    replace();
    t.match(harness.broken, [/more than 8 subscriptions of a channel/]);
  },
);

t.test('bytes go over once, with little beside them', async (t) => {
  const harness = new LinkHarness().connect().enter();
  harness.play(5000).settle();
  const { hub } = harness.pipe;
  const [written, head] = [hub.written, harness.audio.tape!.head];
  harness.title();
  for (let i = 0; i < 20; i++) harness.play(1000).flow();
  harness.settle();
  const { tape } = harness.audio;
  const segments = tape!.head - head;
  t.ok(segments > 10);
  const overhead = (hub.written - written) / segments - tape!.at(head)!.bytes.length;
  t.ok(overhead > 72 && overhead < MAX_OVERHEAD_BYTES, `${overhead} bytes a segment`);
});

t.test('a mark is sent once, and both ends forget those that are on the tape no more', async (t) => {
  const harness = new LinkHarness({ lagMs: 10_000 }).connect().enter();
  const marks: string[] = [];
  let keptFrom = 0;
  const reader = new WireReader((type, message) => {
    message.whole();
    if (type !== MARK) return;
    message.whole();
    keptFrom = message.whole();
    message.whole();
    marks.push(message.text());
  });
  const greeting = new GreetingReader();
  harness.pipe.worker.on('data', (chunk: Buffer) => reader.push(chunk.subarray(greeting.take(chunk))));
  harness.play(2000);
  const titles = 400;
  for (let i = 0; i < titles; i++) {
    harness.title(i % 5 === 0 ? 700 : 0);
    harness.play(300).flow();
  }
  harness.settle();
  t.equal(new Set(marks).size, marks.length, 'each once');
  t.ok(marks.length > titles * 0.9, `${marks.length}`);
  const { tape } = harness.audio;
  const least = tape!.at(tape!.tail)!.before!.order;
  t.ok(keptFrom > least - 100 && keptFrom <= least, `kept from ${keptFrom} on, ${least} is the oldest on the tape`);
});

t.test('a title that comes late while the tape goes on elsewhere is not missed when it comes back', async (t) => {
  const harness = new LinkHarness().connect().enter().play(5000).settle();
  const { audio, linked, clock } = harness;
  const other = new ChannelAudio({ key: 'demo', lagMs: 30_000, now: () => clock.now() });
  const moveTo = (to: ChannelAudio) => {
    harness.served = to;
    harness.sender!.move('demo');
  };
  // Nothing is sent between.
  moveTo(other);
  harness.title(3000);
  moveTo(audio);
  harness.settle();
  new TapePair(new Random()).compare(audio.tape!, linked.tape!);
  t.match(linked.tape!.at(linked.tape!.head - 1)!.late?.view.title, /T1/);
  t.same(harness.broken, []);
});

t.test('a worker that does not read holds a cursor and what its stream may hold', async (t) => {
  const maxQueuedBytes = 10_000;
  const harness = new LinkHarness({ lagMs: 20_000 }).connect(maxQueuedBytes).enter();
  harness.play(3000).settle();
  const { hub } = harness.pipe;
  hub.hold = true;
  for (let i = 0; i < 10; i++) {
    harness.play(1000);
    harness.title(800);
  }
  const { segmentBytes } = harness.audio.tape!;
  const maxBytes = maxQueuedBytes + 2 * (segmentBytes + MAX_OVERHEAD_BYTES);
  t.ok(hub.writableLength < maxBytes, `${hub.writableLength} bytes wait`);
  hub.hold = false;
  harness.settle();
  new TapePair(new Random()).compare(harness.audio.tape!, harness.linked.tape!);
  const { tape } = harness.linked;
  t.equal(tape!.isOver, false, 'it has the same tape, and all of it');

  hub.hold = true;
  for (let i = 0; i < 40; i++) harness.play(1000);
  t.ok(hub.writableLength < maxBytes, `${hub.writableLength} bytes wait`);
  hub.hold = false;
  harness.settle();
  t.strictSame([tape!.tail, tape!.isOver], [Number.POSITIVE_INFINITY, false], 'its listeners have fallen off');
  new TapePair(new Random()).compare(harness.audio.tape!, harness.linked.tape!);
  t.same(harness.broken, []);
});

t.test(
  'a worker knows of another format before it has a segment of it, also when a full link sends many at once',
  async (t) => {
    const harness = new LinkHarness().connect(10_000).enter().play(3000).settle();
    const { audio, linked, pipe } = harness;
    pipe.hub.hold = true;
    harness.play(3000);
    // LC, 48 kHz, two channels.
    const frame = Buffer.concat([Buffer.from('fff14c80191ffc', 'hex'), Buffer.alloc(FRAME_BYTES - 7)]);
    for (let i = 0; i < 200; i++) {
      audio.write(frameOf(frame, 1024 / 48, 64, i === 0));
      harness.clock.advance(1024 / 48);
    }
    const { joinFrom: fence, head } = audio.tape!;
    t.ok(linked.tape!.head < fence - 1 && fence < head - 1, `${linked.tape!.head}, ${fence}, ${head}`);
    pipe.hub.hold = false;
    for (let i = 0; linked.tape!.head < head; i++) {
      t.ok(i < 10_000, 'all comes over');
      if (pipe.hub.deliver(100) === 0) harness.clock.advance(TICK_MS);
      if (linked.tape!.head >= fence && linked.tape!.joinFrom !== fence) {
        t.fail(`it has segments up to ${linked.tape!.head}, and knows of no other format from ${fence} on`);
        break;
      }
    }
    t.equal(linked.tape!.joinFrom, fence);
    t.same(harness.broken, []);
  },
);

t.test('what no worker sends closes the link', async (t) => {
  for (const [name, write] of Object.entries({
    'of no kind': (writer: MessageWriter) => writer.begin(77).end(),
    'of a hub': (writer: MessageWriter) => writer.begin(MARK).whole(1).end(),
    'too short': (writer: MessageWriter) => writer.begin(SUBSCRIBE).whole(1).end(),
    'a subscription twice': (writer: MessageWriter) => {
      for (let i = 0; i < 2; i++) writer.begin(SUBSCRIBE).whole(5).text('demo').text('').whole(0).whole(0).end();
    },
  })) {
    const harness = new LinkHarness().connect();
    harness.play(1000);
    const writer = new MessageWriter();
    write(writer);
    harness.pipe.worker.write(writer.take()!);
    harness.flow();
    t.strictSame([harness.broken.length, harness.pipe.hub.isOver, harness.audio.listeners], [1, true, 0], name);
    t.ok(harness.broken[0] instanceof WireError, name);
  }
});

t.test('over a local socket: channels of every kind at once', { timeout: patient(60_000) }, async (t) => {
  const random = new Random();
  const clock = new FakeClock();
  const channels = new Map<string, { readonly audio: ChannelAudio; readonly source: StorySource }>();
  for (let i = 0; i < 20; i++) {
    const audio = new ChannelAudio({ key: `c${i}`, lagMs: 20_000, now: () => clock.now(), bitrateKbps: 96 });
    channels.set(audio.key, { audio, source: new StorySource(STORY_KINDS[i % STORY_KINDS.length]!, random) });
  }
  const play = (ms: number) => {
    for (const { audio, source } of channels.values())
      for (let doneMs = 0; doneMs < ms; ) doneMs += Math.max(1, source.write(audio));
    clock.advance(ms);
  };
  play(15_000);
  const broken: unknown[] = [];
  const onBroken = (error: unknown) => void broken.push(error);
  const parts = { clock, names: new TapeNames(), audioOf: (key: string) => channels.get(key)?.audio };
  const server = createServer((socket) => new TapeSender(new LinkConnection(socket, onBroken), parts));
  const path = join(tempFolder(t), 'link');
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const receiver = new TapeReceiver(clock, 1000);
  const link = (): Socket => {
    const socket = dial(path);
    receiver.connect(new LinkConnection(socket, onBroken));
    return socket;
  };
  let socket = link();
  t.teardown(() => {
    socket.destroy();
    server.close();
  });
  for (const key of channels.keys()) receiver.audio(key).want(true);
  for (let i = 0; i < 10; i++) {
    play(1000);
    for (const { audio } of channels.values())
      audio.title(viewOf(`T${i}`, { id: `${i}`, version: i, channel: audio.key }), i % 2 === 0 ? 0 : 2500);
    clock.advance(SETTLE_MS);
    if (i % 4 === 3) {
      socket.destroy();
      socket = link();
    }
    for (const [key, { audio }] of channels) {
      const linked = receiver.audio(key);
      // Its ticks are the clock's; its bytes come in their own time.
      const isThere = () => {
        clock.advance(TICK_MS);
        return linked.tape?.endMs === audio.tape!.endMs && linked.tape.head === audio.tape!.head;
      };
      await until(isThere, 20_000, () => `${key}: ${linked.tape?.endMs} of ${audio.tape!.endMs} ms`);
      new TapePair(random).compare(audio.tape!, linked.tape!);
    }
  }
  // A socket that is cut while it is written to says so.
  t.same(
    broken.filter((error) => error instanceof WireError),
    [],
  );
});
