/**
 * The checker of the benchmark must itself be checked: a good stream passes in any chunking, and each fault that a relay could make is
 * caught. Streams are made here from a seed, with payloads of random bytes, so that false frame headers occur.
 */

import { type AddressInfo, createServer } from 'node:net';
import t from 'tap';
import { loopbackTarget, runCrowd } from '../../bench/crowd.js';
import { Reader } from '../../bench/reader.js';
import { isFaultless } from '../../bench/report.js';
import { arrived } from '../kit/wire.js';

const METAINT = 997;

function generator(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function mp3Frames(random: (below: number) => number, frames: number): Buffer {
  const parts: Buffer[] = [];
  for (let frame = 0; frame < frames; frame++) {
    const bitrate = 5 + random(10);
    const padding = random(2);
    const kbits = [64, 80, 96, 112, 128, 160, 192, 224, 256, 320][bitrate - 5]!;
    const bytes = Buffer.from(
      Array.from({ length: Math.floor((144_000 * kbits) / 44_100) + padding }, () => random(256)),
    );
    bytes.set([0xff, 0xfb, (bitrate << 4) | (padding << 1), 0x44]);
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}

function adtsFrames(random: (below: number) => number, frames: number): Buffer {
  const parts: Buffer[] = [];
  for (let frame = 0; frame < frames; frame++) {
    const bytes = Buffer.from(Array.from({ length: 8 + random(700) }, () => random(256)));
    const { length } = bytes;
    bytes.set([0xff, 0xf1, 0x50, 0x80 | (length >> 11), (length >> 3) & 0xff, ((length & 7) << 5) | 0x1f, 0xfc]);
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}

function id3(padding: number): Buffer {
  const tag = Buffer.alloc(10 + padding);
  tag.set([0x49, 0x44, 0x33, 4, 0, 0, 0, 0, padding >> 7, padding & 0x7f]);
  return tag;
}

function block(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length = Math.ceil(bytes.length / 16);
  return Buffer.concat([Buffer.from([length]), bytes, Buffer.alloc(length * 16 - bytes.length)]);
}

/** Audio with a block after every METAINT bytes: a title in each fifth, else none. In the eleventh segment stand `phase` audio bytes too many. */
function splice(
  audio: Buffer,
  blockOf = (n: number) => (n % 5 === 0 ? block(`StreamTitle='t ${n}';`) : Buffer.alloc(1)),
  phase = 0,
) {
  const parts: Buffer[] = [];
  for (let at = 0, n = 0; at < audio.length; n++) {
    const end = at + METAINT + (n === 10 ? phase : 0);
    parts.push(audio.subarray(at, end));
    if (end <= audio.length) parts.push(blockOf(n));
    at = end;
  }
  return Buffer.concat(parts);
}

const HEAD = `HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\nIcy-MetaInt:${METAINT}\r\n\r\n`;

/** Reads head and body in random pieces out of one buffer that is overwritten each time, as the crowd's is. */
function read(body: Buffer, random: (below: number) => number, most: number, head = HEAD) {
  const titles: string[] = [];
  const reader = new Reader({ icy: true, frames: true, onTitle: (title) => titles.push(title) });
  const stream = Buffer.concat([Buffer.from(head), body]);
  const shared = Buffer.alloc(most);
  for (let at = 0; at < stream.length; ) {
    const length = stream.copy(shared, 0, at, at + 1 + random(most));
    reader.push(shared, length);
    shared.fill(0xff);
    at += length;
  }
  return { reader, titles };
}

t.test('a good stream passes in any chunking', async (t) => {
  for (const kind of ['mp3', 'adts'] as const) {
    for (const [seed, most] of [1, 3, 20, 500, 3000, 65_536].entries()) {
      const random = generator(seed);
      const frames = kind === 'mp3' ? mp3Frames(random, 120) : adtsFrames(random, 150);
      const partial = mp3Frames(random, 1).subarray(50);
      const leads = [Buffer.alloc(0), id3(100), partial, Buffer.concat([id3(2500), partial])];
      for (const [index, lead] of leads.entries()) {
        const audio = Buffer.concat([lead, frames, id3(20), frames]);
        const { reader, titles } = read(splice(audio), random, most);
        const name = `${kind}, seed ${seed}, chunks to ${most}, lead ${index}`;
        t.match(
          { errors: reader.icyErrors, breaks: reader.breaks, fault: reader.firstFault ?? '' },
          { errors: 0, breaks: 0, fault: '' },
          name,
        );
        t.equal(reader.frames, kind === 'mp3' ? 240 : 300, `${name}: every frame`);
        t.equal(reader.leadBytes! > 0, index >= 2, `${name}: a partial first frame is reported`);
        t.equal(reader.audioBytes, audio.length, `${name}: every audio byte`);
        t.equal(titles.length, Math.ceil(Math.floor(audio.length / METAINT) / 5), `${name}: every title`);
        t.equal(titles[1], 't 5');
      }
    }
  }
});

t.test('one lost audio byte is one break, wherever it was', async (t) => {
  for (let seed = 0; seed < 200; seed++) {
    const random = generator(seed);
    const frames = seed % 2 ? mp3Frames(random, 40) : adtsFrames(random, 60);
    const at = 6000 + random(frames.length - 12_000);
    const { reader } = read(splice(Buffer.concat([frames.subarray(0, at), frames.subarray(at + 1)])), random, 1500);
    t.match({ breaks: reader.breaks, errors: reader.icyErrors }, { breaks: 1, errors: 0 }, `seed ${seed}`);
  }
});

t.test('a shifted ICY phase is caught', async (t) => {
  for (let seed = 0; seed < 100; seed++) {
    const random = generator(seed);
    const phase = [-1, 1, 16, -METAINT + 1][seed % 4]!;
    const { reader } = read(splice(mp3Frames(random, 40), undefined, phase), random, 1500);
    t.ok(reader.icyErrors > 0, `seed ${seed}, phase ${phase}: ${reader.firstFault}`);
    t.ok(reader.breaks > 0, `seed ${seed}, phase ${phase}`);
  }
});

t.test('a bad title block is caught', async (t) => {
  const good = block("StreamTitle='A long title with some words';");
  const bad: Record<string, Buffer> = {
    'text cut': good.subarray(0, -20),
    'padding cut': good.subarray(0, -1),
    'no end': block("StreamTitle='A long title with some words"),
    'no quote': block("StreamTitle='A long title;"),
    'another field first': block("StreamUrl='';StreamTitle='';"),
    'NUL inside': block("StreamTitle='a\0b';"),
    'NULs only': Buffer.concat([Buffer.from([1]), Buffer.alloc(16)]),
  };
  for (const [name, bytes] of Object.entries(bad)) {
    const random = generator(7);
    const { reader } = read(
      splice(mp3Frames(random, 40), (n) => (n === 3 ? bytes : Buffer.alloc(1))),
      random,
      1500,
    );
    t.ok(reader.icyErrors > 0, `${name}: ${reader.firstFault}`);
  }
});

t.test('a switch to another kind of audio is one break; noise is one, too', async (t) => {
  const random = generator(11);
  const mp3 = mp3Frames(random, 60);
  const adts = adtsFrames(random, 60);
  t.equal(read(splice(Buffer.concat([mp3, adts])), random, 1500).reader.breaks, 1);
  t.equal(read(splice(Buffer.concat([adts, mp3.subarray(100), adts])), random, 1500).reader.breaks, 2);
  t.equal(read(splice(Buffer.alloc(200_000, 0x55)), random, 1500).reader.breaks, 1);
});

t.test('headers of all manners', async (t) => {
  const random = generator(12);
  const body = splice(mp3Frames(random, 40));
  for (const head of [
    `ICY 200 OK\r\nicy-metaint:${METAINT}\r\n\r\n`,
    `HTTP/1.1 200 OK\nContent-Type: audio/mpeg\nicy-metaint: ${METAINT}\n\n`,
  ]) {
    const { reader } = read(body, random, 40, head);
    t.match(
      { metaint: reader.metaint, errors: reader.icyErrors, breaks: reader.breaks },
      { metaint: METAINT, errors: 0, breaks: 0 },
    );
  }
  t.equal(read(body, random, 40, 'HTTP/1.1 503 Busy\r\n\r\n').reader.refusal, 'status 503');
  t.equal(read(body, random, 40, 'OK2\r\n\r\n').reader.refusal, 'not HTTP');
  t.equal(
    read(body, random, 40, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n').reader.refusal,
    'chunked body',
  );
  t.equal(
    read(mp3Frames(random, 9), random, 40, 'HTTP/1.0 200 OK\r\n\r\n').reader.icyErrors,
    1,
    'ICY asked, none given',
  );
});

t.test('a crowd goes to loopback only, and reports who was refused and who was dropped', async (t) => {
  for (const url of [
    'http://192.168.1.1/x',
    'http://example.com/x',
    'http://127.evil.example/',
    'https://127.0.0.1/',
    'http://[::2]/',
  ])
    t.throws(() => loopbackTarget(url), RangeError, url);
  t.match(loopbackTarget('http://localhost:8000/a.mp3?metaid=x'), {
    host: '127.0.0.1',
    port: 8000,
    path: '/a.mp3?metaid=x',
  });

  const body = splice(mp3Frames(generator(13), 40));
  let connection = 0;
  const server = createServer((socket) => {
    const number = connection++;
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(number === 0 ? 'HTTP/1.1 503 Busy\r\n\r\n' : Buffer.concat([Buffer.from(HEAD), body]));
      if (number === 1) void arrived(socket).then(() => socket.end());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const options = { url: `http://127.0.0.1:${port}/x`, listeners: 10, rate: 1000, warmSeconds: 0, seconds: 2 };
  const report = await runCrowd({ ...options, needle: 't 10' });
  t.match(report, {
    connected: 9,
    refused: { 'status 503': 1 },
    dropped: { 'closed by the server': 1 },
    icyErrors: 0,
    breaks: 0,
  });
  t.match(report, {
    needle: { saw: 9 },
    titles: { 't 0': 9, 't 5': 9 },
    metaints: { [METAINT]: 9 },
    firstByteMs: { count: 9 },
  });
  t.equal(report.bytes.median, HEAD.length + body.length);
  t.notOk(isFaultless(report));
  t.ok(isFaultless(await runCrowd(options)), 'the same without the two');
  await new Promise((resolve) => server.close(resolve));
  t.match((await runCrowd({ ...options, seconds: 0.1 })).refused, { ECONNREFUSED: 10 });
});
