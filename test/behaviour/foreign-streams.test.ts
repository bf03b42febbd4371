/**
 * The frames decide, not the content type: what can be played is, whatever it is called, by each way in which encoders come; what cannot be is
 * refused by its name, where its operator reads it: in the answer, in the log, on the operator page.
 */

import t, { type Test } from 'tap';
import { ADMIN_USERS, AdminClient } from '../kit/admin-client.js';
import { DEMO_FRAMES } from '../kit/feeder.js';
import { keepLines, type LogLine, sourceChanges } from '../kit/log-lines.js';
import { opusLink } from '../kit/made-ogg.js';
import { Random } from '../kit/random.js';
import { DEMO_AUDIO, startServer, type TestServer } from '../kit/server.js';
import { OK2 } from '../kit/transcripts.js';
import { until } from '../kit/until.js';
import { Wire } from '../kit/wire.js';

// They wait more than they compute.
t.jobs = 3;

const yaml = (sources = 'bodyTimeoutSeconds: 60') => `
addresses: [{ host: 127.0.0.1, port: 0, shoutcastPort: false, roles: [stream, encoder, admin, ops] }]
sources: { ${sources} }
limits: { encodersRefusedPerMinute: 1000 }
${ADMIN_USERS}
stations:
  demo:
    channels:
      live:
        mounts: [/live.mp3]
        sources: [{ type: encoder, password: demo-source, takeover: always }, { type: file, path: ${DEMO_AUDIO} }]
`;
const LOGIN = `Authorization: Basic ${Buffer.from('source:demo-source').toString('base64')}\r\n`;
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

/** How encoders come, up to the first byte of their body; and what comes before it of us. */
const WAYS = {
  'PUT with Expect': [`PUT /live.mp3 HTTP/1.1\r\nHost: x\r\n${LOGIN}Expect: 100-continue\r\n`, '\r\n', CONTINUE],
  PUT: [`PUT /live.mp3 HTTP/1.1\r\nHost: x\r\n${LOGIN}`, '\r\n', 'HTTP/1.0 200 OK'],
  'PUT over HTTP/1.0 with Expect': [`PUT /live.mp3 HTTP/1.0\r\n${LOGIN}Expect: 100-continue\r\n`, '\r\n', CONTINUE],
  SOURCE: [`SOURCE /live.mp3 HTTP/1.0\r\n${LOGIN}`, '\r\n', 'HTTP/1.0 200 OK'],
  SHOUTcast: ['/live.mp3:demo-source\r\n', '\r\n', OK2],
} as const;
type Way = keyof typeof WAYS;

async function come(t: Test, port: number, way: Way, type: string | null): Promise<Wire> {
  const [head, end, answer] = WAYS[way];
  const wire = new Wire(t, port).send(`${head}${type === null ? '' : `Content-Type: ${type}\r\n`}${end}`);
  await until(
    () => wire.got.startsWith(answer),
    10_000,
    () => `${way}: ${wire.got}`,
  );
  return wire;
}

const MP3 = Buffer.concat(DEMO_FRAMES.slice(0, 60));
const OPUS = opusLink(7, 100);

/** The source of `live` that is on air. */
const heard = (lines: readonly LogLine[]) => sourceChanges(lines, 'live').at(-1);

async function isHeard(lines: readonly LogLine[], name: string): Promise<void> {
  await until(
    () => heard(lines) === 'encoder',
    10_000,
    () => `${name}: ${JSON.stringify(lines.slice(-5))}`,
  );
}

async function gone(lines: readonly LogLine[], wire: Wire): Promise<void> {
  wire.socket.destroy();
  await until(() => heard(lines) === 'file', 10_000);
}

t.test('good frames are heard under whatever type', async (t) => {
  const { log, lines } = keepLines();
  const { one: server } = await startServer(t, yaml(), undefined, log);
  const types = [
    ...[null, 'audio/mp4', 'audio/aac+', 'audio/x-aacp', 'audio/MPA', 'text/plain', 'video/ogg', 'video/webm'],
    ...['application/octet-stream', 'AUDIO/Mpeg; charset="utf-8"', 'audio/flac', 'nonsense', ' ', 'audio/mpegurl'],
    ...['application/vnd.apple.mpegurl', 'misc/ultravox', 'image/png'],
  ];
  const ways = Object.keys(WAYS) as Way[];
  for (const [i, type] of types.entries()) {
    const way = ways[i % ways.length]!;
    const name = `${way}, ${type}`;
    const wire = await come(t, server.port, way, type);
    wire.send(i % 2 === 0 ? MP3 : OPUS);
    await isHeard(lines, name);
    t.notOk(wire.closed || wire.ended, name);
    await gone(lines, wire);
  }
  t.notOk(lines.some(({ message }) => message === 'encoder refused'));
});

t.test('tags and junk before good frames, and heads that come byte by byte', async (t) => {
  const { log, lines } = keepLines();
  const { one: server } = await startServer(t, yaml(), undefined, log);
  const random = new Random();
  const tag = Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\x30\x00', 'latin1'), random.bytes(0x30 << 7)]);
  const picture = Buffer.concat([Buffer.from('ffd8ffe0', 'hex'), Buffer.alloc(3000, 0x55)]);
  const before: Record<string, Buffer> = {
    tag,
    junk: Buffer.concat([Buffer.from('\r\n\r\n'), Buffer.alloc(5000, 3)]),
    'a picture': picture,
    'a tag and a picture': Buffer.concat([tag, picture]),
    'the head of a WAV of MP3': Buffer.from(`RIFF\xff\xff\xff\xffWAVEfmt \x1e\0\0\0\x55\0${'\0'.repeat(40)}`, 'latin1'),
  };
  for (const [name, bytes] of Object.entries(before)) {
    const wire = await come(t, server.port, 'PUT with Expect', 'text/plain');
    wire.send(Buffer.concat([bytes, MP3]));
    await isHeard(lines, name);
    await gone(lines, wire);
  }
  const split = await come(t, server.port, 'SOURCE', 'application/ogg');
  for (const byte of OPUS.subarray(0, 200)) split.send(Buffer.from([byte]));
  split.send(OPUS.subarray(200));
  await isHeard(lines, 'byte by byte');
  t.pass('all are heard');
});

const FOREIGN: Readonly<Record<string, Buffer>> = {
  'WebM or Matroska': Buffer.from(`1a45dfa3${'01'.repeat(30)}`, 'hex'),
  MP4: Buffer.from(`\0\0\0\x20ftypM4A ${'\0'.repeat(40)}`, 'latin1'),
  'FLAC without Ogg': Buffer.from(`fLaC${'\0'.repeat(40)}`),
  WAV: Buffer.from(`RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0${'\0'.repeat(40)}`, 'latin1'),
  'an HLS playlist': Buffer.from(`#EXTM3U\n${'#EXTINF:4,\nseg.ts\n'.repeat(3)}`),
  'MPEG-TS': Buffer.alloc(12 * 188, Buffer.concat([Buffer.from([0x47]), Buffer.alloc(187, 1)])),
};

async function refusals({ base }: TestServer): Promise<readonly Record<string, unknown>[]> {
  return (await new AdminClient({ base }).get('refusals')).body as Record<string, unknown>[];
}

t.test('what is none of ours is refused by its name, by each way in', async (t) => {
  const { log, lines } = keepLines();
  const server = (await startServer(t, yaml(), undefined, log)).one;
  const ways = Object.keys(WAYS) as Way[];
  for (const [i, [name, bytes]] of Object.entries(FOREIGN).entries()) {
    for (const way of [ways[i % ways.length]!, 'PUT with Expect' as const]) {
      const wire = await come(t, server.port, way, 'audio/mpeg');
      // A second one reaches the server's parser in single bytes.
      if (i % 2 === 0) wire.send(bytes);
      else for (const byte of bytes) wire.send(Buffer.from([byte]));
      await until(
        () => wire.ended,
        10_000,
        () => `${way}, ${name}: ${wire.got}`,
      );
      // The log has one line a second for each reason.
      const logged = () =>
        lines.find(({ message, reason }) => message === 'encoder refused' && String(reason).includes(name))?.['reason'];
      await until(() => logged() !== undefined, 10_000);
      const why = logged();
      t.match(why, `what the encoder sends (${name}): `, name);
      const answer = wire.got.slice(WAYS[way][2].length);
      if (way.includes('Expect')) t.match(answer, /^HTTP\/1\.0 415 Unsupported Media Type\r\n/, `${way}, ${name}`);
      if (way === 'SHOUTcast') t.equal(answer, '', 'which reads no more');
      else t.ok(answer.endsWith(`\r\n\r\n${why}\n`), `${way}, ${name}: ${answer}`);
      t.match((await refusals(server))[0], {
        what: 'encoder refused',
        why,
        channel: 'live',
        mount: '/live.mp3',
        status: 415,
      });
    }
  }
  t.ok(!lines.some(({ heard: source }) => source === 'encoder'), 'none was on air');
  const metrics = await (await fetch(`${server.base}/metrics`)).text();
  t.match(metrics, /^airsplice_encoder_connections_total\{status="415"\} 12$/m);
});

t.test('a body that ends without a frame, and one that never comes', async (t) => {
  const { log, lines } = keepLines();
  const { one: server } = await startServer(t, yaml('bodyTimeoutSeconds: 2, pieceSeconds: 1'), undefined, log);
  const [head] = WAYS['PUT with Expect'];
  const reasonOf = (status: number) => lines.find((line) => line['status'] === status)?.['reason'];
  const reason = async (status: number) => {
    await until(() => reasonOf(status) !== undefined, 10_000);
    return reasonOf(status);
  };
  const text = new Wire(t, server.port).send(`${head}Content-Length: 13\r\n\r\n`).send('Hello, world!');
  await until(() => text.ended, 10_000);
  t.match(text.got, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.0 415 /);
  t.match(await reason(415), 'no MP3, AAC or Ogg audio in what the encoder sends: ');
  const none = new Wire(t, server.port).send(`${head}Content-Type: audio/mpeg\r\nVia: 1.1 proxy\r\n\r\n`);
  await until(() => none.ended, 10_000);
  t.match(none.got, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.0 408 [\s\S]*an HTTP proxy holds back an endless PUT/);
  t.match(await reason(408), 'no body followed the head: an HTTP proxy holds back an endless PUT');
  const empty = new Wire(t, server.port).send(`${head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`);
  await until(() => empty.ended, 10_000);
  t.match(empty.got, /HTTP\/1\.1 200 OK/, 'no bytes are nothing wrong');
  t.equal(lines.filter(({ message }) => message === 'encoder refused').length, 2);
});

t.test('SHOUTcast 2 is known by its first bytes, however they come', async (t) => {
  const { log, lines } = keepLines();
  const server = (await startServer(t, yaml(), undefined, log)).one;
  const message = Buffer.from('Z\0\x10\x09\0\x042.1\0\0', 'latin1');
  for (const pieces of [[message], [...message].map((byte) => Buffer.from([byte]))]) {
    const wire = new Wire(t, server.port);
    for (const piece of pieces) wire.send(piece);
    await until(() => wire.ended, 10_000);
    t.match(wire.got, /^Z\0\x10\x09\0.NAK:the encoder speaks SHOUTcast 2 \(uvox\)[^\0]*\0$/);
    t.equal(wire.got.length, 7 + wire.got.charCodeAt(5), 'the message is as long as it says');
  }
  await until(() => lines.some(({ message: said }) => said === 'encoder refused'), 10_000);
  t.match(
    lines.find(({ message: said }) => said === 'encoder refused'),
    { status: 415, reason: 'the encoder speaks SHOUTcast 2 (uvox): set it to SHOUTcast 1 or Icecast' },
  );
  const password = new Wire(t, server.port).send('Z').send('ebra\r\n');
  await until(() => password.ended, 10_000);
  t.equal(password.got, 'invalid password\r\n', 'a password may begin with the same letter');
});
