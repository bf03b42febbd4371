/**
 * What listeners see in the stream and what readers of records get, side by side: players by their ICY blocks, watchers by
 * WebSocket. And whom the channel believes while encoders and upstreams send titles too. Real server, real sockets.
 */

import { readFileSync } from 'node:fs';
import net from 'node:net';
import { IcecastMetadataReader } from 'icecast-metadata-js';
import t, { type Test } from 'tap';
import { Player } from '../kit/player.js';
import { DEMO_AUDIO, demoYaml, startServer, type TestServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { Watching } from '../kit/wire.js';

// They wait more than they compute.
t.jobs = 4;

const FILE = `sources: [{ type: file, path: ${DEMO_AUDIO} }]`;

async function push(server: TestServer, channel: string, query: string): Promise<number> {
  const response = await fetch(`${server.base}/metapush/${channel}/studio-token?${query}`);
  await response.arrayBuffer();
  return response.status;
}

async function encoderTitle(server: TestServer, channel: string, song: string): Promise<void> {
  const path = `/admin.cgi?mode=updinfo&pass=demo-source&mount=${channel}&song=${encodeURIComponent(song)}`;
  const response = await fetch(server.base + path);
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  await response.arrayBuffer();
}

async function now(server: TestServer, channel: string): Promise<string> {
  const response = await fetch(`${server.base}/metadata/channel/${channel}.json`);
  const { source, rawdata } = (await response.json()) as Record<string, string>;
  return `${source} ${rawdata}`;
}

const seen = (player: Player) => player.titles.map(({ title }) => title);

t.test('content types: the stream follows the policy, records say the truth', async (t) => {
  const yaml = demoYaml(`
      air:
        name: Radio Air
        metaint: 2000
        pushTokens: [studio-token]
        icy: { etypes: { jingle: keep, advertising: Back soon, 1003: '' } }
        ${FILE}
streams: { burstSeconds: 0 }
`);
  const server = await startServer(t, yaml);
  await push(server, 'air', 'song=Station+ID&etype=101');
  const channel = new Watching(t, `${server.ws}/metadata/channel/air`);
  const listener = new Watching(t, `${server.ws}/metadata/listener/one?sync=wire`);
  await Promise.all([channel.opened(), listener.opened()]);
  const player = new Player(server.port, '/air?metaid=one');
  await player.until((p) => p.titles.length === 1);
  t.same(seen(player), ['Radio Air'], 'nothing to keep yet: the name');
  await until(() => listener.records.length === 1, 3000);

  const steps: readonly [string, number, string | null][] = [
    ['First', 1001, 'First'],
    ['Jingle', 101, null],
    ['Jingle two', 101, null],
    ['Spot', 103, 'Back soon'],
    ['Jingle three', 101, null],
    ['Silence', 1003, ''],
    ['Second', 0, 'Second'],
  ];
  const expected = ['Radio Air'];
  for (const [song, etype, shown] of steps) {
    const bytes = player.audioBytes;
    await push(server, 'air', `song=${encodeURIComponent(song)}&etype=${etype}`);
    await until(() => listener.records.at(-1)?.song === song, 5000);
    if (shown !== null) expected.push(shown);
    await player.until((p) => p.audioBytes >= bytes + 4000);
    t.same(seen(player), expected, song);
    if (song === 'Jingle two') {
      const late = new Player(server.port, '/air');
      await late.until((p) => p.audioBytes >= 8000);
      t.same(seen(late), ['First'], 'a new listener is shown what stands there, at its first block');
      t.equal(late.titles[0]!.atByte, 2000);
      late.close();
    }
  }
  const songs = steps.map(([song]) => `now ${song}`);
  t.same(channel.songs, ['now Station ID', ...songs]);
  t.same(listener.songs, ['now Station ID', ...songs]);
  const positions = listener.records.map((record) => Number(record.position));
  for (let i = 1; i < positions.length; i++) t.ok(positions[i]! > positions[i - 1]!, `${positions}`);
  player.close();
});

t.test('after a restart with a kept title: the name, until there is a title again', async (t) => {
  const yaml = demoYaml(`
      air: { pushTokens: [studio-token], icy: { etypes: { jingle: keep } }, ${FILE} }
`);
  const first = await startServer(t, yaml);
  await push(first, 'air', 'song=Song');
  await push(first, 'air', 'song=Jingle&etype=101');
  await first.app.stop();
  const again = await startServer(t, yaml, first.folder);
  const player = new Player(again.port, '/air');
  await player.until((p) => p.titles.length === 1);
  t.same(seen(player), ['air']);
  t.equal(await now(again, 'air'), 'metapush Jingle');
  player.close();
});

t.test('charset, apostrophe and StreamUrl on the wire', async (t) => {
  const yaml = demoYaml(`
      old:
        pushTokens: [studio-token]
        icy: { charset: iso-8859-1, apostrophe: typographic, streamUrl: cover }
        ${FILE}
`);
  const server = await startServer(t, yaml);
  const body = { artist: 'Łona', song: "Don’t Don't ħ é", duration: 0, cover: "http://x/it's.png" };
  const posted = await fetch(`${server.base}/metapush/old/studio-token`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  t.equal(posted.status, 200);
  const response = await fetch(`${server.base}/old`, { headers: { 'Icy-MetaData': '1' } });
  const found: Record<string, string>[] = [];
  const reader = new IcecastMetadataReader({
    icyMetaInt: Number(response.headers.get('icy-metaint')),
    icyCharacterEncoding: 'iso-8859-1',
    metadataTypes: ['icy'],
    onMetadata: ({ metadata }) => void found.push({ ...metadata }),
  });
  for await (const chunk of response.body!) {
    reader.readAll(chunk);
    if (found.length > 0) break;
  }
  t.strictSame(found, [{ StreamTitle: 'Lona - Don´t Don´t h é', StreamUrl: 'http://x/it%27s.png' }]);
  t.equal(await now(server, 'old'), "metapush Łona - Don’t Don't ħ é");
});

/** An encoder that sends the demo in real time, until it is destroyed. */
async function encoder(t: Test, port: number, path: string): Promise<net.Socket> {
  const socket = net.connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.on('error', () => undefined);
  const login = Buffer.from('source:demo-source').toString('base64');
  socket.write(`PUT ${path} HTTP/1.1\r\nAuthorization: Basic ${login}\r\nContent-Type: audio/mpeg\r\n\r\n`);
  await new Promise((done) => socket.once('data', done));
  // No faster than it plays: what was sent ahead would go on playing after the encoder has gone.
  const audio = readFileSync(DEMO_AUDIO);
  let at = 0;
  const sending = setInterval(() => socket.write(audio.subarray(at, (at += 1600))), 100);
  socket.on('close', () => clearInterval(sending));
  return socket;
}

t.test('whom the channel believes', async (t) => {
  const upstream = await startServer(t, demoYaml(`\n      up: { pushTokens: [studio-token], ${FILE} }\n`));
  const sources = (url = `${upstream.base}/up`) =>
    `sources: [{ type: encoder, titlesWhileAway: true, password: demo-source }, { type: pull, url: '${url}' }]`;
  const server = await startServer(
    t,
    `${demoYaml(`
      all: { pushTokens: [studio-token], ${sources()} }
      closed: { pushTokens: [studio-token], titlesFrom: [encoder], ${sources()} }
`)}titles: { pushHoldSeconds: 2, graceSeconds: 0 }
# A source that comes back sends its title again: not because this machine was busy for a moment.
sources: { stallMs: 20000 }
`,
  );
  const is = (channel: string, expected: string) => {
    let last = '';
    return until(
      () => {
        void now(server, channel).then(
          (answer) => (last = answer),
          () => undefined,
        );
        return last === expected;
      },
      8000,
      () => `${channel}: ${last}, not ${expected}`,
    );
  };

  await push(upstream, 'up', 'song=From+above');
  await is('all', 'upstream From above');
  t.equal(await push(server, 'closed', 'song=no'), 422, 'a push is refused');
  const refused = await fetch(`${server.base}/metapush/closed/studio-token?song=no`);
  t.match(await refused.json(), { status: 422, detail: /titlesFrom/ });
  t.equal((await fetch(`${server.base}/metadata/channel/closed.json`)).status, 204, 'an upstream’s title is ignored');

  await encoderTitle(server, 'closed', 'Studio');
  t.equal(await now(server, 'closed'), 'encoder Studio', 'sent for an encoder that is not there: taken at once');

  await push(server, 'all', 'song=Pushed');
  await encoderTitle(server, 'all', 'Silenced');
  t.equal(await now(server, 'all'), 'metapush Pushed');
  await is('all', 'upstream From above');
  await push(upstream, 'up', 'song=Over');
  await is('all', 'upstream Over');

  const studio = await encoder(t, server.port, '/all');
  await encoderTitle(server, 'all', 'Live');
  await is('all', 'encoder Live');
  await push(upstream, 'up', 'song=Unheard');
  await push(server, 'all', 'song=Push&duration=2');
  await encoderTitle(server, 'all', 'Too early');
  t.equal(await now(server, 'all'), 'metapush Push');
  await is('all', 'encoder Too early');
  await encoderTitle(server, 'all', 'Live again');
  t.equal(await now(server, 'all'), 'encoder Live again');
  studio.destroy();
  await is('all', 'upstream Unheard');
});
