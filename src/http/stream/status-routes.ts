/**
 * The routes of statistics for tools (src/http/stream/README.md, "Statistics and playlists"). Figures of one channel are rendered for each
 * request, those of all channels once a second (shared-text.ts). Content types have no parameters, since readers compare them as a whole.
 */

import type { FastifyInstance, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { parameter } from '../../base/request-target.js';
import type { RouteDocs } from '../../docs/responses.js';
import * as docs from '../../docs/tune-in.js';
import { escapeMarkup } from '../markup.js';
import { publicRoute, type RouteRole } from '../methods.js';
import { publicStats, statusJson } from './icecast-status.js';
import { askedMount, channelOf, type StatusFacts } from './mount-status.js';
import { reachedAt, SharedText } from './shared-text.js';
import {
  nextSongs,
  serverElement,
  serverJson,
  serverXml,
  sevenHtml,
  streamJson,
  streamXml,
} from './shoutcast-status.js';

export const NO_STORE: Readonly<Record<string, string>> = {
  'Access-Control-Allow-Origin': '*',
  'Cache-Control': 'no-store',
};

const ROLE: RouteRole = { role: 'stream' };
const JSON_TYPE = 'application/json';
const XML_TYPE = 'text/xml';
const PUBLIC_STATS = '/admin/publicstats';

interface Answer {
  readonly type: string;
  readonly text: string;
}

export function registerStatus(app: FastifyInstance, facts: StatusFacts): void {
  const reachedBy = ({ raw }: FastifyRequest) => reachedAt(facts.publicUrl.of(raw));
  const icecast = new SharedText((reached) => statusJson(facts, reached), inJson);
  const icecastXml = new SharedText((reached) => publicStats(facts, reached), escapeMarkup);
  const shoutcast = new SharedText((reached) => serverJson(facts, reached), inJson);
  const shoutcastXml = new SharedText((reached) => serverXml(facts, reached), escapeMarkup);
  const streams = new SharedText((reached) => serverElement(facts, reached), escapeMarkup);
  const now = () => facts.clock.now();
  /** For the mount in the query, else all. */
  const ofIcecast = (all: SharedText, render: typeof statusJson, request: FastifyRequest, url: string) => {
    const [path, reached] = [askedMount(url), reachedBy(request)];
    return path === null ? all.for(reached, now()) : render(facts, reached, path);
  };

  type AnswerOf = (request: FastifyRequest, url: string) => Answer;
  const serve = (path: string, about: RouteDocs | undefined, answer: AnswerOf) => {
    const handler: RouteHandlerMethod = async (request, reply) => {
      const { type, text } = answer(request, request.raw.url!);
      // Sent as bytes, since fastify would add a charset to the type of a string.
      return reply.headers({ ...NO_STORE, 'Content-Type': type }).send(Buffer.from(text));
    };
    publicRoute(app, path, ROLE, handler, { docs: about });
  };
  const publicXml: AnswerOf = (request, url) => ({
    type: XML_TYPE,
    text: ofIcecast(icecastXml, publicStats, request, url),
  });

  serve('/status-json.xsl', docs.statusJson, (request, url) => ({
    type: isBare(request) ? XML_TYPE : JSON_TYPE,
    text: ofIcecast(icecast, statusJson, request, url),
  }));
  serve(PUBLIC_STATS, docs.publicStats, publicXml);
  // With the endings that Icecast's other paths below /admin have (http/admin/icecast-answer.ts).
  for (const ending of ['.xml', '.xsl']) serve(`${PUBLIC_STATS}${ending}`, undefined, publicXml);
  serve(`${PUBLIC_STATS}.json`, docs.publicStatsJson, (request, url) => ({
    type: JSON_TYPE,
    text: ofIcecast(icecast, statusJson, request, url),
  }));
  serve('/7.html', docs.sevenHtml, (_, url) => ({
    type: 'text/html',
    text: sevenHtml(channelOf(facts.channels, url)),
  }));
  serve('/stats', docs.stats, (request, url) => {
    const [channel, reached] = [channelOf(facts.channels, url), reachedBy(request)];
    if (wantsJson(url)) return { type: JSON_TYPE, text: streamJson(channel, facts, reached) };
    // Without sid and mount some readers expect the elements of the first stream, and some those of the whole server.
    const isAll = parameter(url, 'sid') === null && parameter(url, 'mount') === null;
    return { type: XML_TYPE, text: streamXml(channel, facts, reached, isAll ? streams.for(reached, now()) : '') };
  });
  serve('/statistics', docs.serverStatistics, (request, url) => {
    const reached = reachedBy(request);
    return wantsJson(url)
      ? { type: JSON_TYPE, text: shoutcast.for(reached, now()) }
      : { type: XML_TYPE, text: shoutcastXml.for(reached, now()) };
  });
  serve('/nextsongs', docs.nextSongs, (_, url) => ({
    type: XML_TYPE,
    text: nextSongs(channelOf(facts.channels, url)),
  }));
}

function wantsJson(url: string): boolean {
  return parameter(url, 'json') === '1';
}

/**
 * A client without User-Agent and Accept: node-internet-radio, which reads JSON only with the type `text/xml`, as in early Icecast 2.4. All
 * other clients that check the type send one of the two headers.
 */
function isBare({ headers }: FastifyRequest): boolean {
  return headers.accept === undefined && headers['user-agent'] === undefined;
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
