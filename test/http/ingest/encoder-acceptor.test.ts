/**
 * EncoderAcceptor and the encoder source, by bare sockets against the whole server. What a player hears is held against what the encoders
 * sent, byte for byte; the answers are held against src/http/ingest/README.md.
 */

import net from 'node:net';
import t, { type Test } from 'tap';
import { LoopDelay } from '../../kit/loop-delay.js';
import { quietFor } from '../../kit/pause.js';
import { Player } from '../../kit/player.js';
import { Random } from '../../kit/random.js';
import { DEMO_AUDIO, startServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';
import { arrived, peerOf } from '../../kit/wire.js';

// They wait more than they compute.
t.jobs = 4;

const METAINT = 8000;

/** Every time-out is far off, so that a connection that must live does on a machine that stands still; a test that is about one sets its own. */
const yaml = (limits = '', sources = 'bodyTimeoutSeconds: 60, stallMs: 20000, aheadSeconds: 30') => `
addresses: [{ host: 127.0.0.1, port: 0 }]
limits: { ${limits} }
streams: { lagSeconds: 60 }
sources: { ${sources} }
stations:
  demo:
    channels:
      live:
        mounts: [/live.mp3]
        metaint: ${METAINT}
        sources: [{ type: encoder, password: demo-source, takeover: never }]
      open:
        sources: [{ type: encoder, user: dj, password: demo-source, takeover: never }]
      studio:
        metaint: ${METAINT}
        sources: [{ type: encoder, password: demo-source }, { type: file, path: ${DEMO_AUDIO} }]
      demo:
        sources: [{ type: file, path: ${DEMO_AUDIO} }]
`;

/** MPEG 1 layer III, 44.1 kHz, without padding; reaches back into no reservoir. */
const HEADERS = { 64: 0x50, 128: 0x90, 192: 0xb0 } as const;
type Kbps = keyof typeof HEADERS;

function audioOf(random: Random, frames: number, kbps: Kbps = 128): Buffer {
  const frameBytes = Math.floor((144_000 * kbps) / 44_100);
  const bytes = random.bytes(frames * frameBytes);
  for (let i = 0; i < frames; i++) bytes.set([0xff, 0xfb, HEADERS[kbps], 0x64, 0, 0], i * frameBytes);
  return bytes;
}

/** Of a channel, one that has no more labels, or of its encoder. */
async function figure(port: number, name: string, channel = 'open', labels = ''): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(new RegExp(`^${name}\\{channel="${channel}"${labels}\\} (.*)$`, 'm').exec(text)?.[1]);
}
/** Waits until the encoder of a channel is on air. */
const onAir = (port: number, channel: string) =>
  until(async () => (await figure(port, 'airsplice_source_heard', channel, ',.*kind="encoder".*')) === 1, 5000);

const basic = (user: string, password: string) =>
  `Authorization: Basic ${Buffer.from(`${user}:${password}`).toString('base64')}\r\n`;
const GOOD = basic('source', 'demo-source');
const TYPE = 'Content-Type: audio/mpeg\r\n';
const EXPECT = 'Expect: 100-continue\r\n';
const PUT = `PUT /live.mp3 HTTP/1.1\r\nHost: x\r\n${GOOD}${TYPE}\r\n`;

class Encoder {
  answer = '';
  ended = false;
  closed = false;
  readonly socket: net.Socket;

  constructor(t: Test, port: number, head: string | Buffer = '', halfOpen = false) {
    this.socket = net.connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: halfOpen });
    this.socket.on('data', (chunk) => {
      this.answer += chunk.toString('latin1');
    });
    this.socket.on('error', () => undefined);
    this.socket.on('end', () => {
      this.ended = true;
    });
    this.socket.on('close', () => {
      this.closed = true;
    });
    if (head.length > 0) this.socket.write(head);
    t.teardown(() => this.socket.destroy());
  }

  get status(): number {
    return Number(this.answer.split(' ')[1] ?? 0);
  }

  async answered(): Promise<number> {
    await until(
      () => this.answer.includes('\r\n\r\n'),
      10_000,
      () => JSON.stringify(this.answer),
    );
    return this.status;
  }

  async over(): Promise<void> {
    await until(
      () => this.closed || this.ended,
      10_000,
      () => `still open, answer ${JSON.stringify(this.answer)}`,
    );
  }
}

t.test('refusals come before any 100, with what the encoder must know, and end the connection', async (t) => {
  const { port } = await startServer(t, yaml());
  const first = new Encoder(t, port, `PUT /open HTTP/1.0\r\n${basic('dj', 'demo-source')}${TYPE}\r\n`);
  t.equal(await first.answered(), 200);
  const cases: [number, string, string, string][] = [
    [401, 'PUT', '/live.mp3', TYPE],
    [401, 'PUT', '/live.mp3', `Authorization: Bearer x\r\n${TYPE}`],
    [401, 'SOURCE', '/live.mp3', 'Content-Length: 0\r\nConnection: keep-alive\r\n'],
    [401, 'PUT', '/nowhere', TYPE],
    [401, 'PUT', '/live.mp3', basic('source', 'wrong') + TYPE],
    [401, 'PUT', '/live.mp3', basic('admin', 'demo-source') + TYPE],
    [401, 'PUT', '/open', basic('source', 'demo-source') + TYPE],
    [401, 'SOURCE', '/live', basic('source', '') + TYPE],
    [404, 'PUT', '/nowhere', GOOD + TYPE],
    [404, 'PUT', '/demo', GOOD + TYPE],
    [404, 'SOURCE', '/', GOOD + TYPE],
    // Decoded once, and not once more: `/li%76e`, `/%6cive`.
    [404, 'PUT', '/li%%376e.mp3', GOOD + TYPE],
    [404, 'SOURCE', '/%%36cive', GOOD + TYPE],
    [409, 'PUT', '/open', basic('dj', 'demo-source') + TYPE],
    [400, 'PUT', '/live.mp3', `${GOOD}${TYPE}Content-Length: many\r\n`],
    [501, 'PUT', '/live.mp3', `${GOOD}${TYPE}Transfer-Encoding: gzip, chunked\r\n`],
  ];
  const random = new Random();
  const alive = setInterval(() => first.socket.write(audioOf(random, 1)), 50);
  t.teardown(() => clearInterval(alive));
  for (const [status, method, path, headers] of cases) {
    for (const protocol of ['HTTP/1.1', 'HTTP/1.0']) {
      for (const expect of [EXPECT, '']) {
        const name = `${status} ${method} ${path} ${protocol} ${expect.trim()}`;
        const encoder = new Encoder(t, port, `${method} ${path} ${protocol}\r\n${headers}${expect}\r\n`);
        await encoder.over();
        t.equal(encoder.status, status, name);
        t.match(encoder.answer, /^HTTP\/1\.[01] \d{3} /);
        t.notMatch(encoder.answer, /100 Continue|200 OK/, name);
        t.match(encoder.answer, /\r\nContent-Length: \d+\r\n/);
        if (status === 401) {
          t.match(encoder.answer, /\r\nWWW-Authenticate: Basic realm="[^"]+"\r\n/);
          t.match(encoder.answer, /\r\nAllow: PUT, SOURCE, POST\r\n/);
        }
      }
    }
  }
  t.notOk(first.closed || first.ended, 'none of this disturbs the encoder that is there');
});

t.test('headers that are none, too large or too slow; a refused encoder that goes on sending is cut', async (t) => {
  const { port } = await startServer(t, yaml('headSeconds: 1'));
  for (const head of ['PUT /live.mp3\r\n\r\n', `PUT /live.mp3 HTTP/1.1\r\nX: ${'y'.repeat(9000)}\r\n\r\n`]) {
    const encoder = new Encoder(t, port, head);
    await encoder.over();
    t.equal(encoder.status, 400);
  }
  const slow = new Encoder(t, port, 'PUT /live.mp3 HTTP/1.1\r\n');
  const startMs = performance.now();
  const drip = setInterval(() => slow.socket.write('X'), 100);
  const refused = new Encoder(t, port, `PUT /live.mp3 HTTP/1.1\r\n${TYPE}\r\n`, true);
  const pump = setInterval(() => refused.socket.write(Buffer.alloc(1000)), 50);
  // As long as its bytes drip: were its head lengthened by them, this would never end.
  await slow.over();
  clearInterval(drip);
  const tookMs = performance.now() - startMs;
  t.ok(tookMs > 900, `a byte now and then does not lengthen a head: ${tookMs} ms`);
  t.equal(slow.answer, '');
  await until(
    () => refused.closed,
    10_000,
    () => 'the refused one still sends',
  );
  t.equal(refused.status, 401);
  clearInterval(pump);
});

t.test('every way in: what was sent is what is heard, byte for byte, by one Player through all of it', async (t) => {
  const random = new Random();
  const { port } = await startServer(t, yaml());
  const ways: [string, number, string][] = [
    ['PUT 1.1', 200, PUT],
    ['PUT 1.1 with Expect (ffmpeg)', 100, PUT.replace('\r\n\r\n', `\r\n${EXPECT}\r\n`)],
    ['PUT 1.0 with Expect (Liquidsoap)', 100, `PUT /live.mp3 HTTP/1.0\r\n${GOOD}${TYPE}${EXPECT}\r\n`],
    ['PUT 1.0', 200, `PUT /live.mp3 HTTP/1.0\r\n${GOOD}${TYPE}\r\n`],
    ['SOURCE 1.0', 200, `SOURCE /live.mp3 HTTP/1.0\r\n${GOOD}${TYPE}\r\n`],
    ['SOURCE ICE/1.0', 200, `SOURCE /live.mp3 ICE/1.0\r\n${GOOD}ice-name: x\r\n${TYPE}\r\n`],
    ['LF only (DarkIce)', 200, `SOURCE /live HTTP/1.0\r\n${GOOD}${TYPE}\r\n`.replaceAll('\r\n', '\n')],
    ['no content type', 200, `PUT /live HTTP/1.1\r\n${GOOD}\r\n`],
    ['octets', 200, `PUT /live HTTP/1.1\r\n${GOOD}content-type:application/octet-stream\r\n\r\n`],
  ];
  const sent: Buffer[] = [];
  let player: Player | undefined;
  const heard = async () => {
    const bytes = Buffer.concat(sent).length;
    player ??= new Player(port, '/live.mp3', { keep: true });
    await player.until((one) => one.audioBytes > bytes - METAINT);
  };
  t.teardown(() => player?.close());
  for (const [name, status, head] of ways) {
    for (const how of ['apart', 'in one packet', 'byte by byte']) {
      const audio = audioOf(random, 40);
      const encoder = new Encoder(t, port);
      if (how === 'in one packet') encoder.socket.write(Buffer.concat([Buffer.from(head), audio.subarray(0, 9999)]));
      else if (how === 'apart') encoder.socket.write(head);
      else
        for (const byte of Buffer.from(head)) {
          encoder.socket.write(Buffer.of(byte));
          if (random.chance(0.1)) await arrived(encoder.socket);
        }
      t.equal(await encoder.answered(), status, `${name}, ${how}`);
      t.equal(encoder.answer.match(/HTTP\/1/g)?.length, 1, 'one answer');
      encoder.socket.write(how === 'in one packet' ? audio.subarray(9999) : audio);
      sent.push(audio);
      if (sent.length === 1) await heard();
      // A half-close is the end of the stream, not of what was sent before it.
      encoder.socket.end();
      await encoder.over();
    }
  }
  await heard();
  t.ok(Buffer.concat(sent).subarray(0, player!.audioBytes).equals(player!.audio), `byte-exact, seed ${random.seed}`);
  t.equal(player!.closed, false);
});

const SILENT_MS = 3000;

t.test('one at a time: 409 while the first is there, welcome when it has left, however it left', async (t) => {
  const random = new Random();
  const { port: patient } = await startServer(t, yaml());
  const { port: strict } = await startServer(
    t,
    yaml('', `pieceSeconds: 0.1, bodyTimeoutSeconds: ${SILENT_MS / 1000}, stallMs: 20000`),
  );
  const mute = new Encoder(t, strict, PUT.replace('/live.mp3', '/studio'));
  t.equal(await mute.answered(), 200);
  const garbage = random.bytes(600_000).map((byte) => byte & 0x7f);
  const endings: [string, (encoder: Encoder) => void, number][] = [
    ['FIN', (encoder) => void encoder.socket.end(), patient],
    ['RST', (encoder) => void encoder.socket.resetAndDestroy(), patient],
    ['silence', () => undefined, strict],
    ['garbage', (encoder) => void encoder.socket.write(garbage), patient],
  ];
  for (const [name, end, port] of endings) {
    const first = new Encoder(t, port, PUT);
    t.equal(await first.answered(), 200);
    const sentMs = performance.now();
    first.socket.write(audioOf(random, 80));
    const listener = new Player(port, '/live.mp3');
    await listener.until(() => listener.audioBytes > 0);
    const second = new Encoder(t, port, PUT);
    await second.over();
    t.equal(second.status, 409);
    const late = new LoopDelay(t);
    const startMs = performance.now();
    end(first);
    let isLeft = () => false;
    const comes = async () => {
      const next = new Encoder(t, port, PUT);
      const status = await next.answered();
      const peer = peerOf(next.socket);
      isLeft = () => peer.destroyed;
      next.socket.destroy();
      return status === 200;
    };
    await until(comes, 20_000, () => `${name}: not free`, 20);
    const tookMs = performance.now() - (name === 'silence' ? sentMs : startMs);
    if (name === 'silence') t.ok(tookMs > SILENT_MS - 200, `not before its time: ${tookMs} ms`);
    else t.ok(tookMs - late.totalMs < SILENT_MS - 200, `${name}: not as late as by silence: ${tookMs} ms`);
    if (name !== 'RST') await first.over();
    t.equal(listener.closed, false, `${name}: the listener stays`);
    listener.close();
    await until(isLeft, 5000);
  }
  await mute.over();
});

t.test('who sends faster than time is held back: no stall, no listener lost, nothing of it lost', async (t) => {
  const random = new Random();
  // Who is held back is not read for a second at a time at 8 kb/s: no silence of the encoder's.
  const { port } = await startServer(
    t,
    yaml('', 'pieceSeconds: 0.1, bodyTimeoutSeconds: 0.7, stallMs: 1500, aheadSeconds: 2'),
  );
  const audio = audioOf(random, 2500);
  // 8 kb/s: a single read of the socket is a minute of audio, longer than stall and body timeout together.
  const lowFrame = Buffer.concat([Buffer.from([0xff, 0xf3, 0x10, 0xc4]), Buffer.alloc(22, 7)]);
  const low = Buffer.concat(Array.from({ length: 5000 }, () => lowFrame));
  const startMs = performance.now();
  // Heads and audio at once: neither is ever silent, however the machine pauses.
  const open = `PUT /open HTTP/1.0\r\n${basic('dj', 'demo-source')}\r\n`;
  const slow = new Encoder(t, port, Buffer.concat([Buffer.from(open), low]));
  const fast = new Encoder(t, port, Buffer.concat([Buffer.from(PUT.replace('/live.mp3', '/studio')), audio]));
  t.strictSame([await fast.answered(), await slow.answered()], [200, 200]);
  for (const channel of ['studio', 'open']) await onAir(port, channel);
  const players = [1, 2, 3].map(() => new Player(port, '/studio', { keep: true }));
  const player = players[0]!;
  const patient = new Player(port, '/open', { keep: true });
  t.teardown(() => {
    for (const one of [...players, patient]) one.close();
  });
  // Longer than stallMs.
  await quietFor(2000);
  // Of the encoder's audio only: what was heard of the file before it is not of its pace.
  const at = () => player.audio.indexOf(audio.subarray(0, 1000));
  const heardMs = () => ((player.audioBytes - at()) / 417) * (1152 / 44.1);
  const passedMs = () => performance.now() - startMs;
  t.ok(at() >= 0);
  t.ok(heardMs() < passedMs() + 2300, `${heardMs()} ms of audio in ${passedMs()} ms`);
  await until(() => heardMs() > passedMs() + 500 && patient.audioBytes > 3000, 5000);
  t.notOk(players.some((one) => one.closed) || fast.closed || slow.closed || slow.ended);
  const heard = player.audio.subarray(at());
  t.ok(heard.equals(audio.subarray(0, heard.length)), 'no file after the first frame');
});

t.test('metaint: promised to who listens; follows the encoder once nobody does', async (t) => {
  const random = new Random();
  const { port } = await startServer(t, yaml());
  const head = `PUT /open HTTP/1.0\r\n${basic('dj', 'demo-source')}\r\n`;
  const first = new Encoder(t, port, head);
  await first.answered();
  first.socket.write(audioOf(random, 200, 192));
  await onAir(port, 'open');
  const player = new Player(port, '/open', { keep: true });
  await player.until(() => player.audioBytes > 0);
  t.equal(player.metaint, 6000);
  first.socket.end();
  await first.over();
  const second = new Encoder(t, port, head);
  await second.answered();
  const feed = setInterval(() => second.socket.write(audioOf(random, 4, 64)), 100);
  t.teardown(() => clearInterval(feed));
  second.socket.write(audioOf(random, 200, 64));
  await player.until(() => player.audioBytes > 120_000);
  const late = new Player(port, '/open');
  await late.until(() => late.audioBytes > 0);
  t.equal(late.metaint, 6000, 'as long as anybody was promised it');
  player.close();
  late.close();
  await until(async () => (await figure(port, 'airsplice_listeners')) === 0, 5000);
  // Its next frame shows that no client listens.
  const seconds = await figure(port, 'airsplice_audio_seconds_total');
  await until(async () => (await figure(port, 'airsplice_audio_seconds_total')) > seconds, 5000);
  const anew = new Player(port, '/open');
  await anew.until(() => anew.audioBytes > 0);
  t.equal(anew.metaint, 2000);
  anew.close();
});
