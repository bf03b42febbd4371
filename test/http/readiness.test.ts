/**
 * `/readyz?channels` as a monitor and a load balancer read it: a channel without audio that should have some is named and makes it 503, in one
 * process and with workers; the metric and the log say the same.
 */

import t from 'tap';
import { Feeder } from '../kit/feeder.js';
import { keepLines } from '../kit/log-lines.js';
import { Player } from '../kit/player.js';
import { atOnce, DEMO_AUDIO, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { streamHead, Upstream } from '../kit/upstream.js';

t.jobs = atOnce(4);

const ENCODER = '{ type: encoder, password: demo-source }';

function yaml(channels: string): string {
  return `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations:
  house:
    channels:
${channels}
`;
}

interface Listing {
  readonly ready: boolean;
  readonly serving: boolean;
  readonly channels: readonly Readonly<Record<string, unknown>>[];
}

async function listing(base: string, query = 'channels'): Promise<{ readonly status: number; readonly body: Listing }> {
  const answer = await fetch(`${base}/readyz?${query}`);
  return { status: answer.status, body: (await answer.json()) as Listing };
}

t.test('a channel without its encoder is named, and is ready again with it', async (t) => {
  const { log, lines } = keepLines();
  const channels = `
      file: { sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      live: { sources: [${ENCODER}] }
      sunday: { partTime: true, sources: [${ENCODER}] }`;
  const { base, port } = await startServer(t, yaml(channels), undefined, log);
  await until(async () => (await listing(base, 'channels=file')).status === 200, 10_000);
  const { status, body } = await listing(base);
  t.equal(status, 503);
  t.match(body, { ready: false, serving: true });
  t.match(body.channels, [
    { channelkey: 'file', stationkey: 'house', ready: true, expected: true, audio: true, sound: true, source: 'file' },
    { channelkey: 'live', ready: false, expected: true, audio: false, sound: false, source: null },
    { channelkey: 'sunday', ready: true, expected: false, audio: false, silentSeconds: 0, source: null },
  ]);
  t.equal((await fetch(`${base}/readyz`)).status, 200, 'plain /readyz is about the server');
  t.equal((await listing(base, 'channels&silentSeconds=86400')).status, 200, 'who asks decides what is an outage');
  t.equal((await listing(base, 'channels=sunday,file')).status, 200);
  const head = await fetch(`${base}/readyz?channels`, { method: 'HEAD' });
  t.equal(head.status, 503);
  t.equal(head.headers.get('retry-after'), '5');
  t.equal(head.headers.get('content-type'), 'application/json; charset=utf-8');
  const problem = await fetch(`${base}/readyz?channels=none`);
  t.equal(problem.status, 404);
  for (const wrong of ['86401', '-1', 'x', '']) {
    t.equal((await fetch(`${base}/readyz?channels&silentSeconds=${wrong}`)).status, 422, wrong);
  }

  const silent = async (channel: string) => {
    const metrics = await (await fetch(`${base}/metrics`)).text();
    return Number(
      new RegExp(`^airsplice_channel_silent_seconds\\{channel="${channel}"\\} (.*)$`, 'm').exec(metrics)?.[1],
    );
  };
  await until(async () => (await silent('live')) > 1, 10_000);
  t.equal(await silent('file'), 0);
  t.equal(await silent('sunday'), 0);
  await until(() => lines.some(({ message }) => message === 'channels have no audio'), 20_000);
  const warned = lines.find(({ message }) => message === 'channels have no audio');
  t.match(warned, { level: 'warn', channels: ['live'], count: 1 });

  const feeder = new Feeder(t, port, '/live').stream(t);
  t.equal(await feeder.answered(), 200);
  await until(async () => (await listing(base)).status === 200, 10_000);
  t.equal(await silent('live'), 0);
  await until(() => lines.some(({ message }) => message === 'channels have audio again'), 10_000);
  feeder.socket.destroy();
  await until(async () => (await listing(base)).status === 503, 10_000);
  t.ok((await silent('live')) < 10, 'counted from its loss on');
});

t.test('on demand nothing is missed before somebody listens', async (t) => {
  const upstream = await Upstream.open(t);
  upstream.answer = (socket) => socket.write(streamHead());
  const channels = `
      relay: { sources: [{ type: pull, url: 'http://127.0.0.1:${upstream.port}/live', allowPrivate: true, onDemand: true }] }`;
  const { base, port } = await startServer(t, yaml(channels));
  t.match((await listing(base)).body, { ready: true, channels: [{ expected: false, audio: false }] });
  const player = new Player(port, '/relay');
  t.teardown(() => player.close());
  let [channel]: Listing['channels'] = [];
  // Another worker may say so a second later.
  await until(async () => {
    const { status, body } = await listing(base);
    channel = body.channels[0];
    return status === 503;
  }, 5000);
  t.match(channel, { expected: true, audio: false });
  t.ok(Number(channel!['silentSeconds']) < 5, 'from when it was asked for');
});
