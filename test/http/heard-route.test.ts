/** A player's reports by POST, on the whole server: what is taken, and each reason for which one is not. */

import t, { type Test } from 'tap';
import { pause } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { DEMO_AUDIO, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { ask, Watching } from '../kit/wire.js';

// They wait more than they compute.
t.jobs = 4;

const { port, ws, base } = await startServer(
  t,
  `
addresses: [{ host: 127.0.0.1, port: 0 }]
streams: { burstSeconds: 10, lagSeconds: 30 }
sessions: { reportSeconds: 0.5 }
stations:
  house:
    channels:
      alpha: { pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      bravo: { pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
`,
);
let players = 0;

/** A player with a metaid of its own, which has been sent its burst. */
async function playing(t: Test, channel = 'alpha'): Promise<{ player: Player; metaid: string; session: string }> {
  const metaid = `player-${players++}`;
  const player = new Player(port, `/${channel}?metaid=${metaid}`);
  t.teardown(() => player.close());
  await player.until((p) => p.audioBytes > BURST_BYTES);
  const record = await recordOf(metaid);
  return { player, metaid, session: record.session };
}

async function push(song: string, channel = 'alpha'): Promise<void> {
  const answer = await ask(t, port, `GET /metapush/${channel}/demo-token?song=${song} HTTP/1.1`);
  if (answer.status !== 200) throw new Error(answer.body);
}

/** What it was sent last. */
async function recordOf(metaid: string): Promise<{ session: string; song: string; position: string }> {
  let text = '';
  await until(async () => {
    text = await (await fetch(`${base}/metadata/listener/${metaid}.json?sync=wire`)).text();
    return text !== '';
  }, 5000);
  return JSON.parse(text);
}

async function report(t: Test, metaid: string, body: string, type = 'application/json') {
  const head = `POST /metadata/listener/${metaid}/heard HTTP/1.1\nContent-Type: ${type}\nContent-Length: ${Buffer.byteLength(body)}`;
  return ask(t, port, head, body);
}

/** How many reports came to this. */
async function countOf(verdict: string): Promise<number> {
  const text = await (await fetch(`${base}/metrics`)).text();
  return Number(new RegExp(`airsplice_heard_reports_total\\{verdict="${verdict}"\\} (\\d+)`).exec(text)?.[1]);
}

/** Once the tapes hold this, a new listener has a title seconds before it hears it. */
const BURST_BYTES = 100_000;

await push('First');
await push('First', 'bravo');
await Promise.all(
  ['alpha', 'bravo'].map(async (channel) => {
    const player = new Player(port, `/${channel}`);
    await player.until((p) => p.audioBytes > BURST_BYTES);
    player.close();
  }),
);

t.test('a report is taken: pages of any origin may send it', async (t) => {
  const { metaid, session } = await playing(t);
  const answer = await report(t, metaid, '{"heardMs": 0}');
  t.equal(answer.status, 204, answer.body);
  t.equal(answer.headers.get('access-control-allow-origin'), '*');
  t.equal(answer.headers.get('cache-control'), 'no-store');
  t.equal((await report(t, metaid, `{"heardMs":12.5,"session":"${session}","more":[1]}`)).status, 204);
  const preflight = await ask(t, port, `OPTIONS /metadata/listener/${metaid}/heard HTTP/1.1\nOrigin: https://x`);
  t.equal(preflight.status, 204);
  t.match(preflight.headers.get('access-control-allow-methods'), /POST/);
  t.match(preflight.headers.get('access-control-allow-headers'), /Content-Type/);
  const read = await ask(t, port, `GET /metadata/listener/${metaid}/heard HTTP/1.1`);
  t.same([read.status, read.headers.get('allow')], [405, 'POST, OPTIONS']);
});

t.test('as text/plain, which a page sends when it is left, without being asked for permission', async (t) => {
  const { metaid } = await playing(t);
  const answer = await report(t, metaid, '{"heardMs":0}', 'text/plain;charset=UTF-8');
  t.equal(answer.status, 204, answer.body);
  t.equal(answer.headers.get('access-control-allow-origin'), '*');
  t.equal((await report(t, metaid, '{"heardMs":', 'text/plain')).status, 400);
  t.equal((await report(t, metaid, `{"heardMs":0,"x":"${'x'.repeat(256)}"}`, 'text/plain')).status, 413);
});

t.test('forwards: what is due goes out at once; polling and watchers follow', async (t) => {
  const { player, metaid } = await playing(t);
  const watching = await new Watching(t, `${ws}/metadata/listener/${metaid}`).opened();
  await push('Forwards');
  await until(async () => (await recordOf(metaid)).song === 'Forwards', 5000);
  const { position } = await recordOf(metaid);
  const heard = async () => (await fetch(`${base}/metadata/listener/${metaid}.json`)).text();
  t.notMatch(await heard(), 'Forwards', 'it lies seconds ahead');
  t.equal((await report(t, metaid, JSON.stringify({ heardMs: Number(position) + 1 }))).status, 204);
  t.match(await heard(), 'Forwards');
  await until(() => watching.songs.includes('now Forwards'), 500);
  t.ok(performance.now() < player.firstByteMs + Number(position), 'before its time without the report');
});

t.test('what is not a report is refused and counted', async (t) => {
  const { metaid } = await playing(t);
  const cases = [
    ['', 400, 'unreadable'],
    ['{"heardMs":', 400, 'unreadable'],
    ['7', 400, 'unreadable'],
    ['null', 400, 'unreadable'],
    ['{}', 422, 'malformed'],
    ['{"heardMs":"7"}', 422, 'malformed'],
    ['{"heardMs":null}', 422, 'malformed'],
    ['{"heardMs":7,"session":7}', 422, 'malformed'],
    ['{"heardMs":-1}', 422, 'impossible'],
    ['{"heardMs":1e999}', 422, 'impossible'],
    ['{"heardMs":3600000}', 422, 'impossible'],
    ['{"heardMs":1,"session":"6f2d1f8e-0000-4000-8000-000000000000"}', 404, 'former'],
  ] as const;
  for (const [body, status, verdict] of cases) {
    const before = await countOf(verdict);
    let answer = await report(t, metaid, body);
    while (answer.status === 429) {
      await pause(100);
      answer = await report(t, metaid, body);
    }
    t.equal(answer.status, status, body);
    t.equal(answer.headers.get('content-type'), 'application/problem+json; charset=utf-8');
    t.equal(answer.headers.get('access-control-allow-origin'), '*');
    if (status === 422) t.equal(answer.json().errors[0].field, 'heardMs');
    t.ok((await countOf(verdict)) > before, `${body}: ${verdict}`);
  }
});

t.test('a report has 256 bytes, and a type', async (t) => {
  const { metaid } = await playing(t);
  const body = (bytes: number) => '{"heardMs":0}'.padEnd(bytes);
  t.equal((await report(t, metaid, body(256))).status, 204);
  t.equal((await report(t, metaid, body(257))).status, 413);
  t.equal((await report(t, metaid, body(13), 'text/html')).status, 415);
  t.equal((await report(t, metaid, body(13), 'application/json; charset=utf-8')).status, 204);
});

t.test('two at once are taken, a third is too often; then one each reportSeconds', async (t) => {
  const { metaid } = await playing(t);
  const send = () => report(t, metaid, '{"heardMs":0}');
  const answers = [await send(), await send(), await send()];
  t.same(
    answers.map(({ status }) => status),
    [204, 204, 429],
  );
  t.equal(answers[2]!.headers.get('retry-after'), '1');
  await pause(600);
  t.equal((await send()).status, 204);
});

t.test('a metaid that does not play, or is none, is not found', async (t) => {
  const before = await countOf('not-playing');
  t.equal((await report(t, 'nobody', '{"heardMs":0}')).status, 404);
  t.equal(await countOf('not-playing'), before + 1);
  t.equal((await report(t, 'x'.repeat(129), '{"heardMs":0}')).status, 404);
  t.equal((await report(t, '%2e%2e', '{"heardMs":0}')).status, 404);
  t.equal((await report(t, '', '{"heardMs":0}')).status, 404);
  t.equal(
    (await ask(t, port, 'GET /metadata/listener/heard.json HTTP/1.1')).status,
    404,
    'heard is a metaid like others',
  );
});

// Not beside the others, which are counted too.
t.test(
  'a WebSocket of the listener scope takes the same as a text frame, and ignores all else',
  { buffered: false },
  async (t) => {
    const { player, metaid } = await playing(t, 'bravo');
    const watching = await new Watching(t, `${ws}/metadata/listener/${metaid}`).opened();
    const channel = await new Watching(t, `${ws}/metadata/channel/alpha`).opened();
    await push('By-frame', 'bravo');
    await until(async () => (await recordOf(metaid)).song === 'By-frame', 5000);
    const { position, session } = await recordOf(metaid);
    const before = await countOf('unreadable');
    channel.ws.send('{');
    watching.ws.send(Buffer.from(`{"heardMs":0}`));
    watching.ws.send('hello');
    await until(async () => (await countOf('unreadable')) === before + 1, 2000);
    t.notOk(watching.songs.includes('now By-frame'), 'it lies seconds ahead');
    watching.ws.send(JSON.stringify({ heardMs: Number(position) + 1, session }).padEnd(256));
    await until(() => watching.songs.includes('now By-frame'), 500);
    t.ok(performance.now() < player.firstByteMs + Number(position), 'before its time without the report');
    watching.ws.send(' '.repeat(257));
    t.equal(await watching.ends(), 1009);
    t.equal(channel.code, 0);
  },
);
