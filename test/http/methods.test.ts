/** Which methods each path takes: whatever else comes is 405 with Allow, before a body is looked at; unknown paths are 404. */

import t from 'tap';
import { demoYaml, startServer } from '../kit/server.js';
import { until, untilPromised } from '../kit/until.js';
import { ask, ENDS_MS, Wire } from '../kit/wire.js';

// They wait more than they compute.
t.jobs = 4;

const READ = 'GET, HEAD';
const PUSH = 'GET, POST';
const CORS_READ = 'GET, HEAD, OPTIONS';
const ADMIN = 'GET, POST, OPTIONS';

/** Every path of the server's own, and what it takes. */
const TABLE: readonly (readonly [path: string, allow: string])[] = [
  ['/', READ],
  ['/favicon.ico', READ],
  ['/web/page.css', READ],
  ['/web/page.js', READ],
  ['/web/channels.json', READ],
  ['/client.js', READ],
  ['/web/client/client.js', READ],
  ['/docs', READ],
  ['/docs/', READ],
  ['/docs/json', READ],
  ['/docs/static/swagger-ui.css', READ],
  ['/openapi.json', READ],
  ['/asyncapi.json', READ],
  ['/schemas/record.json', READ],
  ['/healthz', READ],
  ['/readyz', READ],
  ['/metrics', READ],
  ['/metapush/demo/demo-token', PUSH],
  ['/metapush/demo/wrong', PUSH],
  ['/metapush/demo', PUSH],
  ['/metadata/channel/demo.json', CORS_READ],
  ['/metadata/channel/demo/history.csv', CORS_READ],
  ['/metadata/channel/demo', CORS_READ],
  ['/metadata/sse/channel/demo', CORS_READ],
  ['/demo.mp3', CORS_READ],
  ['/demo.mp3.m3u', CORS_READ],
  ['/demo.pls', CORS_READ],
  ['/demo.xspf', CORS_READ],
  ['/status-json.xsl', CORS_READ],
  ['/7.html', CORS_READ],
  ['/stats', CORS_READ],
  ['/statistics', CORS_READ],
  ['/nextsongs', CORS_READ],
  ['/admin/publicstats', CORS_READ],
  ['/admin/metadata', ADMIN],
  ['/admin.cgi', ADMIN],
];
const METHODS = ['HEAD', 'POST', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE'];
/** A PUT anywhere else is an encoder's (front.ts). */
const TAKES_PUT = /^\/meta(push|data)\//;

t.test('what a path does not take is 405 with Allow, whatever the body is', async (t) => {
  const { port } = await startServer(t, demoYaml());
  for (const [path, allow] of TABLE) {
    for (const method of TAKES_PUT.test(path) ? [...METHODS, 'PUT'] : METHODS) {
      if (allow.split(', ').includes(method)) continue;
      const body = method === 'TRACE' || method === 'HEAD' ? '' : 'a,b';
      const headers = body === '' ? '' : '\nContent-Type: text/csv\nContent-Length: 3';
      const answer = await ask(t, port, `${method} ${path} HTTP/1.1${headers}`, body);
      t.equal(answer.status, 405, `${method} ${path}`);
      t.equal(answer.headers.get('allow'), allow, `${method} ${path}`);
    }
    if (!allow.includes('HEAD')) continue;
    const [got, head] = [
      path === '/demo.mp3' || path.includes('sse') ? undefined : await ask(t, port, `GET ${path} HTTP/1.1`),
      await ask(t, port, `HEAD ${path} HTTP/1.1`),
    ];
    if (got !== undefined) t.equal(head.status, got.status, `HEAD ${path} as GET`);
  }
  for (const path of ['/none', '/metapush', '/metadata/planet/x.json', '/admin', '/docs/nothing']) {
    t.equal((await ask(t, port, `GET ${path} HTTP/1.1`)).status, 404, path);
  }
});

t.test('OPTIONS of the addresses for titles of encoders names the methods', async (t) => {
  const { port } = await startServer(t, demoYaml());
  for (const path of ['/admin/metadata?mount=/studio', '/admin.cgi']) {
    const answer = await ask(t, port, `OPTIONS ${path} HTTP/1.1`);
    t.equal(answer.status, 204, path);
    t.equal(answer.headers.get('allow'), ADMIN);
    t.equal(answer.body, '');
  }
});

/** Roles of the address → what a mount without an encoder takes there, and one with. */
const MOUNTS: readonly (readonly [roles: string, file: string, studio: string])[] = [
  ['', 'GET, HEAD, OPTIONS', 'GET, HEAD, OPTIONS, PUT, SOURCE'],
  [', roles: [stream]', 'GET, HEAD, OPTIONS', 'GET, HEAD, OPTIONS'],
  [', roles: [encoder]', 'OPTIONS', 'OPTIONS, PUT, SOURCE'],
];

t.test('OPTIONS and 405 of a mount name the methods that the address serves there', async (t) => {
  for (const [roles, file, studio] of MOUNTS) {
    const { port } = await startServer(t, demoYaml().replace('port: 0 }', `port: 0${roles} }`));
    for (const [path, allow] of Object.entries({ '/demo.mp3': file, '/demo': file, '/studio.mp3': studio })) {
      const wire = new Wire(t, port).send(`OPTIONS ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
      const [answer] = await wire.take(1);
      t.strictSame([answer!.status, answer!.headers.get('allow')], [204, allow], `OPTIONS ${path}${roles}`);
      const post = await ask(t, port, `POST ${path} HTTP/1.1`);
      if (allow.startsWith('GET')) {
        const pages = answer!.headers.get('access-control-allow-methods');
        t.equal(pages, 'GET, HEAD, OPTIONS', 'pages of other origins may listen, whatever else is taken');
        t.strictSame([post.status, post.headers.get('allow')], [405, allow], `POST ${path}${roles}`);
      } else {
        t.equal(post.status, 404, 'no listeners here');
        await wire.untilClosed();
      }
    }
  }
});

t.test('an encoder does not follow on a connection that HTTP has: that is closed', async (t) => {
  for (const roles of ['', ', roles: [encoder]']) {
    const { port } = await startServer(t, demoYaml().replace('port: 0 }', `port: 0${roles} }`));
    const asked = new Wire(t, port).send('OPTIONS /studio HTTP/1.1\r\nHost: x\r\n\r\n');
    await asked.untilClosed();
    t.match(asked.got, /\r\nConnection: close\r\n/i);
    for (const method of ['PUT', 'SOURCE']) {
      const wire = new Wire(t, port).send('OPTIONS /admin/metadata HTTP/1.1\r\nHost: x\r\n\r\n');
      await wire.take(1);
      wire.send(`${method} /studio HTTP/1.1\r\nHost: x\r\n\r\n`);
      const [, refused] = await wire.take(2);
      t.equal(refused!.status, 405, `${method}${roles}`);
      t.match(refused!.json().detail, /reconnect, and begin with (PUT|SOURCE)\.$/);
      t.match(refused!.headers.get('allow'), /PUT, SOURCE$/);
      await wire.untilClosed();
    }
  }
  const { port } = await startServer(t, demoYaml());
  const wire = new Wire(t, port).send('OPTIONS /demo.mp3 HTTP/1.1\r\nHost: x\r\n\r\n');
  await wire.take(1);
  const [, post] = await wire.send('POST /demo.mp3 HTTP/1.1\r\nHost: x\r\n\r\n').take(2);
  t.equal(post!.json().detail, 'Listen to a mount with GET.', 'no encoder can feed this one: its connection stays');
});

t.test('of the server as a whole, and an encoder at an address that takes none', async (t) => {
  const server = await startServer(t, demoYaml());
  const star = new Wire(t, server.port).send('OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  await untilPromised(() => star.ended, ENDS_MS);
  t.match(star.got, /^HTTP\/1\.1 204 No Content\r\nAllow: GET, HEAD, POST, OPTIONS, PUT, SOURCE\r\n/);
  const yaml = demoYaml().replace('port: 0 }', 'port: 0, roles: [stream, push] }');
  const { port } = await startServer(t, yaml);
  const put = 'PUT /studio HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nConnection: close\r\n';
  const encoder = new Wire(t, port).send(`${put}Transfer-Encoding: chunked\r\n\r\n`);
  await until(() => encoder.got.includes('\r\n\r\n'), 2000);
  t.match(encoder.got, /^HTTP\/1\.1 405 /, 'no 100 before the refusal');
});
