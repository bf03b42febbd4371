/** Playlists of every mount: the URL in them leads to the stream, whatever the request says of itself. */

import { spawn, spawnSync } from 'node:child_process';
import tls from 'node:tls';
import t, { type Test } from 'tap';
import { configSchema } from '../../../src/config/schema.js';
import { PEM } from '../../kit/certificate.js';
import { noIcecast, startIcecast } from '../../kit/icecast.js';
import { Player } from '../../kit/player.js';
import { demoYaml, startServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';
import { ask, Wire } from '../../kit/wire.js';

// They wait more than they compute.
t.jobs = 4;

const FORMS = ['m3u', 'pls', 'xspf'] as const;

/** The body of what is answered to these headers, whatever they are. */
async function get(
  t: Test,
  port: number,
  path: string,
  headers = 'Host: x\r\n',
  protocol = 'HTTP/1.1',
): Promise<string> {
  const wire = new Wire(t, port).send(`GET ${path} ${protocol}\r\n${headers}Connection: close\r\n\r\n`);
  await until(
    () => wire.ended,
    20_000,
    () => `${path} on ${port}: ${wire.got}`,
  );
  return Buffer.from(wire.got.slice(wire.got.indexOf('\r\n\r\n') + 4), 'latin1').toString();
}

function urlIn(body: string): string {
  return /(?:^|\nFile1=|<location>)(https?:\/\/[^\r\n<]*)/.exec(body)?.[1] ?? `none in ${body}`;
}

t.test('every mount has three, with type, CORS and without caching', async (t) => {
  const { port } = await startServer(t, demoYaml());
  const types = { m3u: 'audio/x-mpegurl', pls: 'audio/x-scpls', xspf: 'application/xspf+xml; charset=utf-8' };
  for (const mount of ['/demo', '/demo.mp3', '/studio', '/studio.mp3']) {
    for (const form of FORMS) {
      const answer = await ask(t, port, `GET ${mount}.${form} HTTP/1.1`);
      t.equal(answer.status, 200, `${mount}.${form}`);
      t.equal(answer.headers.get('content-type'), types[form]);
      t.equal(answer.headers.get('access-control-allow-origin'), '*');
      t.equal(answer.headers.get('cache-control'), 'no-store');
      t.equal(urlIn(answer.body), `http://x${mount}`);
    }
  }
  for (const path of ['/none.m3u', '/demo.asx', '/.m3u', '/demo.mp3.m3u.m3u']) {
    t.equal((await ask(t, port, `GET ${path} HTTP/1.1`)).status, 404, path);
  }
});

t.test('its path is read as every path is', async (t) => {
  const { port } = await startServer(t, demoYaml());
  for (const [path, got] of [
    ['/d%65mo%2em3u?x=%zz', 'http://x/demo'],
    ['/demo.m3u#x', 'http://x/demo'],
    ['//demo.m3u?a=//b', 'http://x/demo?a=//b'],
    ['/demo%2Em3u/', 'not-found'],
    ['/demo.m3u%zz', 'bad-request'],
  ] as const) {
    t.match(await get(t, port, path), got, path);
  }
});

t.test('m3u is byte for byte what Icecast sends', { skip: noIcecast }, async (t) => {
  const [icecast, { port }] = await Promise.all([startIcecast(t), startServer(t, demoYaml())]);
  const headers = 'Host: radio.example:8000\r\n';
  t.equal(await get(t, port, '/demo.mp3.m3u', headers), await get(t, icecast, '/demo.mp3.m3u', headers));
});

t.test('a mount that is called like a playlist is a mount', async (t) => {
  const { port } = await startServer(t, demoYaml().replace('[/demo.mp3]', '[/demo.mp3, /demo.m3u]'));
  const player = new Player(port, '/demo.m3u');
  await player.until((p) => p.audioBytes > 0);
  t.equal(player.headers.get('x-channelkey'), 'demo');
  player.close();
  t.equal(urlIn(await get(t, port, '/demo.m3u.m3u')), 'http://x/demo.m3u');
});

t.test('Host is outside input: what is none is ignored', async (t) => {
  const { port } = await startServer(t, demoYaml());
  const own = `http://127.0.0.1:${port}`;
  const hosts: readonly (readonly [host: string, base: string])[] = [
    ['radio.example', 'http://radio.example'],
    ['Radio-1.example.:8443', 'http://Radio-1.example.:8443'],
    ['192.0.2.1:80', 'http://192.0.2.1:80'],
    ['[2001:db8::1]:8000', 'http://[2001:db8::1]:8000'],
    ['[::1]', 'http://[::1]'],
    ['', own],
    ['a b', own],
    ['a"><script>', own],
    ["a'b", own],
    ['evil.example/x', own],
    ['user@evil.example', own],
    ['evil.example?', own],
    ['evil.example#', own],
    ['evil.example:80:80', own],
    ['evil.example:99999', own],
    ['evil.example:', own],
    ['[::::]', own],
    ['[not-v6]', own],
    ['999.999.999.999', own],
    ['-x', own],
    ['é.example', own],
    ['a&b', own],
    [`${'a'.repeat(300)}.example`, own],
  ];
  for (const [host, base] of hosts) {
    for (const form of FORMS) {
      const body = await get(t, port, `/demo.${form}`, `Host: ${host}\r\n`);
      t.equal(urlIn(body), `${base}/demo`, `${form} ${host}`);
    }
    const { icestats } = JSON.parse(await get(t, port, '/status-json.xsl?mount=/demo', `Host: ${host}\r\n`));
    t.equal(icestats.source.listenurl, `${base}/demo`, host);
    t.equal(
      icestats.host,
      new URL(base).hostname.toLowerCase() === icestats.host.toLowerCase() ? icestats.host : 'other',
    );
  }
  t.equal(urlIn(await get(t, port, '/demo.pls', '', 'HTTP/1.0')), `${own}/demo`, 'HTTP/1.0 names none');
  t.equal(
    urlIn(await get(t, port, 'http://other.example/demo.pls', 'Host: x\r\n')),
    'http://other.example/demo',
    'absolute form (RFC 9112, 3.2.2)',
  );
});

t.test('the query goes on to the stream, where it is one', async (t) => {
  const { port } = await startServer(t, demoYaml());
  const cases: readonly (readonly [asked: string, given: string])[] = [
    ['?metaid=abc&app=x%20y', '?metaid=abc&app=x%20y'],
    ['?', '?'],
    [`?a="><x>`, ''],
    [`?a='`, ''],
    ['?a=\\', ''],
    ['?a=|`{}^', ''],
    ['?a=\u00e9', ''],
  ];
  for (const [asked, given] of cases) {
    for (const form of FORMS) {
      const url = urlIn(await get(t, port, `/demo.${form}${asked}`)).replaceAll('&amp;', '&');
      t.ok(
        [`http://x/demo${given}`, 'none in '].some((start) => url.startsWith(start)),
        `${form} ${asked}: ${url}`,
      );
      if (!/[^!-~]/.test(asked)) t.equal(url, `http://x/demo${given}`, asked);
    }
  }
});

t.test('https behind TLS, or where a trusted proxy says so; a public URL wins', async (t) => {
  const forwarded = 'Host: x\r\nX-Forwarded-Proto: https\r\n';
  const plain = await startServer(t, demoYaml());
  t.equal(urlIn(await get(t, plain.port, '/demo.m3u', forwarded)), 'http://x/demo', 'any client can say that');
  const proxied = await startServer(t, demoYaml('proxies: { trusted: [127.0.0.0/8] }'));
  const protocols: readonly (readonly [value: string, url: string])[] = [
    ['https', 'https://x/demo'],
    ['HTTPS', 'https://x/demo'],
    ['http', 'http://x/demo'],
    ['http, https', 'https://x/demo'],
    ['javascript', 'http://x/demo'],
    ['https"', 'http://x/demo'],
    ['', 'http://x/demo'],
  ];
  for (const [value, url] of protocols) {
    t.equal(urlIn(await get(t, proxied.port, '/demo.m3u', `Host: x\r\nX-Forwarded-Proto: ${value}\r\n`)), url, value);
  }
  const pair = `{ certFile: ${PEM}one.cert.pem, keyFile: ${PEM}one.key.pem }`;
  const secure = await startServer(t, demoYaml().replace('port: 0', `port: 0, tls: ${pair}`));
  const socket = tls.connect({ port: secure.port, host: '127.0.0.1', rejectUnauthorized: false });
  t.teardown(() => socket.destroy());
  let got = '';
  socket.on('data', (chunk: Buffer) => {
    got += chunk.toString();
  });
  socket.write('GET /demo.m3u HTTP/1.1\r\nHost: x:8443\r\n\r\n');
  await until(
    () => got.includes('https://x:8443/demo\r\n'),
    5000,
    () => got,
  );
  const publicUrl = (url: string) => configSchema({ env: {}, folder: '/' }).safeParse({ streams: { publicUrl: url } });
  for (const url of ['https://x/?a', 'https://x/#a', 'ftp://x/', 'radio.example']) t.notOk(publicUrl(url).success, url);
  const fixed = demoYaml(`streams: { publicUrl: 'https://radio.example/air/' }`);
  const { port } = await startServer(t, fixed);
  for (const form of FORMS) {
    t.equal(urlIn(await get(t, port, `/demo.${form}`, forwarded)), 'https://radio.example/air/demo', form);
  }
});

t.test('names and titles cannot leave their place', async (t) => {
  const name = `<b> & "q" ]]> Näme`;
  const yaml = demoYaml().replace('name: Demo Channel', `name: '${name}'`);
  const { port, base } = await startServer(t, yaml);
  const song = `</title><location>http://evil.example/</location>\ufffe &amp;`;
  await fetch(`${base}/metapush/demo/demo-token?song=${encodeURIComponent(song)}`);
  const body = await get(t, port, '/demo.xspf');
  t.equal(body.match(/<location>/g)!.length, 1);
  const xml = spawnSync(
    'python3',
    [
      '-c',
      'import sys, xml.dom.minidom as x; d = x.parse(sys.stdin); print([n.firstChild.data for n in d.getElementsByTagName("title")])',
    ],
    { input: body },
  );
  if (xml.error !== undefined) t.pass('read as XML', { skip: 'python3 is missing' });
  else
    t.equal(
      String(xml.stdout).trim(),
      `['${name.replaceAll("'", "\\'")}', '</title><location>http://evil.example/</location> &amp;']`,
      String(xml.stderr),
    );
  t.match(await get(t, port, '/demo.pls'), `\r\nTitle1=${name}\r\n`);
});

const noMpv = spawnSync('mpv', ['--version']).error === undefined ? false : 'no mpv here';

t.test('mpv plays from m3u and pls', { skip: noMpv }, async (t) => {
  const { base } = await startServer(t, demoYaml());
  for (const form of ['m3u', 'pls']) {
    const mpv = spawn('mpv', [
      '--no-config',
      '--ao=null',
      '--vo=null',
      '--length=1',
      '--msg-level=all=warn',
      `${base}/demo.mp3.${form}`,
    ]);
    t.teardown(() => mpv.kill('SIGKILL'));
    let said = '';
    mpv.stderr.on('data', (text: Buffer) => (said += text));
    mpv.stdout.on('data', (text: Buffer) => (said += text));
    const code = await new Promise((done) => mpv.on('exit', done));
    t.equal(code, 0, `${form}: ${said}`);
    t.equal(said.match(/error|fail/i), null, said);
  }
});
