/**
 * Covers, whose URLs strangers set: the policy of the frame, by request; and a whole server, seen by Chromium with an operator's password, whose encoder stays
 * connected whatever is pushed as a cover.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import t, { type Test } from 'tap';
import { otherOrigin } from '../../kit/browser.js';
import { keepLines } from '../../kit/log-lines.js';
import { openPage, PAGE_YAML, SKIP, studioEncoder } from '../../kit/operator-page.js';
import { demoYaml, startServer, type TestServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';
import { ask, Wire } from '../../kit/wire.js';

const NONE = "'none'";

t.test(
  'the frame lets in images of the origin of its cover, and of ours logos and pictures of covers alone',
  async (t) => {
    const { port } = await startServer(t, demoYaml("streams: { publicUrl: 'https://radio.example/air/' }\n"));
    const own = `own.example:${port}`;
    const table: readonly (readonly [url: string, images: string, host?: string])[] = [
      ['https://covers.example/a/b.jpg?c', 'https://covers.example'],
      ['http://covers.example:8080/c.jpg', 'http://covers.example:8080'],
      ['HTTPS://Covers.Example:443/c.jpg', 'https://covers.example'],
      ['https://user:word@covers.example/c.jpg', 'https://covers.example'],
      // By Host: with its port, by http and https alike, and what else is known as ours.
      [`http://${own}/admin/killsource?mount=/x`, NONE],
      [`https://${own}/admin/killsource?mount=/x`, NONE],
      [`http://OWN.example.:${port}/c.jpg`, NONE],
      ['http://own.example:1/c.jpg', 'http://own.example:1'],
      // The port of publicUrl counts with each name of this server.
      ['https://own.example/c.jpg', NONE],
      ['https://own.example/c.jpg', NONE, 'own.example'],
      ['http://own.example/c.jpg', NONE, 'own.example'],
      ['http://own.example/c.jpg', NONE, 'own.example:443'],
      ['https://radio.example/c.jpg', NONE],
      ['http://radio.example/c.jpg', NONE],
      [`http://radio.example:${port}/c.jpg`, NONE],
      [`http://127.0.0.1:${port}/c.jpg`, NONE],
      [`http://127.1:${port}/c.jpg`, NONE],
      [`http://localhost:${port}/c.jpg`, NONE],
      [`http://a.localhost:${port}/c.jpg`, NONE],
      [`http://0:${port}/c.jpg`, NONE],
      ['http://127.0.0.1:1/c.jpg', 'http://127.0.0.1:1'],
      // Of this server logos and pictures of covers alone, each by its whole path.
      [`http://${own}/metadata/channel/one/cover/a%20b.jpg`, `http://${own}/metadata/channel/one/cover/a%20b.jpg`],
      [
        'https://radio.example/air/metadata/channel/one/cover/1.png',
        'https://radio.example/air/metadata/channel/one/cover/1.png',
      ],
      [`http://${own}/metadata/channel/one/cover/../../../admin/killsource`, NONE],
      [`http://${own}/metadata/channel/one/cover/a.jpg?mount=/x`, NONE],
      [`http://${own}/metadata/channel/one/cover/a;b.jpg`, NONE],
      [`http://${own}/metadata/channel/one/cover/a/b.jpg`, NONE],
      [`http://${own}/admin/metadata/channel/one/cover/`, NONE],
      [`http://user:word@${own}/metadata/channel/one/cover/a.jpg`, NONE],
      [`http://${own}/web/logo`, `http://${own}/web/logo`],
      ['https://radio.example/air/web/logo/one', 'https://radio.example/air/web/logo/one'],
      [`http://${own}/web/logo/../../admin/killsource`, NONE],
      [`http://${own}/web/logo/one/two`, NONE],
      [`http://${own}/web/logo?v=1`, NONE],
      // What no policy can name, or what would name more.
      ['https://*/c.jpg', NONE],
      ['https://x;script-src/c.jpg', NONE],
      ["https://x'self'/c.jpg", NONE],
      ['https://[2001:db8::1]/c.jpg', NONE],
      ['javascript:alert(1)', NONE],
      ['//covers.example/c.jpg', NONE],
      ['', NONE],
    ];
    for (const [url, images, host = own] of table) {
      const path = `/web/cover?url=${encodeURIComponent(url)}`;
      const wire = new Wire(t, port).send(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      const answer = (await wire.take(1))[0]!;
      wire.socket.destroy();
      const policy = answer.headers.get('content-security-policy')!;
      t.equal(/img-src ([^;]*);/.exec(policy)?.[1], images, `${url} at ${host}`);
      t.match(policy, /^default-src 'none'; .*; sandbox$/);
      t.equal(answer.body.includes('url('), images !== NONE, url);
      t.equal(answer.headers.get('referrer-policy'), 'no-referrer');
    }
    const hostile = `https://"y:'"@y/"\\)}</style><script>alert(1)</script>?"\\")}</style>#"\\")</style>`;
    const { body } = await ask(t, port, `GET /web/cover?url=${encodeURIComponent(hostile)} HTTP/1.1`);
    const style =
      /<style>html\{height:100%;background:url\("([^"\\<>]*)"\) center\/cover\}<\/style><\/head><\/html>$/.exec(
        body,
      )?.[1];
    t.ok(style?.startsWith('https://%22y'), body);
    const page = (await ask(t, port, 'GET / HTTP/1.1')).headers.get('content-security-policy')!;
    t.match(page, /img-src data: blob:;/, 'the page itself takes none');
    t.equal((await ask(t, port, 'POST /web/cover HTTP/1.1\nContent-Length: 0')).status, 405);
  },
);

/** An image, and redirects to wherever `to` says. */
function covers(t: Test, seen: IncomingMessage[], to: () => string): Promise<string> {
  const picture = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path fill="red" d="M0 0h1v1H0z"/></svg>';
  return otherOrigin(t, (request: IncomingMessage, response: ServerResponse) => {
    seen.push(request);
    if (request.url!.startsWith('/away')) response.writeHead(302, { Location: to() }).end();
    else response.writeHead(200, { 'Content-Type': 'image/svg+xml' }).end(picture);
  });
}

async function push({ base }: TestServer, song: string, cover: string): Promise<void> {
  const answer = await fetch(`${base}/metapush/demo/demo-token`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ artist: '', song, duration: 180, cover }),
  });
  if (answer.status !== 200) throw new Error(`push: ${answer.status}`);
  await answer.body?.cancel();
}

t.test("no cover ends an encoder by an operator's browser", { skip: SKIP }, async (t) => {
  const { log, lines } = keepLines();
  const server = await startServer(t, PAGE_YAML, undefined, log);
  const { base, port } = server;
  const encoder = studioEncoder(t, port);
  t.equal(await encoder.answered(), 200);
  const kill = `${base}/admin/killsource?mount=/studio.mp3`;
  const seen: IncomingMessage[] = [];
  let away = kill;
  const elsewhere = await covers(t, seen, () => away);
  const { page } = await openPage(t, `${base}/admin`);
  t.match(await page.title(), /airsplice/, 'the browser knows the password');
  // Four channels are a list; the page of one has covers.
  await page.goto(`${base}/listen/demo`);
  const sees = (song: string) => page.locator('.song').filter({ hasText: song }).first().waitFor();

  await push(server, 'its own picture', `${elsewhere}/c.svg`);
  await sees('its own picture');
  await page.locator('.picture').first().waitFor({ state: 'visible' });
  await until(() => seen.length === 1, 10_000);
  t.equal(seen[0]!.headers.referer, undefined);

  const names = base.replace('127.0.0.1', 'localhost');
  const hostile = [kill, kill.replace(base, names), kill.replace('http:', 'https:'), `${kill}#.jpg`];
  for (const [i, cover] of hostile.entries()) {
    await push(server, `hostile ${i}`, cover);
    await sees(`hostile ${i}`);
  }
  for (const [i, to] of [kill, kill.replace(base, names), '/', 'http://127.0.0.1:1/'].entries()) {
    away = to;
    await push(server, `redirect ${i}`, `${elsewhere}/away?${i}`);
    await sees(`redirect ${i}`);
    await until(() => seen.some(({ url }) => url === `/away?${i}`), 10_000);
  }
  // What comes behind those shows that they are over.
  await push(server, 'the last one', `${elsewhere}/last.svg`);
  await sees('the last one');
  await until(() => seen.some(({ url }) => url === '/last.svg'), 10_000);
  t.strictSame(
    lines.filter(({ act }) => act === 'killsource'),
    [],
    'not even asked for',
  );
  t.notOk(encoder.closed);
});
