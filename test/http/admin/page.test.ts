/** The operator page: who gets it and its files, who gets which buttons, and what pages of other origins get from it. */

import t from 'tap';
import { ADMIN_LOGIN, AdminClient } from '../../kit/admin-client.js';
import { otherOrigin } from '../../kit/browser.js';
import { LOOKER, openPage, PAGE_YAML, PATIENCE_MS, SKIP, sees } from '../../kit/operator-page.js';
import { Player } from '../../kit/player.js';
import { startServer } from '../../kit/server.js';

// They wait more than they compute.
t.jobs = 3;

const FILES = [
  '/admin',
  ...['admin.css', 'tables.css', 'views.css', 'admin.js', 'dom.js'].map((name) => `/admin/web/${name}`),
];

t.test('its files are for users with the right read, and for nobody else', async (t) => {
  const { base } = await startServer(t, PAGE_YAML);
  const ask = (path: string, headers: Record<string, string> = { Authorization: ADMIN_LOGIN }, method = 'GET') =>
    fetch(base + path, { method, headers, redirect: 'manual' });
  for (const path of FILES) {
    const plain = await ask(path, {});
    t.equal(plain.status, 401, path);
    t.match(plain.headers.get('www-authenticate'), /^Basic /, 'a browser asks for the password');
    t.equal((await ask(path, { Authorization: 'Bearer may change titles' })).status, 403, path);
    t.equal((await ask(path, { Authorization: `Basic ${btoa('all:wrong')}` })).status, 401, path);
    const got = await ask(path);
    t.equal(got.status, 200, path);
    t.equal(got.headers.get('cache-control'), 'private, no-cache');
    t.equal(got.headers.get('x-frame-options'), 'DENY');
    t.equal(got.headers.get('cross-origin-resource-policy'), 'same-origin');
    t.equal(got.headers.get('access-control-allow-origin'), null);
    const policy = got.headers.get('content-security-policy')!;
    t.match(policy, /^default-src 'none';.*frame-ancestors 'none'$/);
    t.notMatch(policy, /unsafe|https?:|\*/);
    const headers = { Authorization: ADMIN_LOGIN, 'If-None-Match': got.headers.get('etag')! };
    t.equal((await ask(path, headers)).status, 304, path);
    t.equal((await ask(path, { ...headers, Authorization: '' })).status, 401, `${path}: a tag is no credential`);
    const post = await ask(path, undefined, 'POST');
    t.same([post.status, post.headers.get('allow')], [405, 'GET, HEAD'], path);
  }
  const slash = await ask('/admin/', {});
  t.same([slash.status, slash.headers.get('location')], [308, '../admin']);
  for (const path of ['/admin/web/', '/admin/web/index.html', '/admin/web/..%2fpage.js']) {
    t.equal((await ask(path)).status, 404, path);
  }
});

t.test('without the rights there are no buttons', { skip: SKIP, timeout: 60_000 }, async (t) => {
  const server = await startServer(t, PAGE_YAML);
  const admin = new AdminClient(server);
  // Of each there is one that a button would stand beside.
  await admin.post('blocks', { network: '203.0.113.0/24', seconds: 60 });
  await admin.post('channels/demo/tokens', { name: 'studio 2' });
  await admin.post('channels/demo/titles', { artist: 'A', song: 'now', duration: 600 });
  await admin.post('channels/demo/titles', { artist: 'A', song: 'next', duration: 0, tracktype: 'next' });
  await admin.post('channels/demo/titles', { artist: 'A', song: 'held', duration: 0, time: Date.now() / 1000 + 200 });
  const player = new Player(server.port, '/demo.mp3', { agent: 'VLC' });
  const { page } = await openPage(t, `${server.base}/admin`, { httpCredentials: LOOKER });
  await sees(page, '#user', 'looker');
  await sees(page, '.channel', 'Demo Channel');
  t.equal(await page.getByRole('button').count(), 0);
  await page.goto(`${server.base}/admin#/channel/demo`);
  await sees(page, '.sources li', 'plays');
  await sees(page, '.next', 'A - next');
  await sees(page, '.held li', 'A - held');
  await sees(page, 'section[aria-labelledby=section-listeners] tbody th', 'VLC');
  t.equal(await page.getByRole('button').count(), 0);
  await page.goto(`${server.base}/admin#/access`);
  await sees(page, 'section[aria-labelledby=section-push-tokens] tbody tr', 'studio 2');
  await sees(page, 'section[aria-labelledby=section-blocked] tbody tr', '203.0.113.0/24');
  t.equal(await page.getByRole('button').count(), 0);
  player.close();
});

t.test('what pages of other origins get from it', { skip: SKIP, timeout: 60_000 }, async (t) => {
  const server = await startServer(t, PAGE_YAML);
  const listener = new Player(server.port, '/demo.mp3', { agent: 'VLC' });
  await listener.until(({ audioBytes }) => audioBytes > 0, PATIENCE_MS);
  const evil = await otherOrigin(t);
  const { page } = await openPage(t, `${server.base}/admin`);
  await sees(page, '.channel', 'Demo Channel');
  // The browser has the password by now, and another page in it tries.
  const frames: string[] = [];
  page.on('framenavigated', (frame) => frame !== page.mainFrame() && frames.push(frame.url()));
  await page.goto(evil);
  const tried = (await page.evaluate(`(async (base) => {
    const frame = document.createElement('iframe');
    frame.src = base + '/admin';
    const loaded = new Promise((done) => { frame.onload = done; });
    document.body.append(frame);
    await loaded;
    const said = [];
    const asked = [
      ['POST', '/admin/api/listeners/end', { 'Content-Type': 'text/plain' }, '{"channel":"demo"}'],
      ['POST', '/admin/api/listeners/end', { 'Content-Type': 'application/json' }, '{"channel":"demo"}'],
      ['DELETE', '/admin/api/channels/demo/titles/now', {}, undefined],
      ['POST', '/admin/reload', {}, undefined],
      ['GET', '/admin/api/channels', {}, undefined],
    ];
    for (const [method, path, headers, body] of asked) {
      for (const mode of ['cors', 'no-cors']) {
        const what = await fetch(base + path, { method, headers, body, mode, credentials: 'include' })
          .then(async (answer) => answer.type + ' ' + answer.status + ' ' + (await answer.text()), () => 'failed');
        said.push(what);
      }
    }
    for (const path of ['/admin/killsource?mount=/studio.mp3', '/admin/moveclients?mount=/demo.mp3&destination=/studio.mp3']) {
      await new Promise((done) => { const image = new Image(); image.onload = image.onerror = done; image.src = base + path; });
    }
    return said;
  })(${JSON.stringify(server.base)})`)) as readonly string[];
  for (const said of tried) t.match(said, /^(failed|opaque 0 $)/);
  // By itself: what is asked of a page that leaves may get no answer.
  const posted = page.waitForURL(`${server.base}/**`);
  await page.evaluate(`((base) => {
    const form = document.createElement('form');
    form.method = 'post';
    form.enctype = 'text/plain';
    form.action = base + '/admin/api/listeners/end';
    const input = document.createElement('input');
    input.name = '{"channel":"demo","agent":"';
    input.value = '"}';
    form.append(input);
    document.body.append(form);
    requestAnimationFrame(() => form.submit());
  })(${JSON.stringify(server.base)})`);
  await posted;
  t.match(await page.content(), /another origin|X-Requested-With|not-allowed/i, 'the form is refused');
  t.same(
    frames.filter((url) => url.startsWith(server.base)),
    [],
    'it cannot be framed',
  );
  const { body } = await new AdminClient(server).get('listeners?channel=demo');
  t.equal(body.total, 1);
  t.equal(listener.closed, false);
  listener.close();
});
