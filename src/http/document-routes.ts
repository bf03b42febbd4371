/**
 * The API documents, for programs (`/openapi.json`, `/asyncapi.json`, `/schemas/record.json`) and for people (`/docs`, `/docs/messages`).
 * Public, with CORS for any origin. `/docs` loads everything from this host; its policy allows nothing else.
 */

import type http from 'node:http';
import type { FastifyInstance, RouteHandlerMethod } from 'fastify';
import type { Refusal } from '../base/refusal.js';
import { measured } from '../base/watchdog.js';
import type { ApiDocuments } from '../docs/documents.js';
import type { DescribedRoute } from '../docs/openapi.js';
import { ownDocument } from '../docs/operate.js';
import type { RouteDocs } from '../docs/responses.js';
import { readRoute } from './methods.js';
import { messagesPage } from './page/messages-page.js';
import { FOR_ALL, fileOf, HTML_TYPE, sendFile } from './page/page-files.js';
import { DOCS_POLICY_TEXT } from './page/page-policy.js';
import type { ServedFile } from './page/page-site.js';
import { JSON_TYPE } from './reads.js';

/** The routes that describe themselves, of those that are registered from now on. */
export function describedRoutes(app: FastifyInstance): readonly DescribedRoute[] {
  const routes: DescribedRoute[] = [];
  app.addHook('onRoute', ({ url, method, config }) => {
    if (config?.docs === undefined) return;
    const methods = [method].flat().filter((each) => each !== 'HEAD');
    routes.push({ url, methods: methods.map((each) => each.toLowerCase()), docs: config.docs });
  });
  return routes;
}

/**
 * @param documents called for each request: the first call takes 60 ms; resolves with other objects after a limit has changed
 * @param notFound the refusal of paths below `/docs` that do not exist
 */
export function registerDocuments(
  app: FastifyInstance,
  documents: () => Promise<ApiDocuments>,
  notFound: (request: http.IncomingMessage) => Refusal,
): void {
  const about = ownDocument('openApi', 'This document; a page for people is at /docs');
  const openApi = serve(app, '/openapi.json', about, async () => (await documents()).openApi);
  const messages = ownDocument('asyncApi', 'What WebSocket and server-sent events send');
  serve(app, '/asyncapi.json', messages, async () => (await documents()).asyncApi);
  readRoute(app, '/docs/messages', async (_, reply) => {
    reply.headers({ 'Cache-Control': 'no-cache', 'Content-Security-Policy': DOCS_POLICY_TEXT });
    return reply.type(HTML_TYPE).send(messagesPage((await documents()).asyncApi));
  });
  const record = ownDocument('recordSchema', 'The JSON Schema of the channel record');
  serve(app, '/schemas/record.json', record, async () => (await documents()).record);
  let page: Promise<FastifyInstance> | null = null;
  const loaded = async () => {
    try {
      const { docsPage } = await import('./page/docs-page.js');
      return await docsPage(app, openApi, notFound);
    } catch (error) {
      page = null; // the next request tries again
      throw error;
    }
  };
  const handler: RouteHandlerMethod = async (request, reply) => {
    page ??= loaded();
    const { routing } = await page;
    reply.hijack();
    routing(request.raw, reply.raw);
  };
  for (const url of ['/docs', '/docs/', '/docs/*']) readRoute(app, url, handler);
}

/** Registers the path of a document. Returns a function that resolves with its current body. */
function serve(
  app: FastifyInstance,
  url: string,
  docs: RouteDocs,
  read: () => Promise<object>,
): () => Promise<ServedFile> {
  let document: object | null = null;
  let served: ServedFile;
  const current = async () => {
    const now = await read();
    if (document !== now) {
      document = now;
      served = measured('document', () => fileOf(JSON_TYPE, Buffer.from(JSON.stringify(now))));
    }
    return served;
  };
  const handler: RouteHandlerMethod = async (request, reply) =>
    sendFile(request, reply, await current(), { ...FOR_ALL, 'Cache-Control': 'no-cache' });
  readRoute(app, url, handler, { docs });
  return current;
}
