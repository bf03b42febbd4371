/**
 * Published readers of streams and statistics against the whole server, in all their modes, with MP3 and Opus that the real ffmpeg sends:
 * icy (node-icy), icecast-parser, icecast-metadata-stats (in Node, and in Chromium where it needs a page's DOMParser), and
 * node-internet-radio as it is written down in kit/internet-radio.ts.
 */

import { build } from 'esbuild';
import icecastMetadataStats, { type Stats, type StatsSource } from 'icecast-metadata-stats';
import { Parser } from 'icecast-parser';
import icy from 'icy';
import { chromium } from 'playwright-core';
import t, { type Test } from 'tap';
import { otherOrigin } from '../kit/browser.js';
import { stationInfo } from '../kit/internet-radio.js';
import { Player } from '../kit/player.js';
import { missing, Program } from '../kit/program.js';
import { startServer } from '../kit/server.js';
import { until } from '../kit/until.js';

const PATIENCE_MS = 15_000;
/** More than `burstSeconds` and 32 KiB (src/audio/tape/burst.ts), and two seconds in which a segment may lie open. */
const BURST_BYTES = 9 * 8000;
const SOURCES = 'sources: [{ type: encoder, password: demo-source }], pushTokens: [demo-token]';
const YAML = `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations:
  s:
    channels:
      first: { name: First, url: 'http://first.example/', mounts: [/first.mp3], ${SOURCES} }
      second: { name: Second, mounts: [/second.mp3], ${SOURCES} }
      ogg: { name: Ogg, mounts: [/third.ogg], ${SOURCES} }
`;
const TITLE = 'Sigur Rós - Rock & <Roll>';
const PUSHED = new URLSearchParams({ artist: 'Sigur Rós', song: 'Rock & <Roll>' }).toString();
/** As it stands in HTML, which no reader of it decodes. */
const IN_HTML = 'Sigur Rós - Rock &amp; &lt;Roll&gt;';

interface Station {
  readonly base: string;
  push(channel: string, query: string): Promise<void>;
}

/** Who joins from here on begins with this title: what lies before it on the tape is in nobody's burst. */
async function behindBurst(t: Test, base: string, title: string): Promise<void> {
  const player = new Player(Number(new URL(base).port), '/first.mp3');
  t.teardown(() => player.close());
  const seen = () => player.titles.at(-1);
  await until(() => seen()?.title === title && player.audioBytes - seen()!.atByte > BURST_BYTES, 2 * PATIENCE_MS);
}

/** Three channels on air, each with the title and with one to follow. */
async function station(t: Test): Promise<Station> {
  const { port, base } = await startServer(t, YAML);
  const sine = ['-v', 'error', '-nostdin', '-re', '-f', 'lavfi', '-i', 'sine=frequency=500:sample_rate=48000'];
  const mp3 = [
    '-ac',
    '1',
    '-ar',
    '44100',
    '-c:a',
    'libmp3lame',
    '-b:a',
    '64k',
    '-f',
    'mp3',
    '-content_type',
    'audio/mpeg',
  ];
  const opus = ['-ac', '2', '-c:a', 'libopus', '-b:a', '64k', '-f', 'ogg', '-content_type', 'application/ogg'];
  const push = async (channel: string, query: string) => {
    const answer = await fetch(`${base}/metapush/${channel}/demo-token?${query}`);
    if (answer.status !== 200) throw new Error(`push: ${answer.status}`);
  };
  const mounts = [
    ['first', '/first.mp3', mp3],
    ['second', '/second.mp3', mp3],
    ['ogg', '/third.ogg', opus],
  ] as const;
  await Promise.all(
    mounts.map(async ([channel, mount, codec]) => {
      await push(channel, PUSHED);
      await push(channel, 'tracktype=next&artist=B&song=next+%26+last');
      const url = `icecast://source:demo-source@127.0.0.1:${port}${mount}`;
      const encoder = new Program(t, 'ffmpeg', [...sine, ...codec, url]);
      const isThere = async () => (await fetch(`${base}${mount}`, { method: 'HEAD' })).status === 200;
      await encoder.until(isThere, 30_000, `${mount} is not heard`);
    }),
  );
  return { base, push };
}

t.test('readers of streams and statistics', { skip: missing('ffmpeg'), timeout: 110_000 }, async (t) => {
  const { base, push } = await station(t);
  const first = `${base}/first.mp3`;
  const second = `${base}/second.mp3`;
  const third = `${base}/third.ogg`;

  await t.test('ice-audio-info, by the frames and by the codec', async (t) => {
    const info = async (url: string) => (await fetch(url, { method: 'HEAD' })).headers.get('ice-audio-info');
    t.match(await info(first), /(^|;)samplerate=44100;channels=1$/);
    t.match(await info(third), /(^|;)samplerate=48000;channels=2$/);
  });

  await t.test('icy: get, request and Client, and a stream without blocks', async (t) => {
    for (const way of [icy.get, icy.request, (...args: Parameters<typeof icy.get>) => new icy.Client(...args)]) {
      const title = await new Promise<string>((done, fail) => {
        const request = way(first, (answer) => {
          t.equal(answer.statusCode, 200);
          answer.on('error', fail);
          answer.once('metadata', (block: Buffer) => {
            done(icy.parse(block)['StreamTitle']!);
            request.destroy();
          });
          answer.resume();
        });
        request.on('error', fail).end();
      });
      t.equal(title, TITLE);
    }
    const headers = await new Promise<Record<string, unknown>>((done, fail) => {
      const request = icy.get(third, (answer) => {
        done(answer.headers);
        request.destroy();
      });
      request.on('error', fail);
    });
    t.same([headers['icy-name'], 'icy-metaint' in headers], ['Ogg', false]);
  });

  await t.test('icecast-parser: once, listening on, only what is new, and a stream without blocks', async (t) => {
    const titles = (options: object) => {
      const parser = new Parser({ url: first, autoUpdate: false, ...options });
      const seen: string[] = [];
      const streams: { destroy(): void }[] = [];
      parser.on('error', () => undefined);
      parser.on('metadata', (fields) => seen.push(fields.get('StreamTitle') ?? ''));
      parser.on('stream', (stream) => {
        streams.push(stream);
        stream.resume();
      });
      t.teardown(() => streams.forEach((stream) => void stream.destroy()));
      return { parser, seen };
    };
    const once = titles({});
    const on = titles({ keepListen: true });
    const changed = titles({ keepListen: true, notifyOnChangeOnly: true });
    const again = titles({ autoUpdate: true, metadataInterval: 1 });
    const none = titles({ url: third });
    const empty = new Promise<void>((done) => void none.parser.once('empty', done));
    for (const { seen } of [once, on, changed]) await until(() => seen.includes(TITLE), PATIENCE_MS);
    await until(() => again.seen.length > 1, PATIENCE_MS);
    again.parser.options.autoUpdate = false;
    await empty;
    t.same(once.seen, [TITLE]);
    await push('first', 'artist=C&song=later');
    for (const { seen } of [on, changed]) await until(() => seen.at(-1) === 'C - later', PATIENCE_MS);
    t.same(changed.seen, [TITLE, 'C - later']);
    await push('first', PUSHED);
    await push('first', 'tracktype=next&artist=B&song=next+%26+last');
    await behindBurst(t, base, TITLE);
  });

  await t.test('node-internet-radio: each of its modes, and none', async (t) => {
    const figures = { listeners: /^\d+$/, bitrate: '64' };
    t.match(await stationInfo(base, 'SHOUTCAST_V1'), { ...figures, title: IN_HTML });
    t.match(await stationInfo(second, 'SHOUTCAST_V2'), { ...figures, title: TITLE }, 'by the URL of a stream');
    t.match(await stationInfo('http://first.example/', 'SHOUTCAST_V2').catch(() => 'elsewhere'), 'elsewhere');
    const icecast = await stationInfo(first, 'ICECAST');
    t.match(icecast, { listeners: Number, bitrate: 64, title: TITLE });
    const stream = await stationInfo(first, 'STREAM');
    t.match(stream, { title: TITLE, headers: { 'icy-name': 'First', 'content-type': 'audio/mpeg' } });
    t.equal((await stationInfo(base)).fetchsource, 'SHOUTCAST_V1');
    t.equal((await stationInfo(second)).fetchsource, 'SHOUTCAST_V2');
    t.equal((await stationInfo(first)).fetchsource, 'ICECAST', 'its page stands in SERVERURL');
    t.equal((await stationInfo(`${base}/first`)).fetchsource, 'STREAM', 'statistics name another mount');
  });

  await t.test('icecast-metadata-stats in Node: icy, ogg, icestats, sevenhtml; by fetch and by start', async (t) => {
    const sources: readonly StatsSource[] = ['icy', 'icestats', 'sevenhtml'];
    const reader = new icecastMetadataStats(first, { sources });
    const stats = await reader.fetch();
    t.same(stats.icy, { StreamTitle: TITLE });
    t.match(
      stats.icestats.source.find(({ listenurl }: { listenurl: string }) => listenurl === first),
      { title: TITLE, samplerate: 44_100, channels: 1, server_type: 'audio/mpeg' },
    );
    t.match(stats.sevenhtml, [{ StreamTitle: IN_HTML, status: 1, bitrate: 64, serverListeners: Number }]);
    const plain = new icecastMetadataStats(third, { sources: ['ogg'] });
    t.match((await plain.fetch()).ogg, { ARTIST: 'Sigur Rós', TITLE: 'Rock & <Roll>' });
    const got: Stats[] = [];
    const running = new icecastMetadataStats(first, {
      sources: ['icestats'],
      interval: 1,
      onStats: (one) => got.push(one),
    });
    running.start();
    await until(() => got.length > 1, PATIENCE_MS);
    running.stop();
    t.equal(running.state, 'stopped');
    t.ok(got.every(({ icestats }) => icestats.source.length === 3));
  });

  await t.test(
    'icecast-metadata-stats in a page of another origin: all its sources',
    { skip: missing('chromium') },
    async (t) => {
      const entry = new URL(import.meta.resolve('icecast-metadata-stats')).pathname;
      const bundle = await build({
        entryPoints: [entry],
        bundle: true,
        write: false,
        format: 'iife',
        globalName: 'bundle',
        logLevel: 'error',
      });
      const origin = await otherOrigin(t, (_, response) => void response.writeHead(404).end());
      const browser = await chromium.launch({
        executablePath: '/usr/bin/chromium',
        args: ['--no-sandbox', '--disable-gpu'],
      });
      t.teardown(() => browser.close());
      const page = await browser.newPage();
      await page.goto(origin);
      await page.addScriptTag({ content: bundle.outputFiles[0]!.text });
      const all = (url: string, ...sources: StatsSource[]) =>
        page.evaluate(
          // biome-ignore lint/suspicious/noExplicitAny: the page's own
          ([url, sources]) => new (globalThis as any).bundle.default(url, { sources }).fetch() as Promise<Stats>,
          [url, sources] as const,
        );
      const stats = await all(first, 'icy', 'icestats', 'sevenhtml', 'stats', 'nextsongs');
      t.equal(stats.icy.StreamTitle, TITLE);
      t.equal(stats.icestats.source.length, 3);
      t.equal(stats.sevenhtml.length, 1);
      t.match(stats.stats, {
        TOTALSTREAMS: 3,
        ACTIVESTREAMS: 3,
        STREAM: [{ SERVERTITLE: 'First', SAMPLERATE: 44_100 }, {}, {}],
      });
      t.equal(stats.stats.STREAM[1].SONGTITLE, IN_HTML, 'as markup: it does not decode');
      t.same(stats.nextsongs, { TITLE: 'B - next &amp; last' });
      t.match((await all(third, 'ogg')).ogg, { TITLE: 'Rock & <Roll>' });
    },
  );
});
