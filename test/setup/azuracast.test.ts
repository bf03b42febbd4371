/** What AzuraCast's API says of its stations becomes stations here: documents in the form that its OpenAPI describes. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { loadConfig } from '../../src/config/load.js';
import { draftText } from '../../src/setup/draft-text.js';
import { importedDraft } from '../../src/setup/import.js';
import { airsplice } from '../kit/command-line.js';
import { tempFolder } from '../kit/temp-folder.js';

const PATH = '/srv/a.yaml';
const listeners = { total: 20, unique: 15, current: 15 };

/** Api_NowPlaying_StationMount, with the values of its description. */
const mount = (more: object = {}) => ({
  id: 1,
  name: '/radio.mp3',
  url: 'http://radio.example:8000/radio.mp3',
  bitrate: 128,
  format: 'mp3',
  listeners,
  path: '/radio.mp3',
  is_default: true,
  ...more,
});

/** Api_NowPlaying_Station. */
const station = (more: object = {}) => ({
  id: 1,
  name: 'AzuraTest Radio',
  shortcode: 'azuratest_radio',
  description: 'An AzuraCast station!',
  frontend: 'icecast',
  backend: 'liquidsoap',
  timezone: 'America/Chicago',
  listen_url: 'http://radio.example:8000/radio.mp3',
  url: 'https://example.com/',
  is_public: true,
  public_player_url: 'https://example.com/public/example_station',
  playlist_pls_url: 'https://example.com/public/example_station/playlist.pls',
  playlist_m3u_url: 'https://example.com/public/example_station/playlist.m3u',
  mounts: [mount()],
  remotes: [] as object[],
  hls_enabled: false,
  hls_is_default: false,
  hls_url: null,
  hls_listeners: 0,
  ...more,
});

/** Api_NowPlaying. */
const nowPlaying = (of: object) => ({
  station: of,
  listeners,
  live: { is_live: false, streamer_name: '', broadcast_start: null, art: null },
  now_playing: { sh_id: 1, played_at: 1_609_480_800, duration: 180, playlist: 'Top 100', elapsed: 25, remaining: 155 },
  playing_next: null,
  song_history: [],
  is_online: true,
  cache: null,
});

function imported(document: unknown, name = '') {
  const draft = importedDraft(JSON.stringify(document), { path: PATH, station: name, mounts: [] });
  const text = draftText(draft, '', '', '');
  return { draft, text, config: loadConfig(PATH, {}, text) };
}

t.test(
  'a station of /api/stations: its mount is a channel, which relays AzuraCast until an encoder comes',
  async (t) => {
    const { draft, text, config } = imported([station()]);
    const { name, timezone, channels } = config.stations['azuratest_radio']!;
    t.strictSame([name, timezone, Object.keys(channels)], ['AzuraTest Radio', 'America/Chicago', ['radio']]);
    const channel = channels['radio']!;
    t.match(channel, {
      name: 'AzuraTest Radio',
      description: 'An AzuraCast station!',
      url: 'https://example.com/',
      public: true,
      bitrateKbps: 128,
      mounts: ['/radio.mp3'],
    });
    t.match(channel.sources, [
      { type: 'encoder', user: 'source' },
      { type: 'pull', url: 'http://radio.example:8000/radio.mp3' },
    ]);
    t.match(text, /# Until then: what AzuraCast plays\.\n +- type: pull/);
    t.match(config.addresses, [{ port: 8000 }]);
    t.match(draft.logins, [{ key: 'radio', mount: '/radio.mp3', encoder: { user: 'source', password: /^\S{20,}$/ } }]);
    t.strictSame(draft.lost, [
      "AzuraTest Radio: playlists, requests and streamers' accounts stay in AzuraCast",
      '/radio.mp3: the file has no password for encoders; one was created',
    ]);
  },
);

t.test('the same station alone, and as /api/nowplaying has it', async (t) => {
  const { text } = imported([station()]);
  const keys = (yaml: string) => yaml.replace(/sha256:\w+/g, '');
  for (const document of [station(), nowPlaying(station()), [nowPlaying(station())]])
    t.equal(keys(imported(document).text), keys(text));
});

t.test('several stations, whose mounts have the same paths, behind its web server', async (t) => {
  const listen = (code: string, file: string) => `https://radio.example/listen/${code}/${file}`;
  const { draft, config } = imported([
    station({
      shortcode: 'one',
      name: 'One',
      mounts: [
        mount({ url: listen('one', 'radio.mp3') }),
        mount({
          id: 2,
          name: '64 kbps',
          url: listen('one', 'low.aac'),
          path: '/low.aac',
          bitrate: 64,
          is_default: false,
        }),
        mount({ id: 3 }),
      ],
      remotes: [{ id: 1, name: 'Relay in Oslo', url: 'http://oslo.example/x', bitrate: null, format: null, listeners }],
      hls_enabled: true,
      hls_url: 'https://radio.example/hls/one/live.m3u8',
    }),
    station({
      id: 2,
      shortcode: 'two',
      name: 'Two',
      backend: 'none',
      url: null,
      timezone: 'Nowhere/At_All',
      mounts: [mount({ url: listen('two', 'radio.mp3'), bitrate: null }), mount({ id: 5, path: '/a b.mp3' })],
    }),
    station({ id: 3, shortcode: 'three', name: 'Three', backend: 'none', mounts: [] }),
  ]);
  t.strictSame(
    Object.entries(config.stations).map(([key, { timezone, channels }]) => [
      key,
      timezone,
      Object.values(channels).map(({ name, mounts, bitrateKbps }) => [name, mounts, bitrateKbps]),
    ]),
    [
      [
        ...['one', 'America/Chicago'],
        [
          ['One', ['/radio.mp3', '/listen/one/radio.mp3'], 128],
          ['One: 64 kbps', ['/low.aac', '/listen/one/low.aac'], 64],
        ],
      ],
      [...['two', 'UTC'], [['Two', ['/two/radio.mp3', '/listen/two/radio.mp3'], undefined]]],
    ],
  );
  t.match(config.addresses, [{ port: 8000 }]);
  const lost = draft.lost.filter((sentence) => !sentence.includes('password'));
  t.strictSame(lost, [
    'One: the mount /radio.mp3 is there twice',
    'One: its remote Relay in Oslo is on another server: a channel can pull it',
    'One: its HLS has other paths here: MOUNT/hls.m3u8',
    "One: playlists, requests and streamers' accounts stay in AzuraCast",
    'Two: its mount /radio.mp3 is /two/radio.mp3 here, since another station has it too',
    'Two: the mount /a b.mp3 is not valid as a mount here (/, then A-Z a-z 0-9 . _ ~ ; - and /)',
    'Three has no mount',
  ]);
});

t.test('a stream that only its own machine reaches is not relayed; its port is kept', async (t) => {
  for (const host of ['localhost', '127.0.0.1', '10.0.0.7', '[::1]']) {
    const { draft, config } = imported([station({ mounts: [mount({ url: `http://${host}:8010/radio.mp3` })] })]);
    t.strictSame(
      config.stations['azuratest_radio']!.channels['radio']!.sources.map(({ type }) => type),
      ['encoder'],
    );
    t.match(draft.lost, [/its URL leads to a private address/], host);
    t.match(config.addresses, [{ port: 8010 }]);
  }
});

t.test('texts of a document stay texts', async (t) => {
  const name = `Wave \${HOME}\n# 1: "x"`;
  const { config } = imported([station({ name, description: null, url: 'javascript:alert(1)' })], '');
  const { channels } = config.stations['azuratest_radio']!;
  t.match(channels['radio'], { name: 'Wave $ {HOME} # 1: "x"', description: '', url: '' });
  t.equal(imported([station()], 'Mine').config.stations['azuratest_radio']!.name, 'Mine');
});

t.test('what is no such document: what is wrong with it', async (t) => {
  const fails = (text: string, message: RegExp, name = '') =>
    t.throws(() => importedDraft(text, { path: PATH, station: name, mounts: [] }), { message }, text.slice(0, 60));
  fails('{"a', /looks like JSON but is invalid/);
  fails('[]', /it is JSON, but not what AzuraCast/);
  fails('{"icestats": {}}', /not what AzuraCast's \/api\/stations answers: name: /);
  fails(JSON.stringify([station({ mounts: [mount({ path: 1 })] })]), /answers: mounts: 0: path: /);
  fails(JSON.stringify(nowPlaying({ name: 'x' })), /answers: mounts: /);
  const mounts = (count: number) => Array.from({ length: count }, (_, i) => mount({ path: `/m${i}` }));
  const many = [station({ mounts: mounts(501) }), station({ shortcode: 'b', mounts: mounts(500) })];
  fails(JSON.stringify(many), /^it has 1001 mounts: 1000 can be read$/);
  t.equal(
    Object.keys(imported([station({ mounts: mounts(1000) })]).config.stations['azuratest_radio']!.channels).length,
    1000,
  );
  fails(JSON.stringify([station({ mounts: [] })]), /it names no mount: AzuraTest Radio has no mount/);
  fails(JSON.stringify([station(), station({ shortcode: 'b' })]), /it has 2 stations: name one with --station/, 'x');
});

t.test('stations of one short code have a key each, and one whose code it is keeps it', async (t) => {
  const each = (shortcode: string, name: string) => station({ shortcode, name, mounts: [mount({ path: `/${name}` })] });
  for (const codes of [
    ['x-2', 'x', 'x'],
    ['x', 'x', 'x-2'],
    ['x', 'x', 'x', 'x-3'],
  ]) {
    const { config } = imported(codes.map((code, i) => each(code, `n${i}`)));
    t.strictSame(
      Object.values(config.stations)
        .map(({ name }) => name)
        .sort(),
      codes.map((_, i) => `n${i}`),
    );
    for (const [i, code] of codes.entries())
      if (codes.indexOf(code) === i) t.equal(config.stations[code]!.name, `n${i}`, `${codes}: ${code}`);
  }
});

t.test('airsplice init --from: a configuration that can be used', async (t) => {
  const folder = tempFolder(t);
  const [path, json] = [join(folder, 'airsplice.yaml'), join(folder, 'stations.json')];
  writeFileSync(json, JSON.stringify([station(), station({ shortcode: 'two' })]));
  const ran = await airsplice(['init', path, '--from', json]);
  t.match(ran, { code: 0, err: /^note: AzuraTest Radio: playlists/m });
  t.match(ran.out, /feed {4}Icecast 2 at .*, mount \/radio\.mp3, user source, password \S{20}/);
  t.match(await airsplice(['check', path]), { code: 0, out: /2 channels of 2 stations/ });
});
