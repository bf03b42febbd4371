/** A worker has what the hub cuts: the same files, the same list, and what it has not yet it waits for. */

import t from 'tap';
import { MAX_SEQUENCE } from '../../../src/hls/hls-schema.js';
import { HlsReceiver } from '../../../src/link/hls/hls-receiver.js';
import { LinkConnection } from '../../../src/link/wire/link-connection.js';
import { greeting } from '../../../src/link/wire/link-version.js';
import { HLS_LIST, HLS_SEGMENT, HLS_SUBSCRIBE, HLS_TITLE } from '../../../src/link/wire/message-types.js';
import { readPacked, readPlaylist } from '../../kit/hls-channel.js';
import { HLS_OPTIONS, HlsLink, HlsWorker } from '../../kit/hls-link.js';
import { framed, uint32 } from '../../kit/lies.js';
import { asStream, linkPipe } from '../../kit/link-pipe.js';
import { numbersIn } from '../../kit/numbered.js';

const bytesOf = (link: HlsLink, worker: HlsWorker) =>
  readPlaylist(link.window.playlist).segments.map(({ name }) => {
    const [there, here] = [link.window.segment(name)!, worker.window.segment(name)];
    return here?.bytes.equals(there.bytes) ?? false;
  });

t.test('nothing is cut or sent until a playlist is asked for; then all is the same as at the hub', async (t) => {
  const link = new HlsLink();
  const { worker } = link;
  link.pass(20, { isAsked: false });
  t.equal(link.hub.of(link), undefined);
  worker.ask();
  link.flow();
  t.notOk(worker.window.isEmpty, 'at once, with what the tape holds');
  for (let i = 0; i < 5; i++) {
    link.channel.title(`Song ${i}`, i === 2 ? 5000 : 0);
    link.pass(11);
    t.equal(worker.window.playlist, link.window.playlist);
  }
  t.strictSame(new Set(bytesOf(link, worker)), new Set([true]));
  t.equal(readPlaylist(worker.window.playlist).titles.at(-1)!.title, 'Song 4');
  t.strictSame(worker.window.segmentsFrom(0), link.window.segmentsFrom(0), 'what left the list can be fetched too');
  t.strictSame(link.broken, []);
});

t.test(
  'a part of a window is not listed: not while it is copied for the first time, nor when it is replaced',
  async (t) => {
    const link = new HlsLink(2);
    const [first, second] = link.workers as [HlsWorker, HlsWorker];
    link.pass(40);
    second.ask();
    const channel = second.hls.of(second.source)!;
    const seen: boolean[] = [];
    const copy = async () => {
      let isOver = false;
      const coming = channel.comes().then(() => {
        isOver = true;
      });
      while (second.pipe.worker.deliver(100_000) + second.pipe.hub.deliver(20_000) > 0) {
        if (!channel.window.isEmpty && channel.window.playlist !== link.window.playlist) seen.push(channel.isWhole);
      }
      await coming;
      t.ok(isOver && channel.isWhole);
      t.equal(channel.window.playlist, link.window.playlist);
    };
    await copy();
    t.ok(seen.length > 3, 'it came in parts');
    // Another hub, which knows nothing of what is here.
    await link.hub.close();
    link.hub = link.makeHub();
    for (const worker of [first, second]) {
      worker.pipe.hub.destroy();
      link.connect(worker);
    }
    first.ask();
    for (let i = 0; i < 20; i++) {
      link.channel.play(1);
      link.hub.ask(link);
    }
    await copy();
    t.notOk(seen.includes(true));
  },
);

t.test('a title of any duration that a push may have is passed on, and the link stays', async (t) => {
  const link = new HlsLink();
  const { worker } = link;
  link.pass(10);
  link.channel.title('Endless', 0, { durationSeconds: Number.MAX_SAFE_INTEGER });
  link.pass(10);
  t.strictSame(link.broken, []);
  t.match(worker.window.playlist, `X-DURATION=${Number.MAX_SAFE_INTEGER}`);
  t.equal(worker.window.playlist, link.window.playlist);
});

t.test('a list that ends, and one of other lengths, are the same there', async (t) => {
  const link = new HlsLink();
  const { worker } = link;
  link.pass(40);
  link.pass(25, { isPlaying: false });
  t.ok(link.window.isEmpty);
  t.ok(worker.window.isEmpty);
  link.pass(20);
  t.equal(worker.window.playlist, link.window.playlist);
  link.hls = { ...HLS_OPTIONS, segmentSeconds: 2 };
  link.hub.refresh([link]);
  link.flow();
  t.ok(worker.window.isEmpty);
  link.pass(60);
  t.equal(worker.window.playlist, link.window.playlist);
  t.strictSame([readPlaylist(worker.window.playlist).targetSeconds, link.broken], [2, []]);
});

t.test('ten minutes without a request anywhere: nothing is cut, nothing is kept, in no process', async (t) => {
  const link = new HlsLink(2);
  const [worker, other] = link.workers as [HlsWorker, HlsWorker];
  other.ask();
  link.pass(30);
  t.equal(other.window.playlist, link.window.playlist);
  const { lastNumber } = link.window;
  link.pass(590, { isAsked: false });
  t.notOk(link.hub.of(link)!.isAtRest);
  link.pass(20, { isAsked: false });
  for (const { hls, source } of [{ hls: link.hub, source: link }, worker, other]) {
    t.ok(hls.of(source)!.isAtRest);
    t.strictSame(hls.of(source)!.window.segmentsFrom(0), []);
  }
  link.pass(5);
  t.ok(worker.window.last!.number > lastNumber!);
  t.equal(worker.window.playlist, link.window.playlist);
});

t.test('who asks at one worker only keeps the channel alive for as long', async (t) => {
  const link = new HlsLink();
  for (let i = 0; i < 3; i++) {
    link.pass(500, { isAsked: false });
    link.pass(1);
  }
  t.notOk(link.hub.of(link)!.isAtRest);
  t.equal(link.worker.window.playlist, link.window.playlist);
});

t.test('a segment that is not here yet is waited for; one that is nowhere is known to be', async (t) => {
  const link = new HlsLink(2);
  const [, other] = link.workers as [HlsWorker, HlsWorker];
  link.pass(30);
  const { name, bytes } = link.window.last!;
  const first = other.hls.file(other.source, name);
  t.ok(first instanceof Promise);
  link.flow();
  t.ok((await first)!.bytes.equals(bytes));
  t.equal(other.hls.file(other.source, name), other.window.last, 'it is here by now');
  other.pipe.hub.hold = true;
  const { number } = link.window.last!;
  while (link.window.last!.number === number) link.channel.play(1);
  const next = link.window.last!;
  const found = other.hls.file(other.source, next.name);
  const unknown = other.hls.file(other.source, `${next.number}-${'0'.repeat(16)}.mp3`);
  t.ok(found instanceof Promise && unknown instanceof Promise);
  other.pipe.hub.hold = false;
  link.flow();
  t.ok((await found)!.bytes.equals(next.bytes));
  t.equal(await unknown, undefined);
  for (const wrong of [
    `${number}-${'0'.repeat(16)}.mp3`,
    `${number + 1000}-${'0'.repeat(16)}.mp3`,
    '..',
    '',
    `-1-${'0'.repeat(16)}.mp3`,
  ])
    t.equal(other.hls.file(other.source, wrong), undefined, `nobody is asked for ${wrong}`);
});

t.test('a channel at rest is not cut for who asks for a segment', async (t) => {
  const link = new HlsLink();
  const { worker } = link;
  link.pass(5, { isAsked: false });
  const found = worker.hls.file(worker.source, `1795741941-${'0'.repeat(16)}.mp3`);
  link.flow();
  t.equal(await found, undefined);
  t.equal(link.hub.of(link), undefined);
});

t.test('the link is cut: the list stands still, and goes on over the next one with what is missing only', async (t) => {
  const link = new HlsLink();
  const { worker } = link;
  link.pass(40);
  const before = worker.window.playlist;
  worker.pipe.hub.destroy();
  const waiting = worker.hls.file(worker.source, `${worker.window.last!.number + 1}-${'0'.repeat(16)}.mp3`);
  link.channel.title('Meanwhile');
  link.pass(9);
  t.equal(worker.window.playlist, before);
  link.connect(worker);
  link.flow();
  t.equal(await waiting, undefined, 'who waited has an answer');
  t.equal(worker.window.playlist, link.window.playlist);
  t.ok(worker.pipe.hub.written < 4 * 70_000, `${worker.pipe.hub.written} bytes`);
});

t.test('a link that stands still costs what its socket holds, and catches up', async (t) => {
  const link = new HlsLink();
  const { worker } = link;
  link.connect(worker, 100_000);
  link.pass(20);
  worker.pipe.hub.hold = true;
  for (let i = 0; i < 30; i++) link.channel.title(`Song ${i}`);
  link.pass(200);
  t.ok(worker.pipe.hub.writableLength < 250_000, `${worker.pipe.hub.writableLength} bytes wait`);
  worker.pipe.hub.hold = false;
  link.pass(5);
  t.equal(worker.window.playlist, link.window.playlist);
  t.strictSame(
    bytesOf(link, worker),
    Array.from({ length: 6 }, () => true),
  );
});

t.test(
  'a bad message of one channel on a worker’s link: its list stands still for a while, and the link stays',
  async (t) => {
    const link = new HlsLink();
    const { worker } = link;
    link.pass(40);
    const text = Buffer.from('{"id":"x"}');
    const bad = (subscription: number) =>
      worker.pipe.hub.write(framed(HLS_TITLE, Buffer.concat([uint32(subscription), uint32(text.length), text])));
    bad(1);
    link.flow();
    const before = worker.window.playlist;
    t.match(String(worker.bad[0]), /the HLS of demo: message HLS_TITLE: /);
    t.strictSame(link.broken, []);
    link.pass(1);
    t.equal(worker.window.playlist, before);
    const next = worker.hls.file(worker.source, `${worker.window.last!.number + 1}-${'0'.repeat(16)}.mp3`);
    link.pass(8);
    t.equal(worker.window.playlist, link.window.playlist, 'a second later it goes on');
    t.equal(await next, undefined, 'who waited has an answer');
    // What comes late for the subscription that was ended.
    bad(1);
    link.flow();
    t.equal(worker.bad.length, 1);
    bad(2);
    link.flow();
    link.channel.title('Meanwhile');
    link.pass(1);
    t.equal(worker.bad.length, 2, 'each time it is left alone for longer');
    worker.hls.of(worker.source)!.stop();
    link.pass(5, { isAsked: false });
    link.pass(5);
    t.equal(worker.window.playlist, link.window.playlist);
    t.strictSame(link.broken, []);
  },
);

t.test('another hub that knows nothing: its numbers are above all that workers have', async (t) => {
  const link = new HlsLink();
  const { worker } = link;
  link.pass(40);
  // As where its clock is set back then.
  link.window.endList();
  link.window.raise(link.window.lastNumber! + 5000);
  link.pass(10);
  const last = worker.window.last!.number;
  await link.hub.close();
  link.hub = link.makeHub();
  worker.pipe.hub.destroy();
  link.connect(worker);
  link.pass(12);
  t.ok(link.window.last!.number > last);
  t.ok(readPlaylist(worker.window.playlist).mediaSequence > last, 'no number has two files');
  t.equal(worker.window.playlist, link.window.playlist);
});

t.test('who has copied goes on where the last segment ends, without a seam, and the other one copies', async (t) => {
  const link = new HlsLink();
  const { worker } = link;
  link.pass(30);
  link.channel.title('Before');
  link.pass(6);
  const last = worker.window.last!;
  worker.pipe.hub.destroy();
  await link.hub.close();
  worker.cut(true);
  link.pass(20);
  t.ok(worker.window.last!.number > last.number + 2);
  const all = worker.window.segmentsFrom(0);
  t.ok(all.includes(last));
  t.notOk(all.slice(1).some(({ isDiscontinuity }) => isDiscontinuity));
  t.strictSame(
    all.map(({ number }) => number),
    all.map((_, i) => all[0]!.number + i),
  );
  const frames = all.flatMap(({ bytes }) => numbersIn(readPacked(bytes).audio));
  t.strictSame(
    frames,
    frames.map((_, i) => frames[0]! + i),
    'each frame once',
  );
  t.strictSame(
    readPlaylist(worker.window.playlist).titles.map(({ title }) => title),
    ['Before'],
  );
});

t.test('two that were apart: what the one had is dropped, and numbers go on above both', async (t) => {
  const link = new HlsLink();
  const { worker } = link;
  link.pass(30);
  worker.pipe.hub.destroy();
  worker.cut(true);
  link.pass(10);
  worker.window.endList();
  worker.window.raise(worker.window.lastNumber! + 10);
  link.pass(10);
  const ahead = worker.window.last!;
  t.ok(ahead.number > link.window.last!.number);
  link.hub.ask(link);
  worker.cut(false);
  link.connect(worker);
  link.pass(12);
  t.equal(worker.window.playlist, link.window.playlist);
  t.equal(worker.window.segment(ahead.name), undefined);
  const { mediaSequence, segments } = readPlaylist(worker.window.playlist);
  t.equal(mediaSequence, ahead.number + 1);
  t.ok(segments[0]!.isDiscontinuity);
});

t.test('what another machine must not say ends the link to it', async (t) => {
  const facts = {
    number: 5,
    name: `5-${'0'.repeat(16)}.mp3`,
    codecs: 'mp4a.40.34',
    startMs: 1e12,
    micros: 4e6,
    isDiscontinuity: false,
    init: null,
    end: null,
  };
  const init = { name: `init-${'0'.repeat(16)}.mp4`, bytes: Buffer.from('moov').toString('base64') };
  const title = {
    id: 'x.1',
    title: 'T',
    artist: '',
    album: '',
    record: '',
    etype: 0,
    durationSeconds: 0,
    startMs: 1e12,
  };
  const plain = (value: unknown) => {
    const bytes = Buffer.from(JSON.stringify(value));
    return Buffer.concat([uint32(bytes.length), bytes]);
  };
  const list = (value: unknown) => Buffer.concat([uint32(1), Buffer.of(1), plain(value)]);
  const segment = (value: unknown) => Buffer.concat([uint32(1), plain(value), Buffer.alloc(100)]);
  const good = { targetSeconds: 4, discontinuitySequence: 1, from: 5 };
  const said = (...messages: Buffer[]) => {
    const pipe = linkPipe();
    const broken: unknown[] = [];
    const receiver = new HlsReceiver();
    receiver.connect(new LinkConnection(asStream(pipe.worker), (error) => broken.push(error)));
    const worker = new HlsWorker(new HlsLink(0).channel);
    receiver.copy(worker.source, worker.hls.ask(worker.source)!.window).ask(0);
    pipe.hub.write(Buffer.concat([greeting(), ...messages]));
    pipe.hub.deliver(1e6);
    return broken.length === 0 ? worker.window : String(broken[0]);
  };
  const window = said(
    framed(HLS_LIST, list(good)),
    framed(HLS_TITLE, Buffer.concat([uint32(1), plain(title)])),
    framed(HLS_SEGMENT, segment(facts)),
  );
  t.ok(typeof window !== 'string' && window.last?.number === 5, String(window));
  const numbered = (number: number) =>
    said(
      framed(HLS_LIST, list(good)),
      framed(HLS_SEGMENT, segment({ ...facts, number, name: facts.name.replace('5-', `${number}-`) })),
    );
  t.ok(typeof numbered(MAX_SEQUENCE) !== 'string', 'the highest number');
  t.type(numbered(MAX_SEQUENCE + 1), 'string', 'one past it');
  const mapped = said(
    framed(HLS_LIST, list(good)),
    framed(HLS_SEGMENT, segment({ ...facts, name: facts.name.replace('mp3', 'm4s'), init })),
  );
  t.ok(typeof mapped !== 'string' && mapped.file(init.name)?.bytes.equals(Buffer.from('moov')), String(mapped));
  for (const [member, value] of Object.entries({
    name: ['../x', `6-${'0'.repeat(16)}.mp3`, `5-${'0'.repeat(16)}.exe`, 5],
    codecs: ['a"b', 'x\ny', ''],
    micros: [0, -1, 0.5, 20e6],
    number: [-1, 2 ** 60, MAX_SEQUENCE + 1, 'x'],
    startMs: [-1, null, 1e18],
    isDiscontinuity: [1],
    init: [undefined, 'x', { ...init, name: '../init' }, { ...init, bytes: '#' }, { ...init, bytes: 'A'.repeat(6000) }],
    end: [{}, 'x'],
  }))
    for (const bad of value as unknown[]) {
      t.match(
        said(framed(HLS_SEGMENT, segment({ ...facts, [member]: bad }))),
        /message HLS_SEGMENT/,
        `${member} ${bad}`,
      );
    }
  t.match(said(framed(HLS_SEGMENT, segment(facts)), framed(HLS_SEGMENT, segment(facts))), /HLS_SEGMENT.*behind/);
  for (const bad of [
    { ...good, targetSeconds: 0 },
    { ...good, from: -1 },
    { ...good, discontinuitySequence: 1e12 },
    null,
  ]) {
    t.match(said(framed(HLS_LIST, list(bad))), /message HLS_LIST/);
  }
  for (const bad of [
    { ...title, id: 'a"b' },
    { ...title, startMs: -1 },
    { ...title, etype: 'x' },
  ]) {
    t.match(said(framed(HLS_TITLE, Buffer.concat([uint32(1), plain(bad)]))), /message HLS_TITLE/);
  }
  t.match(said(framed(HLS_SUBSCRIBE, uint32(1))), /type 33 from a hub/);
});
