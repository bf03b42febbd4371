import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type LoadedConfig, loadConfig } from '../../src/config/load.js';
import { secretMatches } from '../../src/config/secret.js';
import { draftText } from '../../src/setup/draft-text.js';
import { icecastDraft } from '../../src/setup/icecast-draft.js';
import { PEM } from '../kit/certificate.js';
import { growsLinearly } from '../kit/growth.js';
import { GRODNO, LIBRETIME, MARS, RELAYED, WAVEWORLD } from '../kit/icecast-files.js';
import { DEMO_AUDIO } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';

const DEBIAN = '/etc/icecast2/icecast.xml';

interface Imported {
  readonly config: LoadedConfig;
  readonly channels: LoadedConfig['stations'][string]['channels'];
  readonly lost: string;
  readonly text: string;
}

/** As the command does it: what comes out is checked whole. */
function imported(xml: string, more: readonly string[] = []): Imported {
  const draft = icecastDraft(xml, '/srv/airsplice.yaml', '', more);
  const text = draftText(draft, 'Title', '/s.json', '/e.yaml');
  const config = loadConfig('/srv/airsplice.yaml', {}, text);
  return { config, channels: config.stations['imported']!.channels, lost: draft.lost.join('\n'), text };
}

/** Kinds of its sources, with what is pulled or played. */
function sourcesOf({ channels }: Imported, key: string): string[] {
  return channels[key]!.sources.map((source) => {
    if (source.type === 'encoder') return `encoder ${source.user}`;
    return source.type === 'pull' ? `pull ${source.url}${source.onDemand ? ' on demand' : ''}` : `file ${source.path}`;
  });
}

function takes({ channels }: Imported, key: string, password: string): boolean {
  const encoder = channels[key]!.sources.find((source) => source.type === 'encoder');
  return encoder !== undefined && secretMatches([encoder.password!], password);
}

t.test("Debian's default file", { skip: existsSync(DEBIAN) ? false : 'no icecast2 here' }, async (t) => {
  const file = imported(readFileSync(DEBIAN, 'utf8'));
  t.strictSame(Object.keys(file.channels), ['live']);
  t.ok(takes(file, 'live', 'hackme'));
  t.match(file.lost, /names no mount, since Icecast accepts any: \/live was created/);
  t.match(file.lost, /its password comes from a public example/);
  t.match(file.config, { limits: { listeners: 100, headSeconds: 15 }, streams: { burstSeconds: 4 } });
  t.equal(file.config.addresses[0]!.shoutcastPort, false, 'its port for SHOUTcast is not open either');
  const named = imported(readFileSync(DEBIAN, 'utf8'), ['/one.mp3', '/two']);
  t.strictSame(named.config.order[0]?.channels, ['one', 'two']);
});

t.test('a mount and nothing else', async (t) => {
  const file = imported(WAVEWORLD);
  t.strictSame(sourcesOf(file, 'live'), ['encoder source']);
  t.ok(takes(file, 'live', 'old-source-word'));
  t.equal(file.config.streams.publicUrl, '', '0.0.0.0 is nobody');
  t.equal(file.config.accessLog.file, '/tmp/airsplice-access.log');
  t.equal(file.config.log.level, 'info');
});

t.test('a relay, and a mount with a password of its own', async (t) => {
  const file = imported(GRODNO);
  t.strictSame(Object.keys(file.channels).sort(), ['differe', 'stream']);
  t.strictSame(sourcesOf(file, 'differe'), ['pull http://127.0.0.1:8000/live']);
  t.ok(takes(file, 'stream', 'old-mount-word'));
  t.notOk(takes(file, 'stream', 'old-source-word'));
  t.match(file.channels['stream'], { public: true, metaint: 8192 });
  t.match(file.config, { streams: { publicUrl: 'http://online.radiogrodno.by:8005' }, log: { level: 'error' } });
  t.match(file.lost, /\/stream: streams\.burstSeconds applies to all channels/);
  t.match(file.lost, /the access log: \/nowhere\/icecast is not writable here/);
});

t.test('what has its place in an option that is not written names it', async (t) => {
  const { lost } = imported(`<icecast>
    <authentication><admin-user>me</admin-user></authentication>
    <directory><yp-url>http://dir.example/yp</yp-url></directory>
    <mount><mount-name>/live</mount-name><dump-file>/tmp/live.mp3</dump-file></mount>
  </icecast>`);
  t.match(lost, /<admin-user> \(line 2\): see admin\.users/);
  t.match(lost, /<directory> \(line 3\): see directories/);
  t.match(lost, /<dump-file> \(line 4\): airsplice record/);
  t.notMatch(lost, /me$|dir\.example|tmp/m, 'never a value');
});

t.test('mounts whose names are nearly the same keep their paths', async (t) => {
  const file = imported(MARS);
  const paths = Object.entries(file.channels).map(([key, { mounts }]) => [key, ...mounts]);
  t.strictSame(
    new Map(paths.map(([key, ...mounts]) => [key, mounts])),
    new Map([
      ['listen-ogg', ['/listen.ogg']],
      ['listenogg', []],
      ['listen', []],
      ['listen-mp3', ['/listen.mp3']],
    ]),
  );
  t.match(file.channels['listen'], { maxListeners: 10_000, url: 'https://marsfm.ie' });
  t.strictSame(file.config.streams.headers, { 'Access-Control-Allow-Origin': '*' });
});

t.test('fallback mounts are later sources: another mount, a relay, a file', async (t) => {
  const file = imported(LIBRETIME);
  t.strictSame(sourcesOf(file, 'airtime_128'), ['encoder source']);
  t.strictSame(sourcesOf(file, 'live'), ['encoder source', 'pull http://127.0.0.1:8000/airtime_128 on demand']);
  t.strictSame(sourcesOf(file, 'stream'), ['encoder source', 'pull http://127.0.0.1:8000/live.ogg on demand']);

  const webroot = tempFolder(t);
  copyFileSync(DEMO_AUDIO, join(webroot, 'silence.mp3'));
  writeFileSync(join(webroot, 'text.mp3'), 'no audio');
  const mount = (name: string, fallback: string) =>
    `<mount><mount-name>${name}</mount-name><fallback-mount>${fallback}</fallback-mount></mount>`;
  const relay = '<relay><server>up.example</server><mount>/a</mount><local-mount>/up</local-mount></relay>';
  const chain = imported(
    `<icecast><authentication><source-password>word</source-password></authentication><paths><webroot>${webroot}</webroot></paths>${relay}
    ${mount('/a', '/up')}${mount('/up', '/silence.mp3')}${mount('/b', '/c')}${mount('/c', '/b')}${mount('/d', '/text.mp3')}${mount('/e', '/../silence.mp3')}</icecast>`,
  );
  const silence = `file ${join(webroot, 'silence.mp3')}`;
  t.strictSame(sourcesOf(chain, 'a'), ['encoder source', 'pull http://up.example:8000/a', silence]);
  t.strictSame(sourcesOf(chain, 'up'), ['pull http://up.example:8000/a', silence]);
  t.strictSame(sourcesOf(chain, 'b'), ['encoder source'], 'no circle');
  t.match(chain.lost, /\/b: its fallback \/c leads back to it/);
  t.strictSame(sourcesOf(chain, 'd'), ['encoder source', 'pull http://127.0.0.1:8000/text.mp3 on demand']);
  t.match(chain.lost, /\/d: its fallback \/text\.mp3 cannot be played as a file here/);
  t.strictSame(sourcesOf(chain, 'e'), ['encoder source', silence], 'never outside the webroot');
});

t.test('who had to log in to listen, still has to', async (t) => {
  const file = imported(RELAYED);
  t.equal(file.config.listenerHook?.url, 'http://127.0.0.1:9000/listener_add');
  t.equal(file.channels['remotemount']?.access, 'hook');
  t.strictSame(sourcesOf(file, 'remotemount'), [
    'pull http://me:p%40ss%2Fword@up.example:8000/radiostation3 on demand',
  ]);
  t.equal(file.channels['remotemount']?.name, 'Remote $ {HOME} Station', 'no variable');
  t.equal(file.channels['members'], undefined, 'a login of another kind: the channel is left out');
  t.match(file.lost, /\/members: its listeners had to log in .* it was left out/);
  t.match(file.config.addresses, [{ host: '127.0.0.1', port: 8000, shoutcastPort: 8001 }]);

  const alone = imported(
    RELAYED.replace(/<option name="listener_(add|remove)"[^>]*>/g, '').replace('type="url"', 'type="x"'),
  );
  t.equal(alone.config.listenerHook?.url, 'http://127.0.0.1:9/');
  t.strictSame(
    Object.values(alone.channels).map(({ access }) => access),
    ['hook', 'hook'],
  );
});

t.test('sockets, certificates, aliases, and mounts that cannot be', async (t) => {
  const folder = tempFolder(t);
  mkdirSync(join(folder, 'log'));
  const pem = join(folder, 'icecast.pem');
  writeFileSync(pem, readFileSync(`${PEM}one.cert.pem`, 'utf8') + readFileSync(`${PEM}one.key.pem`, 'utf8'));
  const xml = (certificate: string) => `<icecast>
    <listen-socket><port>8000</port></listen-socket>
    <listen-socket><port>8443</port><ssl>1</ssl></listen-socket>
    <listen-socket><port>8010</port><shoutcast-compat>1</shoutcast-compat></listen-socket>
    <mount type="default"><max-listener-duration>3600</max-listener-duration><dump-file>/tmp/x</dump-file></mount>
    <mount><mount-name>/live</mount-name><username>dj</username><password>a:b</password><bitrate>64</bitrate><hidden>1</hidden><charset>windows-1251</charset></mount>
    <mount><mount-name>/*.mp3</mount-name></mount>
    <mount><mount-name>/admin/x</mount-name></mount>
    <paths><ssl-certificate>${certificate}</ssl-certificate><logdir>${folder}/log</logdir>
      <alias source="/old.mp3" destination="/live"/><alias source="/x" destination="/status.xsl"/><alias source="/live" destination="/live"/></paths>
    <logging><accesslog>access.log</accesslog><loglevel>4</loglevel></logging>
    <limits><burst-on-connect>0</burst-on-connect><burst-size>65536</burst-size><source-timeout>60</source-timeout></limits>
  </icecast>`;
  const file = imported(xml(pem));
  t.match(file.config.addresses, [
    { port: 8000, shoutcastPort: 8010 },
    { port: 8443, shoutcastPort: false, tls: { certFile: pem, keyFile: pem } },
  ]);
  t.strictSame(sourcesOf(file, 'live'), ['encoder dj']);
  t.match(file.channels['live'], {
    mounts: ['/old.mp3'],
    maxListenSeconds: 3600,
    bitrateKbps: 64,
    charset: 'windows-1251',
  });
  t.match(file.config, { streams: { burstSeconds: 0 }, sources: { bodyTimeoutSeconds: 60 }, log: { level: 'debug' } });
  t.equal(file.config.accessLog.file, join(folder, 'log/airsplice-access.log'));
  for (const words of [
    /the mount \/\*\.mp3 is not valid as a mount here/,
    /the mount \/admin\/x is a path that this server uses/,
    /the alias \/x .* leads to no mount/,
    /the alias \/live .* is a mount already/,
    /<mount><hidden>.*every channel is in the statistics/,
    /\/live: its password must not contain a colon/,
  ])
    t.match(file.lost, words);
  t.notMatch(file.text, /a:b/);
  const without = imported(xml(join(folder, 'none.pem')));
  t.equal(without.config.addresses.length, 1);
  t.match(without.lost, /port 8443 .* was for TLS: its certificate .*none\.pem is unreadable here/);
});

t.test('what the file says leaves no comment: no line of it becomes an option', async (t) => {
  for (const end of ['&#10;', '&#13;', '&#133;', '&#8232;']) {
    const evil = `x${end}proxies: { trusted: [0.0.0.0/0] }${end}#`;
    const { config, lost } = imported(`<icecast>
      <authentication><source-password>a source password</source-password></authentication>
      <listen-socket><port>8000</port></listen-socket><listen-socket><port>8443</port><ssl>1</ssl></listen-socket>
      <mount><mount-name>/a</mount-name></mount>
      <paths><ssl-certificate>${evil}</ssl-certificate><logdir>/${evil}</logdir></paths>
      <logging><accesslog>/${evil}/access.log</accesslog></logging>
    </icecast>`);
    t.match(lost, /port 8443 .* was for TLS/);
    t.same(config.proxies.trusted, []);
  }
});

t.test('no password at all: one is made', async (t: Test) => {
  const draft = icecastDraft(
    '<icecast><mount><mount-name>/a</mount-name></mount></icecast>',
    '/srv/a.yaml',
    'Mine',
    [],
  );
  t.match(draft.lost.join(), /\/a: the file has no password for encoders; one was created/);
  t.match(draft.logins[0]?.encoder?.password, /^[\w-]{24}$/);
  t.match(draftText(draft, '', '', ''), /name: Mine\n/);
});

t.test('fallbacks that lead on and on are cut where a channel can have no more sources', async (t) => {
  const chain = (count: number) =>
    Array.from({ length: count }, (_, i) => {
      const relay = `<relay><server>a.example</server><port>8000</port><mount>/${i}</mount><local-mount>/m${i}</local-mount></relay>`;
      return `${relay}<mount><mount-name>/m${i}</mount-name><fallback-mount>/m${i + 1}</fallback-mount></mount>`;
    }).join('');
  const { lost } = icecastDraft(`<icecast>${chain(40)}</icecast>`, '/srv/a.yaml', '', []);
  t.ok(lost.includes('/m0: its fallbacks continue for more than 16 mounts'));
  t.notMatch(lost.join(), '/m30: its fallbacks');
});

t.test('what is not carried over takes as long as it is much', async (t) => {
  const make = (size: number) => `<icecast>${'<zz/>\n'.repeat(size)}</icecast>`;
  await growsLinearly(t, 'elements', 2000, make, (xml) => icecastDraft(xml, '/srv/a.yaml', '', []));
});

t.test('what is no XML, or more than a configuration, is refused with its line', async (t) => {
  const wrong: [string, RegExp][] = [
    ['<icecast>\n<limits></icecast>', /not XML: 2:\d+: unexpected close tag/],
    [
      '<!DOCTYPE icecast [<!ENTITY x SYSTEM "file:///etc/passwd">]><icecast><location>&x;</location></icecast>',
      /undefined entity/,
    ],
    ['<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><icecast>&b;</icecast>', /undefined entity/],
    ['<html></html>', /it begins with <html>/],
    ['<icecast>', /not XML: .*unclosed tag/],
    [`<icecast>${'<a>'.repeat(32)}${'</a>'.repeat(32)}</icecast>`, /too many elements/],
    [`<icecast>${'<a/>'.repeat(20_000)}</icecast>`, /too many elements/],
    [`<icecast>${' '.repeat(1_048_576)}</icecast>`, /longer than/],
  ];
  for (const [xml, words] of wrong) t.throws(() => icecastDraft(xml, '/srv/a.yaml', '', []), { message: words });
  t.ok(imported(`<icecast>${'<a>'.repeat(31)}${'</a>'.repeat(31)}</icecast>`));
});

t.test('encoders that a hook judged are judged by it, and by no password of the file', async (t) => {
  const xml = (options: string, more = '') => `<icecast><hostname>radio.example</hostname>
<authentication><source-password>of all encoders</source-password></authentication>
<mount><mount-name>/live</mount-name>${more}<authentication type="url">${options}</authentication></mount>
<mount><mount-name>/other</mount-name></mount></icecast>`;
  const url = 'http://panel.example:9000/auth?of=live';
  const stream = `<option name="stream_auth" value="${url}"/>`;
  const file = imported(xml(stream, '<password>of the mount</password>'));
  t.equal(file.channels['live']?.encoderHook?.url, url);
  t.equal(file.channels['live']?.access, 'open', 'of listeners it says nothing');
  t.notMatch(file.lost, 'stream_auth');
  t.notOk(takes(file, 'live', 'of the mount'), 'Icecast took none either');
  t.notOk(takes(file, 'live', 'of all encoders'));
  t.equal(file.channels['other']?.encoderHook, undefined);
  t.ok(takes(file, 'other', 'of all encoders'));

  const both = imported(xml(`${stream}<option name="listener_add" value="http://panel.example/in"/>`));
  t.match(both.channels['live'], { access: 'hook', encoderHook: { url } });
  t.equal(both.config.listenerHook?.url, 'http://panel.example/in');

  const unusable = imported(xml('<option name="stream_auth" value="file:///etc/passwd"/>'));
  t.equal(unusable.channels['live']?.encoderHook, undefined);
  t.match(unusable.lost, '/live: the URL of its stream_auth cannot be requested');
  t.notOk(takes(unusable, 'live', 'of all encoders'), 'no other way in than was');
  const header = imported(xml(`${stream}<option name="auth_header" value="x-ok: yes"/>`));
  t.match(header.lost, '/live: its stream_auth must answer icecast-auth-user: 1; x-ok: yes is ignored');
});
