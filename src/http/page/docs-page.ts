/**
 * `/docs`: Swagger UI, in an application of its own that is made on the first request. Loading the package and registering its files takes a tenth
 * of a start, and blocks the event loop twice for about 50 ms, once in the life of a process.
 */

import type http from 'node:http';
import swagger from '@fastify/swagger';
import swaggerUi, { type FastifySwaggerUiConfigOptions } from '@fastify/swagger-ui';
import fastify, { type FastifyInstance } from 'fastify';
import type { Refusal } from '../../base/refusal.js';
import { APP_OPTIONS } from '../methods.js';
import { JSON_TYPE } from '../reads.js';
import { THEME_SCRIPT, THEME_STYLE } from './docs-theme.js';
import { DOCS_POLICY } from './page-policy.js';

/** Paths at which the package serves copies of the document, with their content types. */
const COPIES: Readonly<Record<string, string>> = {
  '/docs/json': JSON_TYPE,
  '/docs/yaml': 'application/x-yaml; charset=utf-8',
};

/**
 * @param main its error handler answers errors
 * @param openApi resolves with the current document
 * @param notFound the refusal of paths that do not exist
 * @returns an application that is ready; `routing` answers GET and HEAD of paths below `/docs`
 */
export async function docsPage(
  main: FastifyInstance,
  openApi: () => Promise<{ readonly body: Buffer }>,
  notFound: (request: http.IncomingMessage) => Refusal,
): Promise<FastifyInstance> {
  const app = fastify(APP_OPTIONS);
  app.setErrorHandler(main.errorHandler);
  app.setNotFoundHandler(({ raw }) => {
    throw notFound(raw);
  });
  app.addHook('onRoute', (route) => {
    // The package registers no HEAD.
    if (route.method === 'GET') route.method = ['GET', 'HEAD'];
    // The package would render these for each request (YAML: 300 ms). JSON is valid YAML 1.2.
    const type = COPIES[route.url];
    if (type !== undefined) route.handler = async (_, reply) => reply.type(type).send((await openApi()).body);
  });
  // The page needs this package; the hook above replaces its documents.
  await app.register(swagger, { mode: 'static', specification: { document: {} as never } });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: DOCS_POLICY,
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
  await app.ready();
  return app;
}

/**
 * A plugin that runs in the page: only its source text is used. Readers can try out reads that end, but neither pushes nor Icecast's acts, which may
 * be GET too, nor streams and events.
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
