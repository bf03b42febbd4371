import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import t, { type Test } from 'tap';
import { adoptConfig } from '../../src/config/adopt.js';
import { ConfigError, checkConfig, loadConfig, remakeConfig } from '../../src/config/load.js';
import { DEMO_SECRETS_CONSENT } from '../../src/config/schema.js';

// They wait more than they compute.
t.jobs = 4;

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** Writes the text beside a readable tone.mp3 and returns its path. */
function write(t: Test, text: string): string {
  return join(t.testdir({ 'airsplice.yaml': text, 'tone.mp3': 'tone', folder: {} }), 'airsplice.yaml');
}

/** Every problem as `line:column path: message`, after checking that the error's message says the same. */
function problems(t: Test, text: string, env: NodeJS.ProcessEnv = {}): string[] {
  const file = write(t, text);
  try {
    loadConfig(file, env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const lines = error.problems.map((p) => `${p.line}:${p.column} ${p.path}: ${p.message}`);
    const expected = error.problems.map((p) => `${file}:${p.line}:${p.column}: ${p.path && `${p.path}: `}${p.message}`);
    t.equal(error.message, expected.join('\n'));
    return lines;
  }
  return [];
}

/** A station whose one channel `live` has these lines (indented by 6) and a file as its source. */
const channel = (lines = '', key = 'live') => `stations:
  st:
    channels:
      ${key}:
        sources: [{ type: file, path: tone.mp3 }]
${lines.replace(/^(?=.)/gm, '        ')}
`;

t.test('a small file gives every default', async (t) => {
  const file = write(t, channel());
  const config = loadConfig(file, {});
  t.strictSame(config.addresses, [{ host: '127.0.0.1', port: 8000 }]);
  t.equal(config.limits.connections, 25_000);
  t.match(config.streams, { burstSeconds: 5, lagSeconds: 30, writeSeconds: 'auto', server: 'airsplice', headers: {} });
  t.strictSame(config.stations['st'], {
    name: '',
    timezone: 'UTC',
    channels: {
      live: {
        name: '',
        genre: '',
        url: '',
        description: '',
        access: 'open',
        mounts: [],
        pushTokens: [],
        titlesFrom: ['metapush', 'encoder', 'upstream'],
        icy: { charset: 'utf-8', apostrophe: 'keep', streamUrl: 'none', etypes: {}, inOgg: false },
        pushDecodesEntities: false,
        charset: 'windows-1252',
        delaySeconds: 0,
        titleOffsetMs: 0,
        partTime: false,
        webhooks: [],
        sources: [{ type: 'file', path: join(file, '../tone.mp3'), titles: [] }],
      },
    },
  });
});

t.test('whose titles are taken, and how they stand in the stream', async (t) => {
  const icy = '{ charset: iso-8859-1, streamUrl: cover, etypes: { music: pass, 101: keep, news: "" }, inOgg: true }';
  const config = loadConfig(write(t, channel(`titlesFrom: [upstream]\nicy: ${icy}\n`)), {});
  t.match(config.stations['st']!.channels['live'], {
    titlesFrom: ['upstream'],
    icy: {
      charset: 'iso-8859-1',
      apostrophe: 'keep',
      streamUrl: 'cover',
      etypes: { music: 'pass', 101: 'keep', news: '' },
      inOgg: true,
    },
  });
  t.strictSame(problems(t, channel(`titlesFrom: []\nicy: { streamUrl: https://a.example/x.png }\n`)), []);
  t.strictSame(problems(t, channel(`icy: { etypes: { promo: ${'x'.repeat(255)} } }\n`)), []);
  const path = 'stations.st.channels.live';
  const lines = [
    'titlesFrom: [metapush, encoder, metapush]',
    'icy: { charset: latin1, apostrophe: curly, streamUrl: ftp://x/, etypes: { jingles: keep, 106: keep, 1009: pass } }',
  ];
  t.strictSame(
    problems(t, channel(`${lines.join('\n')}\n`)).map((line) => line.replace(/^\d+:\d+ /, '').replace(path, '')),
    [
      '.titlesFrom: must not have duplicates',
      '.icy.charset: must be one of: utf-8, iso-8859-1',
      '.icy.apostrophe: must be one of: keep, typographic',
      '.icy.streamUrl: must be none, cover, or an http:// or https:// URL',
      ...['jingles', '106', '1009'].map(
        (name) =>
          `.icy.etypes.${name}: must be one of: unknown, jingle, promo, advertising, news, article, music, or an etype id`,
      ),
    ],
  );
  t.match(problems(t, channel('titlesFrom: [anyone]\n')), [/one of: metapush, encoder, upstream$/]);
  t.match(problems(t, channel(`icy: { etypes: { promo: ${'x'.repeat(256)} } }\n`)), [/text of 0 to 255 characters/]);
});

t.test('the charset of titles, of a channel and of its sources', async (t) => {
  const source = (charset: string) => `sources: [{ type: encoder, password: env:P, charset: ${charset} }]`;
  const of = (lines: string) => problems(t, channel(lines).replace(/ {8}sources: \[\{ type: file.*\n/, ''), { P: 'x' });
  for (const name of ['windows-1251', 'Shift_JIS', 'koi8-r', 'GBK', 'latin1', 'utf-8'])
    t.strictSame(of(`charset: ${name}\n${source(name)}`), [], name);
  const message = 'must be a charset such as windows-1251, koi8-r, shift_jis, gbk';
  for (const name of ['klingon', 'hex', 'base64', '""', '1', 'constructor']) {
    t.strictSame(
      of(`charset: ${name}\n${source(name)}`).map((line) =>
        line.replace(/^(\d+):\d+ stations.st.channels.live./, '$1 '),
      ),
      [`5 charset: ${message}`, `6 sources[0].charset: ${message}`],
      name,
    );
  }
});

t.test('keys stay as they are written, also those that YAML would read as numbers', async (t) => {
  const config = loadConfig(write(t, channel('', '007')), {});
  t.strictSame(Object.keys(config.stations['st']?.channels ?? {}), ['007']);
});

t.test('everything wrong is reported at once, with line and column', async (t) => {
  const text = `port: 8000
addresses:
  - port: 70000
  - host: 127.0.0.1
    port: "8000"
    roles: [push, polling]
log:
  level: loud
  level: louder
shutdown:
streams:
  burstSeconds: 10
  lagSeconds: 14
  headers: { "X Bad": a, Connection: b, X-Good: "a\\nb" }
stations:
  st:
    timezone: Europe/Nowhere
    channels:
      "a b": {}
      one:
        metaint: 255
        mounts: [/ok, no, //x, /a/../b, //, /., /a..b]
        pushTokens: [env:A, env:A, env:A]
        sources:
          - type: files
          - path: tone.mp3
          - { type: file, path: missing.mp3 }
          - { type: file, path: folder }
          - { type: pull, url: "ftp://x/" , retrySeconds: { min: 5, max: 4 } }
          - { type: pull, url: ["http://me:w%ord@x/"], lingerSecond: 1, retrySeconds: null }
`;
  t.strictSame(
    problems(t, text, { A: 'x' }).map((line) =>
      line.replace(/: (?:must|a key is|is missing; must|is empty; must).*/, ''),
    ),
    [
      '1:1 port: is not an option',
      '3:5 addresses[0].host',
      '3:11 addresses[0].port',
      '5:11 addresses[1].port',
      '6:19 addresses[1].roles[1]',
      '9:3 : This name occurs twice here',
      '9:10 log.level',
      '10:10 shutdown',
      '13:15 streams.lagSeconds',
      '14:14 streams.headers.X Bad',
      '14:26 streams.headers.Connection',
      '14:49 streams.headers.X-Good',
      '17:15 stations.st.timezone',
      '19:7 stations.st.channels.a b',
      '21:18 stations.st.channels.one.metaint',
      '22:23 stations.st.channels.one.mounts[1]',
      '22:27 stations.st.channels.one.mounts[2]',
      '22:32 stations.st.channels.one.mounts[3]',
      '22:41 stations.st.channels.one.mounts[4]',
      '22:45 stations.st.channels.one.mounts[5]',
      '22:49 stations.st.channels.one.mounts[6]',
      '23:21 stations.st.channels.one.pushTokens',
      '25:19 stations.st.channels.one.sources[0].type',
      '26:13 stations.st.channels.one.sources[1].type',
      '27:33 stations.st.channels.one.sources[2].path',
      '28:33 stations.st.channels.one.sources[3].path',
      '29:32 stations.st.channels.one.sources[4].url',
      '29:74 stations.st.channels.one.sources[4].retrySeconds.max',
      '30:33 stations.st.channels.one.sources[5].url[0]',
      '30:56 stations.st.channels.one.sources[5].lingerSecond: is not an option; did you mean lingerSeconds?',
      '30:87 stations.st.channels.one.sources[5].retrySeconds',
    ],
  );
});

t.test('a stop has a second at least: its steps need some time', async (t) => {
  t.strictSame(problems(t, 'shutdown:\n  graceSeconds: 0\n'), [
    '2:17 shutdown.graceSeconds: must be a number of seconds from 1 to 600',
  ]);
});

t.test('sentences are for a person', async (t) => {
  t.strictSame(problems(t, 'addresses:\n  - host: 127.0.0.1\n'), [
    '2:5 addresses[0].port: is missing; must be a whole number from 0 to 65535',
  ]);
  t.strictSame(problems(t, 'log:\nstreams:\nlimits: 5\n'), [
    '1:5 log: is empty; must be a map of options',
    '2:9 streams: is empty; must be a map of options',
    '3:9 limits: must be a map of options',
  ]);
  t.strictSame(problems(t, 'stations:\n  st:\n    name: 104.6\n'), [
    '2:3 stations.st.channels: is missing; must be a map from keys to options',
    '3:11 stations.st.name: must be text of 0 to 255 characters on one line (quoted if it looks like a number)',
  ]);
  t.match(problems(t, 'statistics: { countryFile: none.mmdb }\n'), [
    /^1:28 statistics.countryFile: must be a file that can be read \(relative to .*\), or ""$/,
  ]);
  t.strictSame(problems(t, 'streams: { endsOnFormatChange: { A: mp3, B: [wav], C: [mp3, aac, ogg, mp3] } }\n'), [
    '1:37 streams.endsOnFormatChange.A: must be a list of 0 to 3 items',
    '1:46 streams.endsOnFormatChange.B[0]: must be one of: mp3, aac, ogg',
    '1:55 streams.endsOnFormatChange.C: must be a list of 0 to 3 items',
  ]);
  const away = channel().replace(
    '{ type: file, path: tone.mp3 }',
    '{ type: encoder, password: env:P, titlesWhileAway: yes }',
  );
  t.match(problems(t, away, { P: 'x' }), [/titlesWhileAway: must be true or false$/]);
  t.match(problems(t, 'page:\n  text: "Caf\\ud83d"\n'), [/^2:9 page.text: must be text of /]);
  t.strictSame(problems(t, 'page:\n  text: "\\ud83d\\ude00 😀"\n'), []);
  t.strictSame(problems(t, 'stations:\n  __proto__: { channels: {} }\n'), ['2:3 stations.__proto__: is not an option']);
  t.match(problems(t, `data: { folder: "\\n${'x'.repeat(5000)}" }`), {
    length: 1,
    0: /^1:17 data.folder: must be text of 1 to 4096/,
  });
});

t.test('what is not YAML, or no file', async (t) => {
  t.strictSame(problems(t, 'log:\n  level: [info\nport: 1\n').slice(0, 1), [
    '3:1 : Flow sequence in block collection must be sufficiently indented and end with a ]',
  ]);
  t.match(problems(t, ''), [/^1:1 : is empty/]);
  t.match(problems(t, 'log: *a\n'), [/^1:6 log: An alias/]);
  t.match(problems(t, `a: &a [x, x]\nb: &b [${'*a, '.repeat(60)}]\nc: [${'*b, '.repeat(60)}]\n`), [/^1:1 : Aliases/]);
  const expected = { message: '/nowhere/airsplice.yaml:1:1: The file cannot be read (ENOENT)' };
  t.throws(() => loadConfig('/nowhere/airsplice.yaml', {}), expected);
});

t.test('an anchor may be used again, and its problems have the place of the anchor', async (t) => {
  const twice = (path: string) =>
    `stations: { st: { channels: { a: { sources: &s [{ type: file, path: ${path} }] }, b: { sources: *s } } } }`;
  t.equal(loadConfig(write(t, twice('tone.mp3')), {}).stations['st']?.channels['b']?.sources.length, 1);
  t.match(problems(t, twice('none.mp3')), [/^1:69 .*channels.a.sources/, /^1:69 .*channels.b.sources/]);
});

t.test('the reserve is a part of the connections', async (t) => {
  t.strictSame(problems(t, 'limits: { connections: 10, reservedConnections: 9 }\n'), []);
  const expected = '1:49 limits.reservedConnections: must be less than limits.connections';
  t.strictSame(problems(t, 'limits: { connections: 10, reservedConnections: 10 }\n'), [expected]);
});

t.test('limits: at the bound and one past it', async (t) => {
  const bounds: [string, string, number, number][] = [
    ['limits', 'headBytes', 256, 65_536],
    ['limits', 'listeners', 1, 1_000_000],
    ['limits', 'extdataDepth', 1, 1000],
    ['sources', 'stallMs', 50, 60_000],
    ['sources', 'stallsPerMinute', 1, 1000],
    ['sources', 'framelessBytes', 1024, 16_777_216],
    ['watch', 'bufferBytes', 1024, 16_777_216],
    ['sessions', 'max', 1, 10_000_000],
  ];
  for (const [section, name, min, max] of bounds) {
    for (const value of [min, max]) t.strictSame(problems(t, `${section}:\n  ${name}: ${value}\n`), []);
    for (const value of [min - 1, max + 1, min + 0.5, '.nan', '.inf', 'text', 'true']) {
      const expected = [`2:${5 + name.length} ${section}.${name}: must be a whole number from ${min} to ${max}`];
      t.strictSame(problems(t, `${section}:\n  ${name}: ${value}\n`), expected, `${name} ${value}`);
    }
  }
  for (const [name, min, max] of [
    ['pieceSeconds', 0.1, 60],
    ['soundSeconds', 0, 600],
    ['restSeconds', 1, 86_400],
  ] as const) {
    for (const value of [min, max]) {
      t.strictSame(problems(t, `sources:\n  ${name}: ${value}\n  bodyTimeoutSeconds: 61\n`), []);
    }
    for (const value of [min - 0.01, max + 0.01]) {
      t.match(problems(t, `sources:\n  ${name}: ${value}\n`), [new RegExp(`sources.${name}: must be`)]);
    }
  }
  t.strictSame(problems(t, 'streams:\n  burstSeconds: 2.5\n  lagSeconds: 7.5\n'), []);
  t.match(problems(t, 'streams:\n  burstSeconds: 26\n'), [/^1:1 streams.lagSeconds: must be at least 5 more/]);
  for (const value of ['auto', 1, 2, 4]) t.strictSame(problems(t, `streams:\n  writeSeconds: ${value}\n`), []);
  for (const value of [0, 3, 5, 1.5, '"2"', 'true', 'often']) {
    const expected = ['2:17 streams.writeSeconds: must be auto, 1, 2 or 4'];
    t.strictSame(problems(t, `streams:\n  writeSeconds: ${value}\n`), expected, `${value}`);
  }
  t.strictSame(problems(t, channel('', 'k'.repeat(64))), []);
  t.match(problems(t, channel('', 'k'.repeat(65))), [/^4:7 .*: a key is 1 to 64/]);
});

t.test(
  'who may be sending a large piece is not cut off meanwhile: pieceSeconds is less than all that cuts off',
  async (t) => {
    const pull = (stall: string) =>
      channel(`sources: [{ type: pull, url: 'http://a/'${stall} }]`).replace(/ *sources: \[\{ type: file[^\n]*\n/, '');
    t.strictSame(problems(t, 'sources:\n  pieceSeconds: 14.99\n'), []);
    t.strictSame(problems(t, 'sources:\n  pieceSeconds: 15\n'), [
      '2:17 sources.pieceSeconds: must be less than bodyTimeoutSeconds (15 by default)',
    ]);
    t.strictSame(problems(t, 'sources:\n  bodyTimeoutSeconds: 10.01\n'), []);
    t.strictSame(problems(t, 'sources:\n  bodyTimeoutSeconds: 10\n'), [
      '2:23 sources.bodyTimeoutSeconds: must be more than sources.pieceSeconds (10)',
    ]);
    t.strictSame(problems(t, pull(', stallSeconds: 10.01')), []);
    t.match(problems(t, pull(', stallSeconds: 10')), [
      /sources\[0\].stallSeconds: must be more than sources.pieceSeconds \(10\)/,
    ]);
    t.match(problems(t, `sources: { pieceSeconds: 20, bodyTimeoutSeconds: 30 }\n${pull('')}`), [
      /sources.pieceSeconds: must be less than stallSeconds \(15 by default\)/,
    ]);
    t.match(problems(t, `sources: { pieceSeconds: text }\n`), [/pieceSeconds: must be/], 'reported once');
  },
);

t.test('variables: numbers, texts, defaults, unset and malformed ones', async (t) => {
  const text = `addresses:
  - host: \${HOST:-127.0.0.1}
    port: \${PORT:-8000}
data: { folder: "\${BASE}/a-\${EMPTY:-b}" }
${channel(`name: "\${NUMBER}"\npublic: \${YES}`)}`;
  const env = { PORT: '9000', BASE: '/srv', EMPTY: '', NUMBER: '7', YES: 'true' };
  const config = loadConfig(write(t, text), env);
  t.strictSame(config.addresses, [{ host: '127.0.0.1', port: 9000 }]);
  t.equal(config.data.folder, '/srv/a-b');
  t.match(config.stations['st']?.channels['live'], { name: '7', public: true });
  t.match(loadConfig(write(t, text), { ...env, HOST: 'localhost', PORT: '' }).addresses, [
    { host: 'localhost', port: 8000 },
  ]);

  t.strictSame(problems(t, `addresses:\n  - host: \${HOST}\n    port: \${PO RT}\n`), [
    '2:11 addresses[0].host: uses the environment variable HOST, which is not set',
    `3:11 addresses[0].port: must name a variable as \${NAME} or \${NAME:-default}`,
  ]);
  t.match(problems(t, `addresses:\n  - { host: localhost, port: "\${PORT}" }\n`, { PORT: '1' }), [
    /^2:30 .*port: must/,
  ]);
  const structure = { PORT: '80, roles: [ops]' };
  t.match(problems(t, `addresses:\n  - host: localhost\n    port: \${PORT}\n`, structure), [/^3:11 .*port: must/]);
});

t.test('paths: reserved, taken, listed without need', async (t) => {
  const routes =
    'metadata metapush admin admin.cgi docs metrics healthz readyz openapi.json asyncapi.json schemas status-json.xsl 7.html stats statistics nextsongs web favicon.ico robots.txt';
  for (const route of routes.split(' ')) {
    for (const mount of [`/${route}`, `/${route}/x`]) {
      const expected = `6:18 stations.st.channels.live.mounts[0]: is a path that this server uses itself (/${route})`;
      t.strictSame(problems(t, channel(`mounts: [${mount}]`)), [expected], mount);
    }
    t.strictSame(problems(t, channel(`mounts: [/${route}x, /x/${route}]`)), []);
  }
  t.match(problems(t, channel('', 'metrics')), [
    '4:7 stations.st.channels.metrics: is a path that this server uses itself (/metrics)',
  ]);

  const sources = 'sources: [{ type: file, path: tone.mp3 }]';
  const two = `stations:
  a:
    channels:
      one: { mounts: [/one.mp3, /one, /two], ${sources} }
      two: { mounts: [/one.mp3], ${sources} }
  b:
    channels:
      one: { ${sources} }
`;
  t.strictSame(problems(t, two), [
    '4:33 stations.a.channels.one.mounts[1]: need not be listed: the key is always a mount',
    '4:39 stations.a.channels.one.mounts[2]: is already taken by the channel two',
    '5:23 stations.a.channels.two.mounts[0]: is already taken by the channel one',
    '8:7 stations.b.channels.one: is already taken by the channel one',
  ]);
});

t.test(
  'mounts may hold ; and end in /, unless they are listen URLs of shoutcastListenUrls, which names a channel',
  async (t) => {
    const mounts = 'mounts: [/live/, /;, /;stream.mp3, /live;, /live/;x, /stream/1, /stream/1/, /stream/1x, /other;]';
    t.strictSame(problems(t, channel(mounts)), []);
    const taken = 'is a SHOUTcast listen URL, which shoutcastListenUrls serves';
    const found = problems(t, `${channel(mounts)}shoutcastListenUrls: live\n`);
    t.strictSame(
      found.map((line) => line.replace(/^\S+ stations\.st\.channels\.live\./, '')),
      [1, 2, 3, 4, 5, 6].map((index) => `mounts[${index}]: ${taken}`),
    );
    t.strictSame(problems(t, `${channel()}shoutcastListenUrls: none\n`), [
      '7:22 shoutcastListenUrls: is not a channel',
    ]);
    t.strictSame(problems(t, `${channel()}shoutcastListenUrls: /live\n`), [
      '7:22 shoutcastListenUrls: must be the key of a channel',
    ]);
  },
);

t.test('HLS: whatever the access, and segments that stay behind the list that names them', async (t) => {
  const on = 'hls: { enabled: true }';
  t.strictSame(problems(t, `${channel()}streams: { ${on} }\n`), []);
  t.strictSame(problems(t, `${channel()}streams: { ${on} }\nworkers: 0\n`), []);
  t.strictSame(problems(t, `${channel(on)}workers: 2\nstreams: { ${on} }\n`), []);
  const cluster = 'cluster: { node: a, url: "redis://127.0.0.1" }';
  t.strictSame(problems(t, `${channel(on)}${cluster}\nstreams: { ${on} }\n`), []);
  t.strictSame(problems(t, `${channel('hls: { enabled: false }')}workers: 2\n`), []);
  const signed = `signedUrls: { keys: [env:HLS_KEY] }\n`;
  const env = { HLS_KEY: 'a key that is as long as it has to be' };
  t.strictSame(problems(t, channel(`access: signed\n${on}`) + signed, env), []);
  t.match(problems(t, `${channel()}streams: { hls: { window: 10 } }\n`), [
    /streams\.hls\.keep.*must be at least 3 more than window \(10\)/,
  ]);
  t.match(problems(t, `${channel('hls: { window: 8 }')}streams: { hls: { keep: 10 } }\n`), [
    /live\.hls\.keep.*must be at least 3 more than window \(8\)/,
  ]);
  t.strictSame(problems(t, `${channel('hls: { window: 8 }')}streams: { hls: { window: 20, keep: 23 } }\n`), []);
  t.strictSame(problems(t, `${channel('hls: { form: fmp4 }')}streams: { hls: { form: packed } }\n`), []);
  const rewind = (hours: number, seconds: number) => `hls: { rewindHours: ${hours}, segmentSeconds: ${seconds} }`;
  t.strictSame(problems(t, `${channel(rewind(48, 4))}streams: { ${rewind(24, 2)} }\n`), []);
  t.match(problems(t, `${channel()}streams: { ${rewind(25, 2)} }\n`), [
    /streams\.hls\.rewindHours.*must be at most 43200 segments, 24 hours/,
  ]);
  t.match(problems(t, `${channel('hls: { segmentSeconds: 3 }')}streams: { ${rewind(40, 4)} }\n`), [
    /live\.hls\.rewindHours.*must be at most 43200 segments, 36 hours/,
  ]);
  t.match(problems(t, `${channel()}streams: { hls: { form: mpegts } }\n`), [
    /form: must be one of: auto, packed, fmp4/,
  ]);
});

t.test('one encoder per channel', async (t) => {
  const text = `stations:
  st:
    channels:
      live:
        sources:
          - { type: encoder, password: env:P }
          - { type: file, path: tone.mp3 }
          - { type: encoder, password: env:P, user: other }
`;
  const expected = '8:13 stations.st.channels.live.sources[2]: is a second encoder of this channel';
  t.strictSame(problems(t, text, { P: 'p' }), [expected]);
});

t.test('demo secrets on an address that others can reach', async (t) => {
  const at = (host: string, secret: string, words = '') =>
    `demoSecretsInPublic: "${words}"\naddresses:\n  - { host: "${host}", port: 0 }\n${channel(`pushTokens: [${secret}]`)}`;
  const forms = ['demo-token', `sha256:${sha256('studio-token')}`, 'env:PLAIN', 'env:HASHED'];
  const env = { PLAIN: 'relay-token', HASHED: `sha256:${sha256('demo-source')}`, OWN: 'own' };
  for (const secret of forms) {
    for (const host of ['0.0.0.0', '::', '192.168.1.1', 'radio.example', '::ffff:10.0.0.1']) {
      const expected = problems(t, at(host, secret), env);
      t.match(
        expected,
        [/^3:13 addresses\[0\].host: is open to other machines, while the channel live has a demo secret/],
        `${host} ${secret}`,
      );
      t.equal(expected.length, 1);
    }
    for (const host of ['127.0.0.1', '127.9.9.9', '::1', 'localhost', '::ffff:127.0.0.1']) {
      t.strictSame(problems(t, at(host, secret), env), [], `${host} ${secret}`);
    }
    t.strictSame(problems(t, at('0.0.0.0', secret, DEMO_SECRETS_CONSENT), env), []);
  }
  t.match(problems(t, at('0.0.0.0', 'demo-token', 'yes')), [/^1:22 demoSecretsInPublic: must be one of/, /^3:13/]);
  t.strictSame(problems(t, at('0.0.0.0', 'env:OWN'), env), []);
  const encoder = channel().replace('{ type: file, path: tone.mp3 }', '{ type: encoder, password: demo-source }');
  t.match(problems(t, `addresses: [{ host: "::", port: 0 }]\n${encoder}`), [
    /^1:21 addresses\[0\].host: is open to other machines/,
  ]);
});

t.test('stations and channels keep the order of the file, numbers too', async (t) => {
  const channel = '{ sources: [{ type: file, path: tone.mp3 }] }';
  const text = `stations:\n  zz: { channels: { b: ${channel}, '7': ${channel}, a: ${channel}, '3': ${channel} } }\n  '1': { channels: {} }\n`;
  t.strictSame(loadConfig(write(t, text), {}).order, [
    { station: 'zz', channels: ['b', '7', 'a', '3'] },
    { station: '1', channels: [] },
  ]);
});

t.test('paths are relative to the file, wherever the server is started', async (t) => {
  const path = write(t, 'data: { folder: ./titles }\naccessLog: { file: log/access.log }\n');
  const config = loadConfig(path, {});
  t.equal(config.data.folder, join(dirname(path), 'titles'));
  t.equal(config.accessLog.file, join(dirname(path), 'log/access.log'));
  t.equal(loadConfig(write(t, 'log: { level: info }\n'), {}).accessLog.file, '', 'none');
  t.equal(loadConfig(write(t, "accessLog: { file: '-' }\n"), {}).accessLog.file, '-', 'standard output');
  t.equal(loadConfig(write(t, 'data: { folder: /srv/x/../air }\n'), {}).data.folder, '/srv/air');
});

t.test('another process makes the same of what was read, whatever has become of the one in force', async (t) => {
  const stations = (name: string) =>
    channel(`name: "\${NAME} ${name}"`).replace('st:', '7:') + channel('', '106').slice('stations:\n'.length);
  const file = write(t, stations('by day'));
  const env = { NAME: 'Wave' };
  const { config, checked } = checkConfig(file, env);
  const sent = deserialize(serialize(checked));
  const remade = remakeConfig(sent, env);
  t.strictSame(remade, config);
  t.strictSame(remade.order, [
    { station: '7', channels: ['live'] },
    { station: 'st', channels: ['106'] },
  ]);
  adoptConfig(config, checkConfig(file, env, stations('by night')).config);
  t.strictSame(checked, sent);
  rmSync(join(dirname(file), 'tone.mp3'));
  const gone = /^.*airsplice\.yaml: stations\.7\.channels\.live\.sources\.0\.path: .*; stations\.st\./;
  t.throws(() => remakeConfig(sent, env), { message: gone });
});

t.test('a thousand channels may share what they have in common', async (t) => {
  const shared = '{ sources: *s, icy: *i }';
  const channels = Array.from({ length: 999 }, (_, i) => `      c${i}: ${shared}\n`).join('');
  const first = '{ sources: &s [{ type: file, path: tone.mp3 }], icy: &i { charset: iso-8859-1 } }';
  const config = loadConfig(write(t, `stations:\n  st:\n    channels:\n      first: ${first}\n${channels}`), {});
  t.equal(config.stations['st']!.channels['c998']!.icy.charset, 'iso-8859-1');
  const nested = `a: &a [x]\nb: &b [${'*a, '.repeat(10)}]\nc: [${'*b, '.repeat(400)}]\n`;
  t.match(problems(t, nested), [/^1:1 : Aliases/], 'those that multiply are counted so');
});

t.test(
  'a file that is not UTF-8 is refused where it begins to be another: else names would come out wrong',
  async (t) => {
    const text = 'log: { level: info }\npage: { name: Müsli }\n';
    const message = 'The file is not UTF-8: save it in that encoding';
    const file = join(
      t.testdir({ 'latin.yaml': Buffer.from(text, 'latin1'), 'wide.yaml': Buffer.from(`\ufeff${text}`, 'utf16le') }),
      'x',
    );
    const at = (name: string) => file.replace(/x$/, name);
    t.throws(() => loadConfig(at('latin.yaml'), {}), { message: `${at('latin.yaml')}:2:16: ${message}` });
    t.throws(() => loadConfig(at('wide.yaml'), {}), { message: `${at('wide.yaml')}:1:1: ${message}` });
  },
);
