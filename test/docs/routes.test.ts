/**
 * The router's own table beside the OpenAPI document: every path that fastify serves is described with all its methods, and
 * nothing is described that is not served. What goes past fastify (http/router.ts) is listed here.
 */

import fastify from 'fastify';
import t from 'tap';
import { registerAdmin } from '../../src/http/admin/api.js';
import { registerStatistics } from '../../src/http/admin/statistics-routes.js';
import { registerDocuments } from '../../src/http/document-routes.js';
import { registerHeard } from '../../src/http/heard-route.js';
import { registerOps } from '../../src/http/ops.js';
import { registerPage } from '../../src/http/page/page-routes.js';
import { registerPush } from '../../src/http/push-routes.js';
import { PLAYLIST_EXTENSIONS, registerPlaylists } from '../../src/http/stream/playlists.js';
import { registerStations } from '../../src/http/stream/stations-list.js';
import { registerStatus } from '../../src/http/stream/status-routes.js';
import { registerStreamInfo } from '../../src/http/stream/stream-info-file.js';
import { operations } from '../kit/documents.js';

/** Pages for people, and what they are made of. */
const PAGES = /^\/($|web\/|(listen|embed)\/(?!.*\.json$)|admin(\/?$|\/web\/|\/login$)|docs(\/|$)|favicon\.ico$)/;
/** Icecast's paths under other names, which answer the same: the description of each says so in words. */
const ALIASES = /^\/admin\/(\w+\.(xml|xsl)|(kill\w+|moveclients|fallbacks)\.json)$/;

/** What the router hands to services, by the service that takes it. */
const PAST_FASTIFY = [
  ...['channel/{channelkey}.json', 'channel/{channelkey}.txt', 'station/{stationkey}.json', 'listener/{metaid}.json'],
  ...['channel/{channelkey}/history.json', 'channel/{channelkey}/history.csv', 'channel/{channelkey}/history.rss'],
  'channel/{channelkey}/cover/{name}',
  ...['channel/{channelkey}', 'station/{stationkey}', 'listener/{metaid}'],
  ...['sse/channel/{channelkey}', 'sse/station/{stationkey}', 'sse/listener/{metaid}'],
]
  .map((path) => `/metadata/${path}`)
  .concat('/{mount}', '/{mount}/hls.m3u8', '/{mount}/hls/live.m3u8', '/{mount}/hls/rewind.m3u8')
  .concat('/{mount}/hls/{segment}', '/{mount}.m3u8')
  .flatMap((path) => ['GET', 'HEAD', 'OPTIONS'].map((method) => `${method} ${path}`))
  .concat(
    ['/admin/metadata', '/admin.cgi'].flatMap((path) => ['GET', 'POST', 'OPTIONS'].map((each) => `${each} ${path}`)),
  );

t.test('paths and methods are those of the router', async (t) => {
  const app = fastify({ exposeHeadRoutes: false });
  const served = new Set<string>();
  app.addHook('onRoute', ({ method, url, onRequest }) => {
    const path = url
      .replace(/:channel(key)?/, '{channelkey}')
      .replace(':token', '{token}')
      .replace(':metaid', '{metaid}')
      .replace(/:(id|network)/, '{$1}');
    // Those that are only refused (http/methods.ts) have nothing but that hook; HEAD of a push is described, since people ask.
    const methods = [method].flat();
    const isRefusal = methods.length > 2 && onRequest !== undefined;
    // One route for all of them.
    if (path === '/*') {
      for (const each of isRefusal ? [] : methods)
        for (const extension of PLAYLIST_EXTENSIONS) served.add(`${each} /{mount}.${extension}`);
      return;
    }
    for (const each of methods) {
      if (!PAGES.test(path) && !ALIASES.test(path) && (!isRefusal || (each === 'HEAD' && path.startsWith('/metapush'))))
        served.add(`${each} ${path}`);
    }
  });
  registerPush(app, {} as never, () => ({ pushBodyBytes: 1 }) as never, {} as never);
  registerHeard(app, {} as never, () => 1);
  registerAdmin(app, {} as never, {} as never);
  registerStatistics(app, {} as never);
  registerOps(
    app,
    { ready: true, metricsType: 'text/plain', metrics: async () => '', cluster: async () => null },
    {} as never,
  );
  registerPage(app, {} as never);
  registerPlaylists(app, { channels: [{ paths: ['/{mount}'] } as never] }, {} as never);
  registerStatus(app, {} as never);
  registerStreamInfo(app, { channels: [] });
  registerStations(app, { stations: [] } as never);
  const empty = { openApi: {}, asyncApi: {}, record: {} };
  registerDocuments(app, async () => empty, {} as never);
  await app.ready();
  t.teardown(() => app.close());
  t.strictSame([...operations().keys()].sort(), [...served, ...PAST_FASTIFY].sort());
});
