/**
 * The pages for listeners: `/`, `/listen/{channelkey}` and `/embed/{channelkey}`, and their parts below `/web/`. Pages are made on the server, with
 * the present title, so that they work without scripts too; each is made at most once a second for each language.
 *
 * Invariant: untrusted input (titles, names, covers) becomes HTML in markup-template.ts only, and no image of a page comes from an origin of this
 * server.
 */

import { readFileSync } from 'node:fs';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../base/clock.js';
import { codeFile } from '../../base/own-files.js';
import { Refusal } from '../../base/refusal.js';
import { parameter } from '../../base/request-target.js';
import { readRoute } from '../methods.js';
import { JSON_TYPE, SHARED } from '../reads.js';
import { channelPage, embedPage } from './channel-page.js';
import { registerClient } from './client-modules.js';
import { drawnPng } from './drawn-png.js';
import { FreshTexts, FreshValues } from './fresh-texts.js';
import { html, type Markup } from './markup-template.js';
import { listed, type PageRequest } from './page-document.js';
import {
  builtScript,
  CSS_TYPE,
  FOR_ALL,
  fileOf,
  HTML_TYPE,
  type ServedText,
  sendFile,
  sendText,
  serveText,
  textOf,
} from './page-files.js';
import { ICON } from './page-icon.js';
import { pagePolicy } from './page-policy.js';
import { type PageChannel, type PageSite, type ServedFile, titleOf } from './page-site.js';
import type { PageTexts } from './page-texts.js';
import { themeCss } from './page-theme.js';
import { stationPage } from './station-page.js';

export interface PageParts {
  /** The site now: another object after each reload. */
  site(): PageSite;
  /** The URL under which a client reaches this server, without a slash at its end (http/stream/public-url.ts). */
  baseOf(request: FastifyRequest['raw']): string;
  /** The origin of a cover that a page of this request may load; null: it may not (cover.ts). */
  coverOrigin(url: string, request: FastifyRequest): string | null;
  readonly clock: Pick<Clock, 'now'>;
}

/** For an operator's picture that is opened as a page. */
const PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox";
const KEPT = 'public, max-age=86400';
/** Placeholder for the URL of the server: a noncharacter, which metadata/text.ts removes from all texts. */
const BASE = '\ufdd0';
/** Limit on origins of covers in a policy. */
const MAX_ORIGINS = 12;

type Kind = 'station' | 'listen' | 'embed';

/** Registers all paths of the pages. @throws Error if a file is missing (a broken installation) */
export function registerPage(app: FastifyInstance, parts: PageParts): void {
  const pages = new Pages(parts);
  readRoute(app, '/', (request, reply) => pages.send(request, reply, 'station', ''));
  for (const kind of ['listen', 'embed'] as const)
    readRoute(app, `/${kind}/:channel`, (request, reply) => pages.send(request, reply, kind, keyOf(request)));
  const css = readFileSync(codeFile('web/page.css'));
  serveText(app, '/web/page.css', () => textOf(CSS_TYPE, css), FOR_ALL);
  serveText(app, '/web/page.js', builtScript('web/page.js', 'web/page.js'), FOR_ALL);
  registerClient(app);
  registerFacts(app, parts);
  registerPictures(app, parts.site);
}

function keyOf({ params }: FastifyRequest): string {
  return (params as Readonly<Record<string, string>>)['channel'] ?? '';
}

/** Data for scripts: channels, texts, colours. */
function registerFacts(app: FastifyInstance, { site, clock }: PageParts): void {
  const lists = new FreshTexts(clock);
  readRoute(app, '/web/channels.json', async (request, reply) => {
    const { channels } = site();
    const key = parameter(request.url, 'channel');
    const asked = key === null ? channels : channels.filter((channel) => channel.key === key);
    const list = (isKept: boolean) =>
      textOf(JSON_TYPE, JSON.stringify(asked.map((channel) => listed(site(), channel))), isKept);
    const text = key !== null && asked.length === 0 ? list(false) : lists.get(key ?? '', site(), list);
    return sendText(request, reply, text, {
      ...FOR_ALL,
      'Access-Control-Expose-Headers': 'Date',
      'Cache-Control': SHARED,
    });
  });
  readRoute(app, '/web/theme.css', async (request, reply) =>
    sendText(request, reply, textOf(CSS_TYPE, themeCss(site().accent)), FOR_ALL),
  );
  const languages = new WeakMap<PageTexts, ServedText>();
  readRoute(app, '/web/texts/:file', async (request, reply) => {
    const { file = '' } = request.params as Readonly<Record<string, string>>;
    const texts = file.endsWith('.json') ? site().languages.texts(file.slice(0, -'.json'.length)) : undefined;
    if (texts === undefined) throw new Refusal('not-found', 'There is no such language.');
    let text = languages.get(texts);
    if (text === undefined) languages.set(texts, (text = textOf(JSON_TYPE, JSON.stringify(texts))));
    return sendText(request, reply, text, FOR_ALL);
  });
}

function registerPictures(app: FastifyInstance, site: () => PageSite): void {
  const send = (request: FastifyRequest, reply: FastifyReply, file: ServedFile | null) => {
    if (file === null) throw new Refusal('not-found', 'There is no such picture.');
    return sendFile(request, reply, file, {
      ...FOR_ALL,
      'Cross-Origin-Resource-Policy': 'cross-origin',
      'Content-Security-Policy': PICTURE_POLICY,
      'X-Content-Type-Options': 'nosniff',
      // The pages put a digest of the picture into the query.
      'Cache-Control': request.url.includes('?') ? KEPT : 'no-cache',
    });
  };
  readRoute(app, '/favicon.ico', (request, reply) => send(request, reply, site().logo ?? ICON));
  const drawn = new WeakMap<PageChannel, ServedFile>();
  readRoute(app, '/web/drawn/:file', (request, reply) => {
    const { file = '' } = request.params as Readonly<Record<string, string>>;
    const channel = site().channels.find(({ key }) => `${key}.png` === file);
    if (channel === undefined) return send(request, reply, null);
    let picture = drawn.get(channel);
    if (picture === undefined) drawn.set(channel, (picture = fileOf('image/png', drawnPng(channel.key))));
    return send(request, reply, picture);
  });
  readRoute(app, '/web/logo', (request, reply) => send(request, reply, site().logo));
  readRoute(app, '/web/logo/:channel', (request, reply) => {
    const key = keyOf(request);
    return send(request, reply, site().channels.find((channel) => channel.key === key)?.logo ?? null);
  });
}

class Pages {
  readonly #parts: PageParts;
  /** HTML with BASE for the server's URL. */
  readonly #pages: FreshValues<string>;
  /** With the URL. */
  readonly #texts: FreshTexts;
  /** By channel key: a cover of each origin. */
  readonly #covers: FreshValues<readonly string[]>;

  constructor(parts: PageParts) {
    this.#parts = parts;
    this.#pages = new FreshValues(parts.clock);
    this.#texts = new FreshTexts(parts.clock);
    this.#covers = new FreshValues(parts.clock);
  }

  async send(request: FastifyRequest, reply: FastifyReply, kind: Kind, key: string) {
    const site = this.#parts.site();
    const channel = kind === 'station' ? null : (site.channels.find((each) => each.key === key) ?? null);
    if (!site.isEnabled || (kind !== 'station' && channel === null))
      throw new Refusal('not-found', 'Nothing is served at this address.');
    const images = this.#images(request, site, channel);
    const made = pageRequest(request, site, kind === 'station' ? '' : '../', images);
    const name = [kind, key, made.language, made.isChosen, ...images].join(' ');
    const page = this.#pages.get(name, site, () => pageOf(made, kind, channel).toString());
    const base = html`${this.#parts.baseOf(request.raw)}`.toString();
    const text = this.#texts.get(`${name} ${base}`, site, (isKept) =>
      textOf(
        HTML_TYPE,
        page.replaceAll(BASE, () => base),
        isKept,
      ),
    );
    const ancestors = kind === 'embed' ? site.frameAncestors : [];
    return sendText(request, reply, text, {
      'Content-Language': made.language,
      'Content-Security-Policy': pagePolicy({ host: request.headers.host, images, ancestors }),
      'Referrer-Policy': 'no-referrer',
      Vary: 'Accept-Language, Host, X-Forwarded-Proto',
    });
  }

  /** The origins from which this page may load covers. */
  #images(request: FastifyRequest, site: PageSite, channel: PageChannel | null): string[] {
    const covers = this.#covers.get(channel?.key ?? '', site, () =>
      coversOf(channel === null ? site.channels : [channel]),
    );
    const origins = covers.map((cover) => this.#parts.coverOrigin(cover, request)).filter((origin) => origin !== null);
    return [...new Set(origins)];
  }
}

/** A cover of each origin. */
function coversOf(channels: readonly PageChannel[]): readonly string[] {
  const covers = new Map<string, string>();
  for (const { now, next } of channels) {
    for (const { cover } of [titleOf(now), titleOf(next)].filter((title) => title !== null))
      if (URL.canParse(cover)) covers.set(new URL(cover).origin, cover);
    if (covers.size >= MAX_ORIGINS) break;
  }
  return [...covers.values()];
}

function pageRequest(
  request: FastifyRequest,
  site: PageSite,
  up: string,
  coverOrigins: readonly string[],
): PageRequest {
  const language = site.languages.languageOf(request.url, request.headers['accept-language']);
  const texts = site.languages.texts(language)!;
  const isChosen = parameter(request.url, 'lang') !== null;
  return { site, language, texts, isChosen, base: BASE, up, coverOrigins };
}

function pageOf(request: PageRequest, kind: Kind, channel: PageChannel | null): Markup {
  if (kind === 'station') return stationPage(request);
  return kind === 'listen' ? channelPage(request, channel!) : embedPage(request, channel!);
}
