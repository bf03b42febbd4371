/**
 * The router's own table beside the OpenAPI document: every path that fastify serves is described with all its methods, and
 * nothing is described that is not served. What goes past fastify (http/router.ts) is listed here.
 */

import fastify from 'fastify';
import t from 'tap';
import { PLAYLIST_EXTENSIONS } from '../../src/http/stream/playlists.js';
import { operations } from '../kit/documents.js';
import { registerAll } from '../kit/routes.js';

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
  registerAll(app);
  await app.ready();
  t.teardown(() => app.close());
  t.strictSame([...operations().keys()].sort(), [...served, ...PAST_FASTIFY].sort());
});
