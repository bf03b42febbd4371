/** Titles of a pulled stream at a whole server: in its readers’ records, and in the stream as a Player sees it. */

import net from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { Feeder } from '../kit/feeder.js';
import { pause, quietFor } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { Random } from '../kit/random.js';
import { atOnce, NODES, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import {
  audioOf,
  FRAME_BYTES,
  icyBody,
  isOnAir,
  patientRelayYaml,
  relayYaml,
  streamHead,
  Upstream,
} from '../kit/upstream.js';

/** Each machine pulls for itself. */
const PULLS = Math.max(1, NODES);
// They wait more than they compute.
t.jobs = atOnce(5);

/** Nothing before the first title (204). */
const now = async (base: string) => {
  const answer = await fetch(`${base}/metadata/channel/relay.json`);
  return (answer.status === 204 ? {} : await answer.json()) as Record<string, unknown>;
};

/** A server that gets titles in two ways. */
async function titled(t: Test, yaml: (url: string) => string) {
  const upstream = await Upstream.open(t);
  const random = new Random();
  upstream.answer = (to) => void to.write(streamHead(1000));
  const { base } = await startServer(t, yaml(upstream.url));
  // Each machine has one: the first may have pulled anew while it waited for the second to start.
  const haveAsked = () => upstream.openSockets === PULLS && upstream.requestHeads.length >= PULLS;
  await until(haveAsked, 10_000, () => `${upstream.requestHeads.length} asked, ${upstream.openSockets} are open`);
  /** A second of audio in pieces of metaint, whole frames of it, and this title at its first block. */
  const say = (title: string | Buffer, url?: string) => {
    const audio = audioOf(random, 1000);
    const last = url === undefined ? "';" : `';StreamUrl='${url}';`;
    const block = ["StreamTitle='", title, last].map((part) => Buffer.from(part as string));
    const body = icyBody(audio.subarray(0, 40_000), 1000, new Map([[0, Buffer.concat(block)]]));
    for (const socket of upstream.sockets) socket.write(body);
  };
  const rawdata = async () => {
    const response = await fetch(`${base}/metadata/channel/relay.json`);
    if (response.status !== 200) return response.status;
    const record = (await response.json()) as Record<string, unknown>;
    return `${record['rawdata']} (${record['source']})`;
  };
  const push = async (query: string) => (await fetch(`${base}/metapush/relay/relay-token?${query}`)).status;
  /** @returns the record that says so: another machine may still have the one before */
  const settles = async (expected: unknown) => {
    let [record, seen]: [Record<string, unknown>, string] = [{}, ''];
    const isIt = async () => {
      record = await now(base);
      seen = `${record['rawdata']} (${record['source']})`;
      return seen === expected;
    };
    await until(isIt, 10_000, () => `${seen}, not ${expected}`);
    t.pass(`${expected}`);
    return record;
  };
  return { base, say, rawdata, push, settles };
}

t.test('a picture beside the title is its cover, also where it comes later', async (t) => {
  const { base, say, settles } = await titled(t, (url) => relayYaml(url));
  const cover = async (expected: string) => {
    let record: Record<string, unknown> = {};
    const isIt = async () => {
      record = await now(base);
      return record['cover'] === expected;
    };
    await until(isIt, 10_000, () => expected);
    return record;
  };
  say('A - One', 'https://x.example/1.jpg');
  const first = await cover('https://x.example/1.jpg');
  t.match(first, { artist: 'A', song: 'One', source: 'upstream' });
  say('A - Two', 'https://x.example/');
  await settles('A - Two (upstream)');
  const second = await cover('');
  say('A - Two', 'https://x.example/2.jpg');
  const corrected = await cover('https://x.example/2.jpg');
  t.equal(corrected['id'], second['id'], 'it is a correction');
  t.equal(corrected['start_timestamp'], second['start_timestamp']);
  say('A - Two');
  say('A - Three');
  await settles('A - Three (upstream)');
  const history = (await (await fetch(`${base}/metadata/channel/relay/history.json`)).json()) as { cover: string }[];
  t.strictSame(
    history.map((one) => one.cover),
    ['', 'https://x.example/2.jpg', 'https://x.example/1.jpg'],
  );
});

t.test('through a Player: the first block that closes after the title’s place carries it', async (t) => {
  const random = new Random();
  const upstream = await Upstream.open(t);
  const audio = audioOf(random, 1000);
  const metaint = 700;
  const blocks = Math.floor(audio.length / metaint);
  const texts = new Map<number, string>();
  for (let i = 100; i < blocks; i += random.int(1, 20)) texts.set(i, `StreamTitle='Artist - Song ${i}';`);
  const body = icyBody(audio, metaint, texts);
  const first = 40_000;
  upstream.answer = (socket) => {
    socket.write(Buffer.concat([Buffer.from(streamHead(metaint)), body.subarray(0, first)]));
  };
  const server = await startServer(t, patientRelayYaml(upstream.url, ', onDemand: true'));
  t.equal(upstream.sockets.length, 0);
  const player = new Player(server.port, '/relay.mp3', { keep: true });
  t.teardown(() => player.close());
  await player.until(() => player.audioBytes > 30_000);
  for (let at = first; at < body.length; ) {
    const length = random.int(1, 4000);
    upstream.sockets[0]!.write(body.subarray(at, at + length));
    at += length;
    if (random.chance(0.3)) await turn();
  }
  await player.until(() => player.audioBytes >= audio.length - 8000);
  t.ok(player.audio.equals(audio.subarray(0, player.audioBytes)), `byte-exact, seed ${random.seed}`);
  // Where each title lay on our tape: at the end of the last whole frame before its place.
  const marks = [...texts.keys()].map((i) => ({
    title: `Artist - Song ${i}`,
    atByte: Math.floor(((i + 1) * metaint) / FRAME_BYTES) * FRAME_BYTES,
  }));
  const expected: { title: string; atByte: number }[] = [];
  for (let atByte = 8000; atByte <= player.audioBytes; atByte += 8000) {
    const mark = marks.findLast((candidate) => candidate.atByte < atByte);
    if (mark !== undefined && mark.title !== expected.at(-1)?.title) expected.push({ title: mark.title, atByte });
  }
  const seen = player.titles.map(({ title, atByte }) => ({ title, atByte }));
  t.strictSame(seen, expected, `seed ${random.seed}`);
  t.ok(expected.length > 20);
});

t.test('titles as upstreams write them', async (t) => {
  const { base, say, settles } = await titled(t, (url) => relayYaml(url, ', charset: windows-1251'));
  say(' - \ufeffOne\u00a0');
  await settles('One (upstream)');
  say('Taio Cruz - text="Dynamite" song_spot="M" amgArtworkURL="https://i.iheart.example/1" length="00:03:45"');
  t.match(await settles('Taio Cruz - Dynamite (upstream)'), {
    artist: 'Taio Cruz',
    song: 'Dynamite',
    cover: 'https://i.iheart.example/1',
  });
  say('title="Your Song",artist="Elton John",url="song_spot="F" MediaBaseId="0""');
  await settles('Elton John - Your Song (upstream)');
  say('%artist% - %title%');
  say(Buffer.from([0xca, 0xe8, 0xed, 0xee, 0x20, 0x2d, 0x20, 0xc3]));
  await settles('Кино - Г (upstream)');
  say('Кино - Группа');
  await settles('Кино - Группа (upstream)');
  const history = (await (await fetch(`${base}/metadata/channel/relay/history.json`)).json()) as { rawdata: string }[];
  t.notOk(history.some(({ rawdata }) => /%|^$/.test(rawdata)));
});

t.test('titles: upstream’s where nothing was pushed; a push silences them for its time', async (t) => {
  const yaml = (url: string) => relayYaml(url, '', 'titles: { graceSeconds: 0.5 }');
  const { say, rawdata, push, settles } = await titled(t, yaml);
  t.equal(await rawdata(), 204);
  say('A - One');
  const one = await settles('A - One (upstream)');
  t.strictSame([one['artist'], one['song'], one['duration'], one['type']], ['A', 'One', 0, 'now']);
  say('A - Two');
  await settles('A - Two (upstream)');
  t.equal(await push('artist=P&song=Pushed&duration=2'), 200);
  t.equal(await rawdata(), 'P - Pushed (metapush)');
  say('A - Three');
  await quietFor(300);
  t.equal(await rawdata(), 'P - Pushed (metapush)', 'while it lasts');
  await settles('A - Three (upstream)');
  say('A - Four');
  await settles('A - Four (upstream)');
});

t.test('an upstream that has fallen silent does not end a push', async (t) => {
  // It falls silent before the push would give way.
  const yaml = (url: string) =>
    relayYaml(url, '', 'titles: { pushHoldSeconds: 1.5 }').replace('stallMs: 20000', 'stallMs: 500, pieceSeconds: 0.1');
  const { base, say, rawdata, push, settles } = await titled(t, yaml);
  say('A - Four');
  await settles('A - Four (upstream)');
  const pushedMs = performance.now();
  t.equal(await push('song=Without'), 200);
  say('A - Five');
  await until(
    async () => !(await isOnAir(base)),
    2000,
    () => 'still on air',
  );
  t.equal(await rawdata(), 'Without (metapush)');
  await quietFor(pushedMs + 2200 - performance.now());
  t.equal(await rawdata(), 'Without (metapush)', 'the upstream has fallen silent meanwhile');
  say('A - Six');
  await settles('A - Six (upstream)');
});

t.test('the title of an upstream that was only a spare is in force once it is on air', async (t) => {
  const upstream = await Upstream.open(t);
  const audio = audioOf(new Random(), 2000);
  upstream.answer = async (socket) => {
    socket.write(streamHead(1000));
    const body = icyBody(audio, 1000, new Map([[0, "StreamTitle='Spare - Title';"]]));
    for (let at = 0; at < body.length && !socket.destroyed; at += 4000) {
      socket.write(body.subarray(at, at + 4000));
      await pause(250);
    }
  };
  const yaml = relayYaml(upstream.url).replace(
    'sources: [{ type: pull',
    'sources: [{ type: encoder, password: demo-source }, { type: pull',
  );
  const server = await startServer(t, yaml);
  const encoder = net.connect(server.port, '127.0.0.1');
  encoder.on('error', () => undefined);
  const basic = Buffer.from('source:demo-source').toString('base64');
  encoder.write(`PUT /relay.mp3 HTTP/1.0\r\nAuthorization: Basic ${basic}\r\nContent-Type: audio/mpeg\r\n\r\n`);
  encoder.write(audioOf(new Random(), 20));
  const player = new Player(server.port, '/relay.mp3');
  t.teardown(() => player.close());
  encoder.write(audioOf(new Random(), 100));
  await player.until(() => player.audioBytes > 0);
  const timer = setInterval(() => encoder.write(audioOf(new Random(), 4)), 100);
  // By the second piece the first, with the title, has been read.
  await until(() => (upstream.sockets[0]?.bytesWritten ?? 0) > 8000, 3000);
  encoder.destroy();
  clearInterval(timer);
  await until(() => player.titles.at(-1)?.title === 'Spare - Title', 3000);
  const first = await now(server.base);
  t.equal(first['rawdata'], 'Spare - Title');

  // An encoder with a title of its own comes between: what the upstream says is the same play all the time.
  const live = new Feeder(t, server.port, '/relay').stream(t);
  const headers = { Authorization: `Basic ${basic}` };
  await until(async () => {
    const { status } = await fetch(`${server.base}/admin/metadata?mount=/relay&mode=updinfo&song=Live`, { headers });
    return status === 200 && (await now(server.base))['rawdata'] === 'Live';
  }, 8000);
  live.socket.destroy();
  await until(async () => (await now(server.base))['rawdata'] === 'Spare - Title', 8000);
  t.match(await now(server.base), { id: first['id'], start_timestamp: first['start_timestamp'] });
});

t.test('titles with entities and en dashes, as Icecast relays them in Latin-1', async (t) => {
  // Entities are read once: what they spell is text.
  const TITLE = 'Björk – Jóga & R&B &lt;';
  const upstream = await Upstream.open(t);
  const line = Buffer.from("StreamTitle='Bj\xf6rk &#8211; J\xf3ga &amp; R&B &amp;lt;';", 'latin1');
  const body = icyBody(audioOf(new Random(), 400), 1000, new Map([[0, line]]));
  upstream.answer = (socket) => void socket.write(Buffer.concat([Buffer.from(streamHead(1000)), body]));
  const server = await startServer(t, relayYaml(upstream.url));
  const player = new Player(server.port, '/relay.mp3');
  t.teardown(() => player.close());
  await player.until((one) => one.titles.at(-1)?.title === TITLE, 5000);
  const expected = { artist: 'Björk', song: 'Jóga & R&B &lt;', separator: ' – ', rawdata: TITLE };
  t.match(await now(server.base), expected, 'the line stays as it came');
});
