/**
 * The form by which an operator logs in. Its policy allows submitting it to this origin only. It works without scripts; its script only adds the
 * page's fragment (such as a channel) to the form's address, so that the redirect keeps it. The server never sees it.
 */

import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { html } from '../page/markup-template.js';
import { HTML_TYPE } from '../page/page-files.js';
import { ADMIN_HEADERS } from './admin-access.js';

interface LoginPage {
  /** The form's target, relative to the page. */
  readonly action: 'login' | 'admin/login';
  /** Why the form is shown again; "": it is not. */
  readonly trouble: string;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The colours of the operator page (src/web/admin/admin.css). */
const STYLE = `html{color-scheme:light dark;background:#f4f3ef;color:#1b1f1e;font:1rem/1.45 system-ui,sans-serif}
body{display:grid;place-content:center;min-height:90vh;margin:0;padding:1rem}
main{width:min(20rem,calc(100vw - 2rem))}h1{font-size:1.5rem;margin:0 0 1rem}
label{display:block;font-weight:600;margin:.75rem 0 .25rem}
input,button{box-sizing:border-box;width:100%;min-height:2.75rem;padding:.3rem .75rem;font:inherit;color:inherit;border:1px solid #8a8f8c;border-radius:.5rem;background:#fff}
button{margin-top:1.25rem;color:#fff;border-color:#176b61;background:#176b61;cursor:pointer}
:focus-visible{outline:2px solid #176b61;outline-offset:2px}.trouble{color:#a3271f;font-weight:600;margin:0}
@media(prefers-color-scheme:dark){html{background:#14171a;color:#eceeed}input{background:#1d2125}button{color:#0d211e;background:#6fd0c0}
:focus-visible{outline-color:#6fd0c0}.trouble{color:#ff9f96}}`;
const SCRIPT = 'const form=document.forms[0],to=form.action;form.onsubmit=()=>{form.action=to+location.hash}';
const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const HEADERS = {
  ...ADMIN_HEADERS,
  'Content-Type': HTML_TYPE,
  'Content-Security-Policy': `default-src 'none'; script-src ${hashOf(SCRIPT)}; style-src ${hashOf(STYLE)}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  // With no-referrer a browser would send `Origin: null` with the form.
  'Referrer-Policy': 'same-origin',
  Vary: 'Accept, Cookie',
};

export function sendLoginPage(reply: FastifyReply, { action, trouble, status, headers = {} }: LoginPage): FastifyReply {
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex"><title>Log in · airsplice</title>${html([`<style>${STYLE}</style>`])}</head>
<body><main><h1>Log in to airsplice</h1>${trouble !== '' && html`<p class="trouble" role="alert">${trouble}</p>`}
<form method="post" action="${action}">
<label for="user">User</label><input id="user" name="user" required maxlength="64" autocomplete="username" autocapitalize="none" spellcheck="false" autofocus>
<label for="password">Password</label><input id="password" name="password" type="password" required autocomplete="current-password">
<button type="submit">Log in</button>
</form></main>${html([`<script>${SCRIPT}</script>`])}</body></html>
`;
  return reply
    .code(status)
    .headers({ ...headers, ...HEADERS })
    .send(page.toString());
}
