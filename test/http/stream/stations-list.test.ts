/** The list of stations as a client reads it: everything that is configured, where it plays and what, in their order. */

import t, { type Test } from 'tap';
import { Feeder } from '../../kit/feeder.js';
import { startServer, TWO_STATIONS } from '../../kit/server.js';
import { until } from '../../kit/until.js';
import { Wire } from '../../kit/wire.js';

const YAML = `
addresses: [{ host: 127.0.0.1, port: 0 }]
${TWO_STATIONS.replace('bitrateKbps: 128, pushTokens', 'name: Bravo, mounts: [/b.mp3], bitrateKbps: 128, pushTokens')}`;

interface Channel {
  readonly channelkey: string;
  readonly onair: boolean;
  readonly listenurls: readonly string[];
  readonly now: { readonly song: string } | null;
  readonly next: { readonly song: string } | null;
}

async function stations(t: Test, port: number, host: string): Promise<{ stationkey: string; channels: Channel[] }[]> {
  const wire = new Wire(t, port).send(`GET /metadata/stations.json HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  const [answer] = await wire.take(1);
  t.equal(answer!.status, 200);
  t.equal(answer!.headers.get('cache-control'), 'public, max-age=1');
  return answer!.json();
}

t.test('stations and channels in configured order, with URLs as the client reaches them', async (t) => {
  const { port, base } = await startServer(t, YAML);
  const read = (host = `127.0.0.1:${port}`) => stations(t, port, host);
  const bravo = async () => (await read())[1]!.channels[0]!;
  await until(async () => (await bravo()).onair, 10_000);
  const [house, other] = await read('radio.example:8000');
  t.strictSame([house!.stationkey, other!.stationkey], ['house', 'other']);
  t.strictSame(
    house!.channels.map(({ channelkey, onair, now }) => [channelkey, onair, now]),
    [
      ['zulu', false, null],
      ['alpha', false, null],
    ],
  );
  t.match(other!.channels[0], {
    channelkey: 'bravo',
    name: 'Bravo',
    type: 'audio/mpeg',
    bitrate: 128,
    samplerate: 44_100,
    channels: 2,
    listenurls: ['http://radio.example:8000/b.mp3', 'http://radio.example:8000/bravo'],
  });
  t.strictSame((await bravo()).listenurls[0], `${base}/b.mp3`, 'of another client, within the same second');
  for (const url of (await bravo()).listenurls) {
    const stream = await fetch(url);
    t.equal(stream.status, 200, url);
    await stream.body!.cancel();
  }

  for (const type of ['next', 'now'])
    await fetch(`${base}/metapush/bravo/demo-token?song=${type}-song&tracktype=${type}`);
  await until(async () => (await bravo()).now !== null, 5000);
  t.match(await bravo(), { now: { song: 'now-song' }, next: { song: 'next-song' } });
});

t.test('kept by its tag: 304 while nothing changes, each coding with a tag of its own, HEAD as GET', async (t) => {
  const many = Array.from(
    { length: 20 },
    (_, i) => `      c${i}: { sources: [{ type: encoder, password: demo-source }] }`,
  );
  const { port, base } = await startServer(t, `${YAML}${many.join('\n')}\n`);
  await until(async () => (await stations(t, port, 'x'))[1]!.channels[0]!.onair, 10_000);
  const url = `${base}/metadata/stations.json`;
  const ask = (method = 'GET', tag = '') =>
    fetch(url, { method, headers: { 'accept-encoding': 'identity', ...(tag !== '' && { 'if-none-match': tag }) } });
  const first = await ask();
  const etag = first.headers.get('etag')!;
  t.match(etag, /^"[^"]+"$/);
  t.equal(first.headers.get('vary'), 'Accept-Encoding, Host, X-Forwarded-Proto');
  // Renderings of other seconds: nothing has changed.
  await until(async () => (await ask('GET', etag)).status === 304, 5000);
  const same = await ask('GET', etag);
  t.equal(await same.text(), '');
  t.equal(same.headers.get('content-type'), null);
  t.equal(same.headers.get('cache-control'), 'public, max-age=1');
  t.equal(same.headers.get('vary'), 'Accept-Encoding, Host, X-Forwarded-Proto');
  t.equal(same.headers.get('access-control-allow-origin'), '*');
  const head = await ask('HEAD');
  t.equal(head.headers.get('etag'), etag);
  t.equal(head.headers.get('content-length'), first.headers.get('content-length'));
  const tags = new Set([etag]);
  for (const coding of ['br', 'gzip']) {
    const answer = await fetch(url, { headers: { 'accept-encoding': coding } });
    t.equal(answer.headers.get('content-encoding'), coding);
    t.equal(((await answer.json()) as unknown[]).length, 2);
    tags.add(answer.headers.get('etag')!);
  }
  t.equal(tags.size, 3);
  t.equal((await fetch(`${base}/metapush/zulu/demo-token?song=x`)).status, 200);
  await until(async () => (await ask('GET', etag)).status === 200, 5000);
  t.not((await ask()).headers.get('etag'), etag);
});

t.test('ever other hosts: each has its own URLs, and past a few a second there is no compression', async (t) => {
  const many = Array.from(
    { length: 20 },
    (_, i) => `      c${i}: { sources: [{ type: encoder, password: demo-source }] }`,
  );
  const { port } = await startServer(t, `${YAML}${many.join('\n')}\n`);
  let plain = 0;
  for (let i = 0; i < 100; i++) {
    const head = `GET /metadata/stations.json HTTP/1.1\r\nHost: host${i}.example\r\nAccept-Encoding: gzip\r\n\r\n`;
    const [answer] = await new Wire(t, port).send(head).take(1, 5000);
    t.equal(answer!.status, 200);
    t.equal(
      answer!.headers.get('vary'),
      'Accept-Encoding, Host, X-Forwarded-Proto',
      'no cache gives it to another host',
    );
    if (answer!.headers.get('content-encoding') !== undefined) continue;
    plain++;
    t.equal(answer!.json()[0].channels[0].listenurls[0], `http://host${i}.example/zulu`);
  }
  t.ok(plain > 0, `${plain} of 100 as they are`);
});

t.test('a channel is on air from its encoder’s first audio on, and a wrong host is not believed', async (t) => {
  const { port } = await startServer(t, YAML);
  const alpha = async (host: string) => (await stations(t, port, host))[0]!.channels[1]!;
  t.equal((await alpha('x')).onair, false);
  const feeder = new Feeder(t, port, '/alpha').stream(t);
  t.equal(await feeder.answered(), 200);
  await until(async () => (await alpha('x')).onair, 10_000);
  t.equal((await alpha('"><script>')).listenurls[0], `http://127.0.0.1:${port}/alpha`);
});

t.test('with a publicUrl the list is the same whatever host is named', async (t) => {
  const { port } = await startServer(t, `${YAML}streams: { publicUrl: 'https://radio.example' }\n`);
  for (const host of ['x', 'evil.example']) {
    const wire = new Wire(t, port).send(`GET /metadata/stations.json HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    const [answer] = await wire.take(1);
    t.equal(answer!.headers.get('vary'), 'Accept-Encoding');
    t.equal(answer!.json()[0].channels[0].listenurls[0], 'https://radio.example/zulu');
  }
});
