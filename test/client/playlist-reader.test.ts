/** The client's own reading of playlists, over a server that answers what the test says. */

import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { PlaylistReader } from '../../src/client/playlist-reader.js';
import { quietFor } from '../kit/pause.js';
import { until } from '../kit/until.js';

const MEDIA = '#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n1.mp3\n';
const variant = (path: string) => `#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n# a comment\n${path}\n`;

async function start(t: Test, answer: (path: string, response: ServerResponse) => string | null) {
  const asked: { readonly path: string; readonly atMs: number }[] = [];
  const server = createServer((request, response) => {
    asked.push({ path: request.url!, atMs: performance.now() });
    const text = answer(request.url!, response);
    if (text !== null) response.end(text);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const texts: string[] = [];
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const read = (path: string) => {
    const reader = new PlaylistReader(new URL(path, base), (text) => texts.push(text));
    t.teardown(() => reader.close());
    return reader;
  };
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { asked, texts, read, paths: () => asked.map(({ path }) => path) };
}

t.test('behind a redirect and a multivariant playlist, once in a target duration, until it is closed', async (t) => {
  const { asked, texts, read, paths } = await start(t, (path, response) => {
    if (path === '/a.m3u8?x=1') {
      response.writeHead(302, { Location: '/deep/b/hls.m3u8' });
      return '';
    }
    return path === '/deep/b/hls.m3u8' ? variant('hls/live.m3u8?s=1') : MEDIA;
  });
  const reader = read('/a.m3u8?x=1');
  await until(() => texts.length === 3, 10_000);
  const media = '/deep/b/hls/live.m3u8?s=1';
  t.strictSame(paths().slice(0, 5), ['/a.m3u8?x=1', '/deep/b/hls.m3u8', media, media, media]);
  t.ok(asked[4]!.atMs - asked[3]!.atMs > 900, 'not sooner than a second');
  reader.close();
  await quietFor(1500);
  t.equal(texts.length, 3);
});

t.test('what is no playlist: it begins anew, and slowly', async (t) => {
  let isBroken = false;
  const { texts, read, paths } = await start(t, (path, response) => {
    if (isBroken) response.statusCode = 403;
    return path === '/hls.m3u8' ? variant('live.m3u8') : MEDIA;
  });
  read('/hls.m3u8');
  await until(() => texts.length === 1, 10_000);
  isBroken = true;
  await until(() => paths().length === 3, 10_000);
  isBroken = false;
  await until(() => texts.length === 2, 20_000);
  t.strictSame(paths(), ['/hls.m3u8', '/live.m3u8', '/live.m3u8', '/hls.m3u8', '/live.m3u8']);
});

t.test('a multivariant playlist of itself, a page, a closed port: no loop, no word', async (t) => {
  const { texts, read, paths } = await start(t, (path) => (path === '/page' ? '<html>' : variant('self.m3u8')));
  read('/self.m3u8');
  read('/page');
  read('http://127.0.0.1:1/');
  await until(() => paths().length === 3, 10_000);
  await quietFor(1500);
  t.strictSame(paths().sort(), ['/page', '/self.m3u8', '/self.m3u8']);
  t.strictSame(texts, []);
});

t.test('closed while it waits for an answer', async (t) => {
  let held: ServerResponse | null = null;
  const { texts, read } = await start(t, (_, response) => {
    held = response;
    return null;
  });
  const reader = read('/live.m3u8');
  await until(() => held !== null, 10_000);
  reader.close();
  held!.end(MEDIA);
  await quietFor(300);
  t.strictSame(texts, []);
});
