/**
 * The operator page: `/admin`, and its modules and styles below `/admin/web/`. Like all paths here it requires a user: a browser without credentials
 * gets the login form. The page loads nothing from other hosts, and cannot be framed.
 */

import { readdirSync, readFileSync } from 'node:fs';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { codeFile } from '../../base/own-files.js';
import { Refusal } from '../../base/refusal.js';
import { readRoute } from '../methods.js';
import { prefersHtml } from '../page/error-page.js';
import { CSS_TYPE, fileOf, HTML_TYPE, SCRIPT_TYPE, sendFile } from '../page/page-files.js';
import type { ServedFile } from '../page/page-site.js';
import { ADMIN_HEADERS, ADMIN_ROLE, type AdminAccess } from './admin-access.js';
import { sendLoginPage } from './login-page.js';

/** Allows only its own files, and no inline scripts. */
const PAGE_HEADERS = {
  ...ADMIN_HEADERS,
  'Cache-Control': 'private, no-cache',
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    'img-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
};
/** Not Basic: the browser would ask for the password itself. */
const LOGIN_ONLY = 'Bearer realm="airsplice admin"';
const TYPES: Readonly<Record<string, string>> = {
  html: HTML_TYPE,
  css: CSS_TYPE,
  js: SCRIPT_TYPE,
};

/** @throws Error if its files are missing (a broken installation) */
export function registerAdminPage(app: FastifyInstance, access: AdminAccess): void {
  const folder = codeFile('web/admin/');
  for (const name of readdirSync(folder)) {
    const type = TYPES[name.slice(name.lastIndexOf('.') + 1)];
    if (type === undefined) continue;
    const url = name === 'index.html' ? '/admin' : `/admin/web/${name}`;
    serve(app, access, url, fileOf(type, readFileSync(new URL(name, folder))));
  }
  const moved: RouteHandlerMethod = (_, reply) =>
    reply.headers(ADMIN_HEADERS).code(308).header('Location', '../admin').send();
  readRoute(app, '/admin/', moved, { config: ADMIN_ROLE });
}

/** A person without credentials gets the form; programs, and wrong credentials, are refused as on all paths. */
function askToLogIn(error: FastifyError, { headers }: FastifyRequest, reply: FastifyReply): void {
  const isNobody = error instanceof Refusal && error.kind === 'unauthorized' && headers.authorization === undefined;
  if (!isNobody || !prefersHtml(headers.accept ?? '')) throw error;
  sendLoginPage(reply, {
    action: 'admin/login',
    trouble: '',
    status: 401,
    headers: { 'WWW-Authenticate': LOGIN_ONLY },
  });
}

function serve(app: FastifyInstance, access: AdminAccess, url: string, file: ServedFile): void {
  readRoute(app, url, (request, reply) => sendFile(request, reply, file, PAGE_HEADERS), {
    config: ADMIN_ROLE,
    preParsing: async (request, reply) => void (await access.require(request, reply, 'read')),
    ...(url === '/admin' && { errorHandler: askToLogIn }),
  });
}
