/** The pages as they are sent: headers, policies, languages, what is there without scripts; and that nothing that others chose becomes HTML. */

import { writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import t from 'tap';
import { CompressibleBody } from '../../../src/http/compression.js';
import { openListenerPage, pushTrack, SKIP, saysOnAir } from '../../kit/listener-page.js';
import { DEMO_AUDIO, demoYaml, NODES, startServer, WORKERS } from '../../kit/server.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until } from '../../kit/until.js';

/** The smallest picture. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const HOSTILE = `"><img src=x onerror=alert(1)></script><script>alert('2')</script>`;
/** Of a hostile cover, without scripts. */
const COVER_FRAME =
  '<iframe src="web/cover?url=https%3A%2F%2Fx.example%2F%2522%253E%253Cscript%253Ealert(1)%253C%2Fscript%253E" sandbox="" aria-hidden="true" tabindex="-1" title="" referrerpolicy="no-referrer">';

function oneChannel(more = '', channel = ''): string {
  return `
addresses: [{ host: 127.0.0.1, port: 0 }]
${more}
stations:
  wave:
    name: Radio Wave
    channels:
      demo: { name: Radio Wave, mounts: [/wave.mp3], pushTokens: [demo-token], ${channel} sources: [{ type: file, path: ${DEMO_AUDIO} }] }
`;
}

async function text(url: string, headers: Record<string, string> = {}): Promise<{ answer: Response; body: string }> {
  const answer = await fetch(url, { headers });
  return { answer, body: await answer.text() };
}

t.test('pages and files: types, tags, caches', async (t) => {
  const { base } = await startServer(t, demoYaml());
  const types: Readonly<Record<string, readonly [type: string, isForAll: boolean]>> = {
    '/': ['text/html; charset=utf-8', false],
    '/listen/demo': ['text/html; charset=utf-8', false],
    '/embed/demo': ['text/html; charset=utf-8', false],
    '/web/page.css': ['text/css; charset=utf-8', true],
    '/web/theme.css': ['text/css; charset=utf-8', true],
    '/web/page.js': ['text/javascript; charset=utf-8', true],
    '/web/hls.js': ['text/javascript; charset=utf-8', true],
    '/web/texts/de.json': ['application/json; charset=utf-8', true],
    '/web/channels.json': ['application/json; charset=utf-8', true],
    '/favicon.ico': ['image/svg+xml; charset=utf-8', true],
    '/client.js': ['text/javascript; charset=utf-8', true],
    '/player.js': ['text/javascript; charset=utf-8', true],
    '/web/client/attach.js': ['text/javascript; charset=utf-8', true],
  };
  for (const [path, [type, isForAll]] of Object.entries(types)) {
    const { answer, body } = await text(base + path);
    t.equal(answer.status, 200, path);
    t.equal(answer.headers.get('content-type'), type, path);
    t.equal(answer.headers.get('x-content-type-options'), 'nosniff', path);
    t.equal(answer.headers.get('access-control-allow-origin'), isForAll ? '*' : null, path);
    t.match(answer.headers.get('cache-control'), path.endsWith('channels.json') ? /max-age=1$/ : /^no-cache$/, path);
    const etag = answer.headers.get('etag')!;
    const again = await text(base + path, { 'If-None-Match': etag });
    t.strictSame([again.answer.status, again.body], [304, ''], path);
    const head = await fetch(base + path, { method: 'HEAD' });
    t.equal(head.status, 200, path);
    t.ok(body.length > 0, path);
    const post = await fetch(base + path, { method: 'POST' });
    t.strictSame([post.status, post.headers.get('allow')], [405, 'GET, HEAD'], path);
  }
  for (const path of [
    '/web/',
    '/web/history.js',
    '/web/..%2fapp.js',
    '/listen/none',
    '/embed/none',
    '/listen/',
    '/web/texts/xx.json',
    '/web/logo',
  ])
    t.equal((await fetch(base + path)).status, 404, path);
});

t.test('channels for scripts: what is on air, and no member that is not meant for all', async (t) => {
  const yaml = demoYaml(`      off: { name: Off, sources: [{ type: encoder, password: demo-source }] }`);
  const { base } = await startServer(t, yaml);
  for (const key of ['demo', 'studio']) await saysOnAir(base, key);
  const isNew = async () => (await text(`${base}/web/channels.json`)).body.split('"onAir":true').length === 3;
  await until(isNew, 5000, () => 'a list is older than a second');
  const all = JSON.parse((await text(`${base}/web/channels.json`)).body);
  const demo = {
    stationkey: 'demo',
    station: 'Demo',
    key: 'demo',
    name: 'Demo Channel',
    description: '',
    mount: '/demo.mp3',
    hls: '',
    rewind: null,
    logo: '',
    onAir: true,
    type: 'audio/mpeg',
  };
  t.strictSame(all[0], demo);
  t.strictSame(
    all.map(({ key, onAir }: typeof demo) => [key, onAir]),
    [
      ['demo', true],
      ['studio', true],
      ['off', false],
    ],
  );
  t.strictSame(JSON.parse((await text(`${base}/web/channels.json?channel=demo`)).body), [demo]);
  t.strictSame(JSON.parse((await text(`${base}/web/channels.json?channel=none`)).body), []);
});

t.test('the policy: this host, and for pictures none of its own', async (t) => {
  const { base, port } = await startServer(
    t,
    oneChannel("page: { frameAncestors: ['https://wave.example', 'https://*.wave.example'] }"),
  );
  const policyOf = async (path: string, headers: Record<string, string> = {}) =>
    (await fetch(base + path, { headers })).headers.get('content-security-policy')!;
  t.match(await policyOf('/'), `connect-src 'self' ws://127.0.0.1:${port} wss://127.0.0.1:${port};`);
  t.match(await policyOf('/'), /img-src data: blob:;.*frame-ancestors 'self'$/);
  t.match(await policyOf('/listen/demo'), /frame-ancestors 'self'$/, 'a page is framed by none');
  const embed = /frame-ancestors 'self' https:\/\/wave\.example https:\/\/\*\.wave\.example$/;
  t.match(await policyOf('/embed/demo'), embed, 'the player by those that are named');
  t.match(
    await policyOf('/web/cover?url=x'),
    /frame-ancestors 'self' https:\/\/wave\.example/,
    'and its cover with it',
  );
  // Pages are made once a second.
  const imagesAre = (images: string) =>
    until(
      async () => (await policyOf('/')).includes(`img-src ${images};`),
      5000,
      () => `not ${images}`,
    );
  await pushTrack(base, { song: 'one', cover: 'https://covers.example/a.jpg' });
  await imagesAre('data: blob: https://covers.example');
  for (const own of [`http://127.0.0.1:${port}/admin/killsource?mount=/x`, `http://localhost:${port}/c.jpg`]) {
    await pushTrack(base, { song: own, cover: own });
    await imagesAre('data: blob:');
    await pushTrack(base, { song: `not ${own}`, cover: 'https://covers.example/a.jpg' });
    await imagesAre('data: blob: https://covers.example');
  }
});

t.test('without scripts: the title of now, audio, links; in the language that is asked for', async (t) => {
  const { base } = await startServer(
    t,
    oneChannel("page: { text: The coast, links: [{ text: Shows, url: 'https://wave.example/shows' }] }"),
  );
  await saysOnAir(base);
  await pushTrack(base, { artist: 'Nina Simone', song: 'Sinnerman', cover: 'https://covers.example/a.jpg' });
  const { answer, body } = await text(`${base}/listen/demo`);
  t.match(body, '<p class="plain-song" dir="auto">Sinnerman</p><p class="plain-artist" dir="auto">Nina Simone</p>');
  t.match(body, '<audio controls preload="none" src="../wave.mp3"');
  for (const path of ['../wave.mp3.m3u', '../wave.mp3.pls', 'https://wave.example/shows'])
    t.match(body, `href="${path}"`);
  t.match(body, '<meta property="og:title" content="Radio Wave">');
  t.match(body, '<meta property="og:description" content="Nina Simone - Sinnerman · The coast">');
  t.match(body, '<meta property="og:image" content="https://covers.example/a.jpg">');
  t.match(body, `<meta property="og:url" content="${base}/listen/demo">`);
  t.notMatch(body, /JSON|WebSocket|openapi|\/docs|&lt;iframe/, 'nothing of developers');
  t.equal(answer.headers.get('content-language'), 'en');
  const german = await text(base, { 'Accept-Language': 'xx, de-AT;q=0.8, fr;q=0.5' });
  t.match(german.body, /<html lang="de" dir="ltr">[\s\S]*Auf Sendung/);
  t.match(german.answer.headers.get('vary'), /Accept-Language/);
  const chosen = await text(`${base}/?lang=fr`, { 'Accept-Language': 'de' });
  t.match(chosen.body, /<html lang="fr"/);
});

t.test('what others chose is text, wherever it stands', async (t) => {
  const folder = tempFolder(t);
  writeFileSync(join(folder, 'hostile.json'), JSON.stringify({ onAir: HOSTILE, language: HOSTILE }));
  const page = JSON.stringify({
    name: HOSTILE,
    text: HOSTILE,
    links: [{ text: HOSTILE, url: `https://x.example/?${HOSTILE.replaceAll(' ', '')}` }],
    languages: { nl: join(folder, 'hostile.json') },
    frameAncestors: ['https://wave.example'],
  });
  const { base } = await startServer(t, oneChannel(`page: ${page}`, `description: ${JSON.stringify(HOSTILE)},`));
  await saysOnAir(base);
  await pushTrack(base, { artist: HOSTILE, song: HOSTILE, cover: `https://x.example/"><script>alert(1)</script>` });
  await pushTrack(base, { song: HOSTILE, tracktype: 'next' });
  for (const path of ['/', '/listen/demo', '/embed/demo', '/?lang=nl', `/?lang=${encodeURIComponent(HOSTILE)}`]) {
    const { body, answer } = await text(base + path, { 'Accept-Language': HOSTILE });
    t.equal(answer.status, 200, path);
    t.strictSame(
      [...body.matchAll(/<(script|img|iframe)\b[^>]*>/g)].map(([tag]) => tag.replace(/\.\.\//, '')),
      ['<script type="module" src="web/page.js">', COVER_FRAME, '<script type="application/json" id="page-data">'],
      `${path}: no element but ours`,
    );
    const data = /id="page-data">([^<]*)<\/script>/.exec(body)?.[1];
    t.match(JSON.parse(data!), { up: path === '/' || path.startsWith('/?') ? '' : '../' }, path);
  }
});

t.test('an operator sets logo, colour, languages, or has none of it', async (t) => {
  const folder = tempFolder(t);
  writeFileSync(join(folder, 'logo.png'), PNG);
  writeFileSync(
    join(folder, 'ar.json'),
    JSON.stringify({ dir: 'rtl', language: 'العربية', onAir: 'على الهواء', error404: 'لا شيء هنا' }),
  );
  const path = (name: string) => JSON.stringify(join(folder, name));
  const yaml = oneChannel(
    `page: { logo: ${path('logo.png')}, accent: '#ffee00', languages: { ar: ${path('ar.json')} } }`,
    `logo: ${path('logo.png')},`,
  );
  const server = await startServer(t, yaml);
  const { base } = server;
  const { body } = await text(base);
  t.match(body, /data-logo="web\/logo\?v=/);
  t.match(body, `<meta property="og:image" content="${base}/web/logo/demo?v=`);
  for (const file of ['/web/logo', '/web/logo/demo', '/favicon.ico']) {
    const answer = await fetch(base + file);
    t.equal(answer.headers.get('content-type'), 'image/png', file);
    t.strictSame(Buffer.from(await answer.arrayBuffer()), PNG, file);
    t.match(answer.headers.get('content-security-policy'), /sandbox/, file);
  }
  t.match((await text(`${base}/web/theme.css`)).body, /--airsplice-accent: #[0-9a-f]{6}/);
  t.match((await text(`${base}/?lang=ar`)).body, /<html lang="ar" dir="rtl">[\s\S]*على الهواء/);
  t.match(JSON.parse((await text(`${base}/web/texts/ar.json`)).body), { dir: 'rtl', play: 'Play' });
  const gone = await text(`${base}/nothing`, { Accept: 'text/html', 'Accept-Language': 'ar' });
  t.match(gone.body, /<html lang="ar" dir="rtl">[\s\S]*لا شيء هنا/, 'refusals too');
  await server.reload(oneChannel('page: { enabled: false }'));
  for (const path of ['/', '/listen/demo', '/embed/demo']) t.equal((await fetch(base + path)).status, 404, path);
  t.equal((await fetch(`${base}/client.js`)).status, 200, 'what pages of others use is there');
});

/** The coding of the page as it is asked for by this name. */
function codingAt(port: number, host: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { Host: host, 'Accept-Encoding': 'gzip' };
    const request = http.get({ port, host: '127.0.0.1', agent: false, headers }, (response) => {
      response.resume().on('end', () => resolve(response.headers['content-encoding'] ?? 'none'));
    });
    request.on('error', reject);
  });
}

t.test('a picture for previews is there in any case', { skip: SKIP }, async (t) => {
  const { base } = await startServer(t, oneChannel());
  const url = /property="og:image" content="([^"]*)"/.exec((await text(base)).body)![1]!;
  t.equal(url, `${base}/web/drawn/demo.png`);
  const { page } = await openListenerPage(t, 'about:blank');
  const png = Buffer.from(await (await fetch(url)).arrayBuffer()).toString('base64');
  const size = await page.evaluate(`(async () => {
    const image = new Image();
    image.src = 'data:image/png;base64,${png}';
    await image.decode();
    return [image.naturalWidth, image.naturalHeight];
  })()`);
  t.strictSame(size, [400, 400]);
  t.equal((await fetch(`${base}/web/drawn/none.png`)).status, 404);
});

t.test('ever new names of the server cost no compression, and push nothing out', async (t) => {
  const { port } = await startServer(t, oneChannel());
  t.equal(await codingAt(port, 'own.example'), 'gzip');
  const codings = await Promise.all(Array.from({ length: 80 }, (_, i) => codingAt(port, `h${i}.example`)));
  t.ok(codings.includes('none'), 'past a bound they are sent as they are');
  // Each worker counts for itself, by seconds.
  await until(
    async () => (await codingAt(port, 'own.example')) === 'gzip',
    5000,
    () => 'what was there is not there',
  );
});

t.test(
  'words of the pages are compressed once, not for each who asks',
  { skip: (WORKERS > 0 || NODES > 0) && 'they are made in other processes' },
  async (t) => {
    const { base } = await startServer(t, oneChannel());
    const compressed = new Set<CompressibleBody>();
    const { coded } = CompressibleBody.prototype;
    CompressibleBody.prototype.coded = function (coding) {
      compressed.add(this);
      return coded.call(this, coding);
    };
    t.teardown(() => (CompressibleBody.prototype.coded = coded));
    const bodies = new Set<string>();
    for (let i = 0; i < 10; i++) {
      const answer = await fetch(`${base}/web/texts/de.json`, { headers: { 'Accept-Encoding': 'br' } });
      t.equal(answer.headers.get('content-encoding'), 'br');
      bodies.add(await answer.text());
    }
    t.strictSame([compressed.size, bodies.size], [1, 1]);
  },
);

t.test('one channel, two, many', async (t) => {
  const channel = (i: number) =>
    `      c${i}: { name: Channel ${i}, sources: [{ type: encoder, password: demo-source }] }\n`;
  const pageOf = async (count: number) => {
    const list = Array.from({ length: count }, (_, i) => channel(i)).join('');
    const yaml = `addresses: [{ host: 127.0.0.1, port: 0 }]\nstations:\n  wave:\n    channels:\n${list}`;
    return (await text((await startServer(t, yaml)).base)).body;
  };
  const count = (body: string, part: string) => body.split(part).length - 1;
  const [one, two, twenty] = [await pageOf(1), await pageOf(2), await pageOf(20)];
  t.strictSame(
    [one, two, twenty].map((body) => count(body, '<airsplice-player')),
    [1, 2, 1],
  );
  t.strictSame(
    [one, two, twenty].map((body) => count(body, 'data-channel="')),
    [0, 0, 20],
  );
  t.equal(count(twenty, 'type="search"'), 1);
  t.notMatch(one, /plain-status">On air/, 'nothing is on air, and nothing says so');
});
