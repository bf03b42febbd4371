/**
 * The documents of the interface, for programs (`/openapi.json`, `/asyncapi.json`, `/schemas/record.json`) and for people (`/docs`).
 * Open to all, also to pages of other origins. The readable page takes everything from this host: its policy lets nothing else in.
 */

import swagger from '@fastify/swagger';
import swaggerUi, { type FastifySwaggerUiConfigOptions } from '@fastify/swagger-ui';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { measured } from '../base/watchdog.js';
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

/** @param documents as they are now: others where a limit that they name has changed. Asked for with the first request: they take 60 ms to make */
export function registerDocuments(app: FastifyInstance, documents: () => Promise<ApiDocuments>): void {
  const openApi = serve(app, '/openapi.json', async () => (await documents()).openApi);
  serve(app, '/asyncapi.json', async () => (await documents()).asyncApi);
  serve(app, '/schemas/record.json', async () => (await documents()).record);
  // The package knows no HEAD.
  app.addHook('onRoute', (route) => {
    if (route.url.startsWith('/docs') && route.method === 'GET') route.method = ['GET', 'HEAD'];
    // The package renders these anew for each request. JSON is YAML (1.2) too, which would take it 300 ms.
    const type = COPIES[route.url];
    if (type !== undefined) route.handler = async (_, reply) => reply.type(type).send((await openApi()).body);
  });
  for (const url of ['/docs', '/docs/', '/docs/*']) refuseWrites(app, url);
  // What it would show itself is replaced above.
  void app.register(swagger, { mode: 'static', specification: { document: {} as never } });
  void app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: POLICY,
    theme: { title: 'airsplice: the interface' },
    uiConfig: {
      layout: 'BaseLayout',
      docExpansion: 'list',
      defaultModelsExpandDepth: 0,
      supportedSubmitMethods: ['get'],
      plugins: [onlyReads],
    } as FastifySwaggerUiConfigOptions,
  });
}

/**
 * A plugin of the page, which runs there: its text is all that is taken of it. What can be tried out is a read that ends; not a push or
 * one of Icecast's acts, which GET can be too, a stream, or events.
 */
function onlyReads() {
  return {
    statePlugins: {
      spec: {
        wrapSelectors: {
          allowTryItOutFor: () => (_state: unknown, path: string, method: string) =>
            method === 'get' &&
            !/^\/(metapush|admin\.cgi|\{mount\}$|metadata\/sse|metadata\/\w+\/\{\w+\}$)/.test(path) &&
            !/^\/admin\/(metadata|kill\w+|moveclients|fallbacks|api\/events|api\/log)$/.test(path),
        },
      },
    },
  };
}

/** Returns the body as it is served. */
function serve(app: FastifyInstance, url: string, read: () => Promise<object>): () => Promise<ServedDocument> {
  let document: object | null = null;
  let served: ServedDocument;
  const current = async () => {
    const now = await read();
    if (document !== now) {
      document = now;
      served = measured('document', () => servedDocument(now));
    }
    return served;
  };
  app.route({
    method: ['GET', 'HEAD'],
    url,
    exposeHeadRoute: false,
    handler: async (request: FastifyRequest, reply: FastifyReply) => {
      const { body, etag } = await current();
      reply.headers({ ETag: etag, 'Cache-Control': 'no-cache', 'Access-Control-Allow-Origin': '*' });
      if (matchesTag(request.headers['if-none-match'], etag)) return reply.code(304).send();
      return reply.type('application/json; charset=utf-8').send(body);
    },
  });
  refuseWrites(app, url);
  return current;
}

interface ServedDocument {
  readonly body: Buffer;
  readonly etag: string;
}

function servedDocument(document: object): ServedDocument {
  const body = Buffer.from(JSON.stringify(document));
  return { body, etag: `"${contentTag(body)}"` };
}
