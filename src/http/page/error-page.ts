/**
 * Refusals as pages, for people who open an address that does not exist, or that is not available to them (src/http/README.md, "Errors"). Clients
 * whose Accept does not name HTML get problem+json. No page repeats any part of the request.
 */

import { createHash } from 'node:crypto';
import { REFUSALS, type Refusal, type RefusalHelp, type RefusalKind } from '../../base/refusal.js';
import { weighted } from '../reads.js';
import { html, type Markup } from './markup-template.js';
import { Languages } from './page-texts.js';

/** The headers that decide which answer a request gets. */
export interface AskedFor {
  readonly accept?: string | undefined;
  readonly 'accept-language'?: string | undefined;
}

export interface ErrorPage {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

const STATUSES: readonly number[] = [401, 403, 404, 503];
/** Refusals that have translated texts; the others are shown in English. */
const TEXTS: Partial<Record<RefusalKind, string>> = {
  unauthorized: 'error401',
  'not-admitted': 'error403',
  'not-found': 'error404',
  unavailable: 'error503',
};
const JSON_TYPES: readonly string[] = ['application/json', 'application/problem+json'];
const STYLE = `html{color-scheme:light dark;background:#f3f4f2;color:#171b1a;font:1.125rem/1.5 system-ui,sans-serif}
body{display:grid;place-content:center;min-height:90vh;max-width:34rem;margin:0 auto;padding:1.5rem}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 .5rem}p{margin:0 0 1.25rem}pre{margin:-.75rem 0 1.25rem;white-space:pre-wrap;overflow-wrap:anywhere;font-size:1rem}a{color:inherit}
@media(prefers-color-scheme:dark){html{background:#121517;color:#f1f3f2}}`;
const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'`,
  'X-Content-Type-Options': 'nosniff',
  Vary: 'Accept, Accept-Language',
};

/** Configuration of these pages. */
export interface ErrorPageFacts {
  readonly languages: Languages;
  /** The path of the stations' page in browsers: `/`, or below a proxy's path. */
  readonly startPath: string;
}

/** Null: the defaults of a server without a configuration. */
let facts: ErrorPageFacts | null = null;

/** For the whole process, since the code that renders refusals has no configuration. */
export function setErrorPages(own: ErrorPageFacts): void {
  facts = own;
}

/** Null: the refusal goes out as problem+json. */
export function errorPage({ kind, status, message, errors, help }: Refusal, asked: AskedFor): ErrorPage | null {
  if (!STATUSES.includes(status) || errors.length > 0 || !prefersHtml(asked.accept ?? '')) return null;
  facts ??= { languages: new Languages({}), startPath: '/' };
  const { languages, startPath } = facts;
  // Help is for operators, and in English.
  const text = help.length > 0 ? undefined : TEXTS[kind];
  const language = text === undefined ? 'en' : languages.languageOf('', asked['accept-language']);
  const texts = languages.texts(language)!;
  const title = text === undefined ? (help.length > 0 ? message : REFUSALS[kind].title) : texts[text]!;
  const words = text === undefined ? (help.length > 0 ? '' : message) : texts[`${text}Text`]!;
  const body = pageOf({
    language,
    dir: texts['dir']!,
    title,
    words,
    start: texts['start']!,
    startPath,
    help,
  }).toString();
  return { body, headers: { ...HEADERS, 'Content-Language': language } };
}

interface ErrorWords {
  readonly language: string;
  readonly dir: string;
  readonly title: string;
  readonly words: string;
  readonly start: string;
  readonly startPath: string;
  readonly help: readonly RefusalHelp[];
}

/** The style is a constant, since its hash is in the policy. */
function pageOf({ language, dir, title, words, start, startPath, help }: ErrorWords): Markup {
  return html`<!doctype html>
<html lang="${language}" dir="${dir}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title>${html([`<style>${STYLE}</style>`])}</head>
<body><main><h1>${title}</h1>${words !== '' && html`<p>${words}</p>`}${help.map(({ text, code }) => html`<p>${text}</p><pre><code>${code}</code></pre>`)}<p><a href="${startPath}">${start}</a></p></main></body></html>
`;
}

/** Whether Accept names HTML with a weight no lower than JSON's: browsers do when a person opens an address; players and scripts do not. */
export function prefersHtml(accept: string): boolean {
  if (!/text\/html/i.test(accept)) return false;
  let [ofHtml, ofJson] = [0, 0];
  for (const { name, q } of weighted(accept)) {
    if (name === 'text/html') ofHtml = Math.max(ofHtml, q);
    else if (JSON_TYPES.includes(name)) ofJson = Math.max(ofJson, q);
  }
  return ofHtml > 0 && ofHtml >= ofJson;
}
