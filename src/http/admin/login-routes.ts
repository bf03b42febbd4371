/**
 * Logging in and out of the operator page. `POST /admin/login` accepts a form from this origin, limited by the secret gate; `POST /admin/logout` ends
 * the login in all processes. The cookie has no Path: browsers use that of the request, `…/admin`, which is right below a proxy's path too.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '../../base/refusal.js';
import { actDocs } from '../../docs/admin-docs.js';
import { auditDone } from '../audit.js';
import { described, refuseOthers } from '../methods.js';
import { refuseForeign } from '../origin.js';
import { ADMIN_ROLE, wrongForm } from './admin-access.js';
import { LOGIN_COOKIE } from './admin-logins.js';
import { sendLoginPage } from './login-page.js';
import type { AdminParts } from './parts.js';

const BODY_BYTES = 2048;
const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;
const LOG_IN = 'log in';
const LOG_OUT = 'log out';

export function registerLogin(app: FastifyInstance, parts: AdminParts): void {
  const path = '/admin/login';
  app.route({
    method: 'POST',
    url: path,
    config: ADMIN_ROLE,
    bodyLimit: BODY_BYTES,
    preParsing: async (request) => {
      refuseForeign(request);
      if (!FORM_TYPE.test(request.headers['content-type'] ?? ''))
        throw new Refusal('unsupported-media-type', 'The body must be a form (application/x-www-form-urlencoded).');
    },
    handler: (request, reply) => logIn(parts, request, reply),
  });
  app.route({
    method: 'GET',
    url: path,
    config: ADMIN_ROLE,
    exposeHeadRoute: false,
    handler: (_, reply) => reply.code(303).header('Location', '../admin').send(),
  });
  refuseOthers(app, path, 'GET, POST', 'This path does not support this method.', ADMIN_ROLE);
  registerLogout(app, parts);
}

async function logIn(parts: AdminParts, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { access, queries, log } = parts;
  const { logins } = access;
  const form = new URLSearchParams(String(request.body ?? ''));
  const [name, password] = [form.get('user') ?? '', form.get('password') ?? ''];
  try {
    const user = await access.logIn(request, reply, name, password);
    if (!logins.isReady) await queries.hub('beginLogins', null);
    if (!logins.isReady) throw new Refusal('unavailable', 'The server is starting. Try again.');
    const begun = logins.begin(user.name);
    // A reload may have removed the password while the key was generated.
    if (begun === null) throw wrongForm();
    const { value, seconds } = begun;
    auditDone(log, user, LOG_IN, {});
    return reply
      .code(303)
      .header('Set-Cookie', cookie(value, seconds, parts.isSecure(request.raw)))
      .header('Location', '../admin')
      .send();
  } catch (error) {
    if (!(error instanceof Refusal) || error.kind === 'not-found') throw error;
    return sendLoginPage(reply, {
      action: 'login',
      trouble: error.message,
      status: error.status,
      headers: error.headers,
    });
  }
}

function registerLogout(app: FastifyInstance, { access, queries, log, isSecure }: AdminParts): void {
  const path = '/admin/logout';
  const summary = 'End the login of the operator page that the cookie names';
  const docs = actDocs({ right: [] }, { id: 'adminLogOut', summary });
  app.route({
    method: 'POST',
    url: path,
    config: described(docs, ADMIN_ROLE),
    bodyLimit: BODY_BYTES,
    handler: async (request, reply) => {
      // Needs no right: a reload may have removed the user's rights, and the login must end all the same.
      const user = await access.require(request, reply, [], LOG_OUT);
      const { login } = user;
      if (login === undefined)
        throw new Refusal('conflict', 'There is no login session: the request came with a password or a token.');
      const { id, untilMs } = login;
      await queries.hub('endLogin', { id, user: login.user, untilMs });
      auditDone(log, user, LOG_OUT, {});
      return reply
        .code(204)
        .header('Set-Cookie', cookie('', 0, isSecure(request.raw)))
        .send();
    },
  });
  refuseOthers(app, path, 'POST', 'This path does not support this method.', ADMIN_ROLE);
}

function cookie(value: string, seconds: number, isSecure: boolean): string {
  return `${LOGIN_COOKIE}=${value}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
}
