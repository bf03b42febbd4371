/**
 * The documents of the interface, for programs (`/openapi.json`, `/asyncapi.json`, `/schemas/record.json`) and for people (`/docs`,
 * `/docs/messages`).
 * Open to all, with CORS for any origin. `/docs` loads everything from this host; its policy allows nothing else.
 */

import swagger from '@fastify/swagger';
import swaggerUi, { type FastifySwaggerUiConfigOptions } from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { measured } from '../base/watchdog.js';
import type { ApiDocuments } from '../docs/documents.js';
import { contentTag } from '../metadata/etag.js';
import { readRoute, refuseWrites } from './methods.js';
import { THEME_SCRIPT, THEME_STYLE } from './page/docs-theme.js';
import { messagesPage } from './page/messages-page.js';
import { matchesTag } from './reads.js';

/** The policy of `/docs`. Its script sets styles, and its icons are data: URLs. */
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

const POLICY_TEXT = Object.entries(POLICY)
  .map(([name, value]) => `${name} ${value}`)
  .join('; ');

/** Paths at which the package serves copies of the document, with their types. */
const COPIES: Readonly<Record<string, string>> = {
  '/docs/json': 'application/json; charset=utf-8',
  '/docs/yaml': 'application/x-yaml; charset=utf-8',
};

/** @param documents called for each request; returns other objects after a limit has changed. Made on the first request: it takes 60 ms */
export function registerDocuments(app: FastifyInstance, documents: () => Promise<ApiDocuments>): void {
  const openApi = serve(app, '/openapi.json', async () => (await documents()).openApi);
  serve(app, '/asyncapi.json', async () => (await documents()).asyncApi);
  readRoute(app, '/docs/messages', async (_, reply) => {
    reply.headers({ 'Cache-Control': 'no-cache', 'Content-Security-Policy': POLICY_TEXT });
    return reply.type('text/html; charset=utf-8').send(messagesPage((await documents()).asyncApi));
  });
  serve(app, '/schemas/record.json', async () => (await documents()).record);
  // The package registers no HEAD.
  app.addHook('onRoute', (route) => {
    if (route.url.startsWith('/docs') && route.method === 'GET') route.method = ['GET', 'HEAD'];
    // The package would render these for each request, YAML in 300 ms. JSON is valid YAML 1.2.
    const type = COPIES[route.url];
    if (type !== undefined) route.handler = async (_, reply) => reply.type(type).send((await openApi()).body);
  });
  for (const url of ['/docs', '/docs/', '/docs/*']) refuseWrites(app, url);
  // The page needs the package; its documents are replaced above.
  void app.register(swagger, { mode: 'static', specification: { document: {} as never } });
  void app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: POLICY,
    theme: {
      title: 'airsplice: the interface',
      css: [{ filename: 'theme.css', content: THEME_STYLE }],
      js: [{ filename: 'theme.js', content: THEME_SCRIPT }],
    },
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
 * A plugin that runs in the page: only its source text is used. Allows to try out reads that end; not pushes and acts of Icecast, which may be GET
 * too, nor streams and events.
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

/** Registers the path of a document. Returns what gives its current body. */
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
  readRoute(app, url, async (request, reply) => {
    const { body, etag } = await current();
    reply.headers({ ETag: etag, 'Cache-Control': 'no-cache', 'Access-Control-Allow-Origin': '*' });
    if (matchesTag(request.headers['if-none-match'], etag)) return reply.code(304).send();
    return reply.type('application/json; charset=utf-8').send(body);
  });
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
