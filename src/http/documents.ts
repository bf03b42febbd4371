/**
 * The documents of the interface, for programs (`/openapi.json`, `/asyncapi.json`, `/schemas/record.json`) and for people (`/docs`).
 * Open to all, also to pages of other origins. The readable page takes everything from this host: its policy lets nothing else in.
 */

import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ApiDocuments } from '../docs/documents.js';
import { contentTag } from '../metadata/etag.js';
import { refuseWrites } from './methods.js';
import { matchesTag } from './reads.js';

/** Where `/docs` may take things from. The page styles itself from its script, and draws its icons from data: URLs. */
const POLICY = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self' 'unsafe-inline'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'self'",
};

/** Where the package serves the document beside the page, with the type of each. */
const COPIES: Readonly<Record<string, string>> = {
  '/docs/json': 'application/json; charset=utf-8',
  '/docs/yaml': 'application/x-yaml; charset=utf-8',
};

export function registerDocuments(app: FastifyInstance, documents: ApiDocuments): void {
  const body = Buffer.from(JSON.stringify(documents.openApi));
  serve(app, '/openapi.json', documents.openApi);
  serve(app, '/asyncapi.json', documents.asyncApi);
  serve(app, '/schemas/record.json', documents.record);
  // The package knows no HEAD.
  app.addHook('onRoute', (route) => {
    if (route.url.startsWith('/docs') && route.method === 'GET') route.method = ['GET', 'HEAD'];
    // The package renders these anew for each request. JSON is YAML (1.2) too, which would take it 300 ms.
    const type = COPIES[route.url];
    if (type !== undefined) route.handler = (_, reply) => reply.type(type).send(body);
  });
  for (const url of ['/docs', '/docs/', '/docs/*']) refuseWrites(app, url);
  // The types of these two know no document of version 3.1 that was not made by them.
  void app.register(swagger, { mode: 'static', specification: { document: documents.openApi as never } });
  void app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: POLICY,
    theme: { title: 'airsplice: the interface' },
    uiConfig: { layout: 'BaseLayout', docExpansion: 'list', defaultModelsExpandDepth: 0, supportedSubmitMethods: [] },
  });
}

function serve(app: FastifyInstance, url: string, document: object): void {
  const body = Buffer.from(JSON.stringify(document));
  const etag = `"${contentTag(body)}"`;
  const headers = { ETag: etag, 'Cache-Control': 'no-cache', 'Access-Control-Allow-Origin': '*' };
  app.route({
    method: ['GET', 'HEAD'],
    url,
    exposeHeadRoute: false,
    handler: (request: FastifyRequest, reply: FastifyReply) => {
      reply.headers(headers);
      if (matchesTag(request.headers['if-none-match'], etag)) return reply.code(304).send();
      return reply.type('application/json; charset=utf-8').send(body);
    },
  });
  refuseWrites(app, url);
}
