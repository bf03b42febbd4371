import t from 'tap';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config/load.js';
import { dataFolder, draftOf, keyFrom, pathIn, readChannels, readReach, readSources } from '../../src/setup/answers.js';
import { draftText } from '../../src/setup/draft-text.js';
import { DEMO_AUDIO } from '../kit/server.js';

t.test('where listeners reach it: a port, a URL with one, or a proxy', async (t) => {
  t.strictSame(readReach('80'), { port: 80, publicUrl: '', isProxied: false });
  t.strictSame(readReach('http://r.example:8100/'), {
    port: 8100,
    publicUrl: 'http://r.example:8100',
    isProxied: false,
  });
  for (const url of ['https://r.example', 'http://r.example', 'https://r.example:8443/air'])
    t.strictSame(readReach(url), { port: 8000, publicUrl: url, isProxied: true });
  for (const wrong of ['', '0', '65536', 'radio.example', 'ftp://r', 'http://r/?a', 'http://r/#a', 'http://a:b@r/'])
    t.throws(() => readReach(wrong), { name: 'AnswerError' }, wrong);
});

t.test('channels by names: their keys stand in URLs', async (t) => {
  t.strictSame(readChannels('Radio Wave, live_2'), [
    { key: 'radio-wave', name: 'Radio Wave' },
    { key: 'live_2', name: 'live_2' },
  ]);
  t.equal(keyFrom('  Žižkov – 104.6 FM! '), 'zizkov-104-6-fm');
  t.equal(keyFrom('放送'), '');
  t.equal(keyFrom('x'.repeat(99)).length, 64);
  t.equal(readChannels(Array.from({ length: 100 }, (_, i) => `c${i}`).join()).length, 100);
  const wrong = [
    '',
    'a,,b',
    'metadata',
    '放送',
    'a,a',
    'x'.repeat(256),
    Array.from({ length: 101 }, (_, i) => i).join(),
  ];
  for (const text of wrong) t.throws(() => readChannels(text), { name: 'AnswerError' }, text);
});

t.test('sources, and paths as they are written', async (t) => {
  t.strictSame(readSources(`http://me:word@up.example/a,encoder,${DEMO_AUDIO}`, '/'), [
    { type: 'pull', url: 'http://me:word@up.example/a' },
    { type: 'encoder' },
    { type: 'file', path: DEMO_AUDIO },
  ]);
  for (const wrong of ['', 'encoder,', 'http://', '/', `encoder,${'encoder,'.repeat(16)}`])
    t.throws(() => readSources(wrong, '/'), { name: 'AnswerError' }, wrong);
  t.equal(pathIn('/srv/air', '/srv/air/files/a.mp3'), 'files/a.mp3');
  t.equal(pathIn('/srv/air', '/srv/a.mp3'), '/srv/a.mp3');
  t.equal(dataFolder('/etc/airsplice/airsplice.yaml'), '/var/lib/airsplice');
  t.equal(dataFolder('/srv/airsplice.yaml'), 'data');
});

t.test('every kind of reach and of name makes a file that can be used, and says what was lost', async (t) => {
  for (const reach of ['8000', '65535', 'http://r.example:8100', 'https://r.example/air']) {
    const draft = draftOf(
      {
        station: `放送 "'#: - {} %`,
        channels: [{ key: '007', name: 'true' }],
        reach: readReach(reach),
        sources: readSources(`encoder,http://up.example/a?b=c,${DEMO_AUDIO}`, '/'),
      },
      '/srv/airsplice.yaml',
    );
    const text = draftText({ ...draft, lost: ['one', 'two'] }, 'Title', '/s.json', '/e.yaml');
    t.match(
      text,
      /^# yaml-language-server: \$schema=\/s\.json\n# Title\n(# .*\n)+#\n# Not imported, or different here:\n# - one\n# - two\n/,
    );
    const config = loadConfig('/srv/airsplice.yaml', {}, text);
    t.equal(config.stations['station']?.name, `放送 "'#: - {} %`);
    t.equal(config.stations['station']?.channels['007']?.name, 'true');
    t.equal(config.data.folder, '/srv/data');
    t.equal(parse(text).addresses.length, reach.startsWith('https') ? 2 : 1);
  }
});
