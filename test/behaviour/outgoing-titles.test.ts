/**
 * Titles that go out, to real receivers: a web server, a socket of TCP and one of UDP. Each title once, in order, with the delay of the channel feed,
 * damped, filtered; what fails comes again; a reload changes who gets them; no log line has a URL or a secret.
 */

import { createSocket } from 'node:dgram';
import net, { type AddressInfo } from 'node:net';
import { pino } from 'pino';
import { Webhook as Verifier } from 'standardwebhooks';
import t, { type Test } from 'tap';
import { keepLines } from '../kit/log-lines.js';
import { quietFor } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { Receiver } from '../kit/receiver.js';
import { atOnce, DEMO_AUDIO, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';

t.jobs = atOnce(4);

const KEY = '0123456789abcdef0123456789abcdef';
process.env['OUT_KEY'] = KEY;
process.env['OUT_TOKEN'] = 'a-token-of-theirs';
/** For a machine that is busy. */
const LONG_MS = 10_000;

function yaml(webhooks: readonly string[], rest = '', channel = ''): string {
  return `
addresses: [{ host: 127.0.0.1, port: 0 }]
${rest}
stations:
  house:
    channels:
      live:
        pushTokens: [demo-token]
        ${channel}
        webhooks: [${webhooks.join(', ')}]
        sources: [{ type: file, path: ${DEMO_AUDIO} }]
      quiet: { pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
`;
}

const hook = (receiver: Pick<Receiver, 'url'>, more = '') => `{ url: '${receiver.url}', dampSeconds: 0${more} }`;

async function push(t: Test, base: string, query: string, channel = 'live'): Promise<void> {
  const answer = await fetch(`${base}/metapush/${channel}/demo-token?${query}`);
  t.equal(answer.status, 200, await answer.text());
}

/** What came, as JSON. */
const songs = (receiver: Receiver) => receiver.received.map(({ body }) => JSON.parse(body).data.song as string);
const came = (receiver: Receiver, count: number) =>
  until(
    () => receiver.received.length >= count,
    LONG_MS,
    () => `${receiver.received.length} of ${count}`,
  );

t.test('each title of the channel once, in order, signed', async (t) => {
  const receiver = await Receiver.open(t);
  const { base } = await startServer(t, yaml([hook(receiver, ', secret: env:OUT_KEY, on: [now, next]')]));
  await push(t, base, 'song=one&artist=a&etype=1001');
  await push(t, base, 'song=two&tracktype=next');
  await push(t, base, 'song=other', 'quiet');
  await push(t, base, 'song=two&artist=b');
  await came(receiver, 3);
  t.strictSame(songs(receiver), ['one', 'two', 'two']);
  const verifier = new Verifier(`whsec_${Buffer.from(KEY).toString('base64')}`);
  const [{ body, headers }] = receiver.received as [Receiver['received'][number]];
  const said = verifier.verify(body, headers as Record<string, string>);
  const record = await (await fetch(`${base}/metadata/channel/live.json`)).json();
  t.match(said, { type: 'title.now', data: { channelkey: 'live', artist: 'a', etype: 1001 } });
  t.strictSame(JSON.parse(receiver.received[2]!.body).data, record, 'the record that readers get');
  t.equal(new Set(receiver.received.map((one) => one.headers['webhook-id'])).size, 3);
});

t.test('the same again, and a late cover: a chat gets one line, a program the correction', async (t) => {
  const [chat, program] = [await Receiver.open(t), await Receiver.open(t)];
  const { base } = await startServer(t, yaml([hook(chat, ', format: discord'), hook(program)]));
  await push(t, base, 'song=one&artist=a');
  await push(t, base, 'song=one&artist=a');
  const correction = { song: 'one', artist: 'a', duration: 0, cover: 'https://x.example/1.jpg' };
  const headers = { 'Content-Type': 'application/json' };
  const sent = { method: 'POST', headers, body: JSON.stringify(correction) };
  t.equal((await fetch(`${base}/metapush/live/demo-token`, sent)).status, 200);
  await push(t, base, 'song=two');
  await came(chat, 2);
  await came(program, 3);
  t.strictSame(
    chat.received.map(({ body }) => JSON.parse(body).content),
    ['a - one', 'two'],
  );
  t.strictSame(songs(program), ['one', 'one', 'two']);
});

t.test('a fast run sends the first and the last', async (t) => {
  const receiver = await Receiver.open(t);
  const { base } = await startServer(t, yaml([hook(receiver).replace('dampSeconds: 0', 'dampSeconds: 2')]));
  const beganMs = performance.now();
  for (const song of ['one', 'two', 'three', 'four']) await push(t, base, `song=${song}`);
  await came(receiver, 2);
  t.strictSame(songs(receiver), ['one', 'four']);
  const passedMs = receiver.received[1]!.atMs - beganMs;
  t.ok(passedMs >= 2000, `${passedMs} ms`);
});

t.test('only content types that are wanted', async (t) => {
  const receiver = await Receiver.open(t);
  const { base } = await startServer(t, yaml([hook(receiver, ', etypes: [103, 1001-1002]')]));
  for (const etype of [0, 103, 101, 1001, 1002, 1003, 104]) await push(t, base, `song=${etype}&etype=${etype}`);
  await push(t, base, 'song=end&etype=103');
  await came(receiver, 4);
  t.strictSame(songs(receiver), ['103', '1001', '1002', 'end']);
});

t.test('what fails comes again, before what follows', async (t) => {
  const receiver = await Receiver.open(t);
  receiver.answer = (response, number) => void response.writeHead(number < 2 ? 500 : 204).end();
  const more = ', retrySeconds: { min: 0.1, max: 0.2 }, format: mastodon, token: env:OUT_TOKEN';
  const { base } = await startServer(t, yaml([hook(receiver, more)]));
  await push(t, base, 'song=one');
  await push(t, base, 'song=two');
  await came(receiver, 4);
  const said = receiver.received.map(({ body }) => JSON.parse(body).status);
  t.strictSame(said, ['one', 'one', 'one', 'two']);
  t.equal(receiver.received[0]!.headers.authorization, 'Bearer a-token-of-theirs');
  const keys = receiver.received.map(({ headers }) => headers['idempotency-key']);
  t.equal(new Set(keys.slice(0, 3)).size, 1);
  t.not(keys[3], keys[0]);
});

t.test('an RDS encoder, over TCP and UDP', async (t) => {
  const lines: string[] = [];
  const server = net.createServer((socket) => {
    let text = '';
    socket.setEncoding('latin1').on('data', (data) => {
      text += data;
    });
    socket.on('end', () => void lines.push(text));
    // It greets, and leaves its side open.
    socket.on('error', () => undefined).write('RDS READY\r\n');
  });
  server.listen(0, '127.0.0.1');
  const datagrams: string[] = [];
  const socket = createSocket('udp4', (bytes) => void datagrams.push(bytes.toString('latin1')));
  await new Promise<void>((done) => socket.bind(0, '127.0.0.1', done));
  t.teardown(() => {
    socket.close();
    server.close();
  });
  const tcp = `{ format: rds, url: 'tcp://127.0.0.1:${(server.address() as AddressInfo).port}', dampSeconds: 0 }`;
  const udp = `{ format: rds, url: 'udp://127.0.0.1:${socket.address().port}', text: 'TEXT={song}', dampSeconds: 0 }`;
  const { base } = await startServer(t, yaml([tcp, udp]));
  await push(t, base, `artist=Ren%C3%A9&song=${'x'.repeat(70)}`);
  await push(t, base, 'song=');
  await until(() => lines.length === 2 && datagrams.length === 2, LONG_MS);
  t.strictSame(lines, [`RT=René - ${'x'.repeat(57)}\r\n`, 'RT=\r\n']);
  t.strictSame(datagrams, [`TEXT=${'x'.repeat(64)}\r\n`, 'TEXT=\r\n']);
});

t.test('at the delay of the channel feed', async (t) => {
  const receiver = await Receiver.open(t);
  const { base } = await startServer(t, yaml([hook(receiver)], 'feed: { channelDelay: 1.5 }'));
  const pushedMs = performance.now();
  await push(t, base, 'song=early');
  await came(receiver, 1);
  t.ok(receiver.received[0]!.atMs - pushedMs >= 1300, `${receiver.received[0]!.atMs - pushedMs} ms later`);
});

t.test('at the typical delay: when the median listener hears it', async (t) => {
  const receiver = await Receiver.open(t);
  const top = 'feed: { channelDelay: typical }\nstreams: { burstSeconds: 4 }';
  const { base, port } = await startServer(t, yaml([hook(receiver)], top));
  await push(t, base, 'song=alone');
  await came(receiver, 1);
  // A tape that has just begun has no burst yet, and what listeners hear is looked at every few seconds.
  await until(async () => {
    const player = new Player(port, '/live');
    t.teardown(() => player.close());
    await player.until(({ audioBytes }) => audioBytes > 16_000);
    const pushedMs = performance.now();
    const before = receiver.received.length;
    await push(t, base, `song=${before}`);
    await came(receiver, before + 1);
    const isLate = receiver.received.at(-1)!.atMs - pushedMs > 2000;
    if (!isLate) player.close();
    return isLate;
  }, LONG_MS);
});

t.test('a reload: who is new gets the next title, who stays keeps what waits', async (t) => {
  const [one, two] = [await Receiver.open(t), await Receiver.open(t)];
  let isUp = false;
  one.answer = (response) => void response.writeHead(isUp ? 204 : 500).end();
  const slow = ', retrySeconds: { min: 0.1, max: 0.1 }';
  const { log, lines } = keepLines();
  const server = await startServer(t, yaml([hook(one, slow)]), undefined, log);
  const { base } = server;
  await push(t, base, 'song=before');
  await came(one, 1);
  const plan = await server.reload(yaml([hook(two), hook(one, slow)]));
  t.strictSame(
    plan.changes.map(({ path, before, after }) => [path, before, after]),
    [['stations.house.channels.live.webhooks', undefined, undefined]],
  );
  await push(t, base, 'song=after');
  await came(two, 1);
  isUp = true;
  await until(() => songs(one).at(-1) === 'after', LONG_MS);
  const again = () => lines.filter(({ message }) => message === 'a webhook accepts titles again');
  await until(() => again().length > 0, LONG_MS);
  t.match(again(), [{ channel: 'live', webhook: 2 }], 'by its place of now');
  t.strictSame([...new Set(songs(one))], ['before', 'after']);
  t.strictSame(songs(two), ['after']);
  await server.reload(yaml([]));
  await push(t, base, 'song=nobody');
  await quietFor(500);
  t.equal(two.received.length, 1);
  await server.reload(yaml([hook(two)]));
  await push(t, base, 'song=again');
  await came(two, 2);
  t.strictSame(songs(two), ['after', 'again']);
});

t.test('what became of them, in metrics; and nothing secret in the log', async (t) => {
  const receiver = await Receiver.open(t);
  receiver.answer = (response) => void response.writeHead(410).end();
  const lines: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
  const { machines, base } = await startServer(t, yaml([hook(receiver, ', secret: env:OUT_KEY')]), undefined, log);
  await push(t, base, 'song=one');
  await came(receiver, 1);
  const metric = /^airsplice_title_deliveries_total\{channel="live",webhook="1",outcome="given-up"\} 1$/m;
  await until(async () => {
    const texts = await Promise.all(machines.map(async (each) => (await fetch(`${each}/metrics`)).text()));
    return texts.filter((text) => metric.test(text)).length === 1;
  }, LONG_MS);
  await until(() => lines.some((line) => line.includes('a webhook does not accept titles')), LONG_MS);
  t.notMatch(lines.join('\n'), new RegExp(`${KEY}|${receiver.port}|/hook`));
});
