/** Parts of all pages: the head of the document, the player without scripts, the foot. */

import { dataBlock, html, linkTarget, type Markup } from './markup-template.js';
import { drawnCover } from './page-drawing.js';
import { iconUrl } from './page-icon.js';
import { logoPath, type PageChannel, type PageSite, titleOf } from './page-site.js';
import type { PageTexts } from './page-texts.js';

export interface PageRequest {
  readonly site: PageSite;
  readonly texts: PageTexts;
  readonly language: string;
  /** Whether the reader has chosen the language: links keep it. */
  readonly isChosen: boolean;
  /** The server's URL as the reader reaches it: `https://radio.example`, without a slash at its end. */
  readonly base: string;
  /** The relative path from the page to the server's root, which may be below a proxy's path: "" or "../". */
  readonly up: string;
  /** Origins of covers that the lock screen may load. */
  readonly coverOrigins: readonly string[];
}

export interface DocumentParts {
  readonly title: string;
  readonly description: string;
  /** "": the root. */
  readonly path: string;
  /** An absolute URL, or "". */
  readonly picture: string;
  readonly className: string;
  /** The channels whose data the page contains for its scripts. */
  readonly channels: readonly PageChannel[];
  readonly more?: Markup;
  readonly body: Markup;
}

/** If there are more, scripts fetch them. */
const MAX_CHANNELS = 100;

export function pageDocument(request: PageRequest, parts: DocumentParts): Markup {
  const { texts, language, up, base } = request;
  const { title, description, path, picture, className, channels, more, body } = parts;
  return html`<!doctype html>
<html lang="${language}" dir="${texts['dir']!}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="#f3f4f2" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="#121517" media="(prefers-color-scheme: dark)">
<title>${title}</title>
<meta name="description" content="${description}">
<meta property="og:title" content="${title}">
<meta property="og:description" content="${description}">
<meta property="og:type" content="music.radio_station">
<meta property="og:url" content="${base}/${path}">
${picture !== '' && html`<meta property="og:image" content="${picture}">\n`}<meta name="twitter:card" content="summary">
<link rel="canonical" href="${base}/${path}">
<link rel="icon" href="${iconUrl(request.site)}">
<link rel="stylesheet" href="${up}web/theme.css">
<link rel="stylesheet" href="${up}web/page.css">
<script type="module" src="${up}web/page.js"></script>
${more ?? null}</head>
<body class="${className}">
${body}
${pageData(request, channels)}
</body>
</html>
`;
}

function pageData({ site, texts, language, coverOrigins, up }: PageRequest, channels: readonly PageChannel[]) {
  const records = (type: 'now' | 'next') =>
    channels.length > 2 ? [] : channels.flatMap((channel) => (channel[type] === null ? [] : [channel[type]]));
  return dataBlock('page-data', {
    up,
    language,
    texts: Object.fromEntries(Object.entries(texts).filter(([name]) => !name.startsWith('error'))),
    coverOrigins,
    channels: channels.length > MAX_CHANNELS ? [] : channels.map((channel) => listed(site, channel)),
    records: [...records('now'), ...records('next')],
  });
}

/** A channel's data for scripts. Members are named one by one, so that no other member is published. */
export function listed(site: PageSite, channel: PageChannel) {
  const { stationkey, station, key, name, description, mount, hls, rewind, onAir, type } = channel;
  return {
    stationkey,
    station,
    key,
    name,
    description,
    mount,
    hls,
    rewind,
    logo: logoPath(site, channel),
    onAir,
    type,
  };
}

/** The player. Its content, with the same layout, is visible without scripts. */
export function playerElement(request: PageRequest, channel: PageChannel, layout: 'page' | 'box'): Markup {
  const { texts, up } = request;
  const { key, name, mount, onAir, now } = channel;
  const title = onAir ? titleOf(now) : null;
  const isWhole = title !== null && title.artist !== '' && title.song !== '';
  const line = isWhole ? title.song : title?.title || name;
  const second = isWhole ? title.artist : onAir ? '' : texts['offAirHint']!;
  return html`<airsplice-player channel="${key}" server="${up === '' ? './' : up}"${layout === 'page' && html` layout="page"`}>
<div class="plain">
<div class="plain-cover">${drawnCover(key)}${plainPictures(request, channel, title?.cover ?? '')}</div>
<div class="plain-info">
<p class="plain-status">${onAir ? texts['onAir']! : texts['offAir']!}</p>
<div class="plain-heard"><p class="plain-song" dir="auto">${line}</p><p class="plain-artist" dir="auto">${second}</p></div>
</div>
<audio controls preload="none" src="${up}${mount.slice(1)}" aria-label="${texts['play']!}: ${name}"></audio>
</div>
</airsplice-player>`;
}

/**
 * For pages without scripts: the logo, and the title's cover on top, in frames with policies of their own (cover.ts), since the page's allows no
 * image of this host. A broken one is invisible. @param channel null: the site's logo
 */
export function plainPictures({ site, base, up }: PageRequest, channel: PageChannel | null, cover = ''): Markup | null {
  const [logo = ''] = logoPath(site, channel).split('?');
  const urls = [
    ...(logo === '' ? [] : [html`${base}/${logo}`]),
    ...(URL.canParse(cover) ? [encodeURIComponent(new URL(cover).href)] : []),
  ];
  if (urls.length === 0) return null;
  const frame = (url: string | Markup) =>
    html`<iframe src="${up}web/cover?url=${url}" sandbox="" aria-hidden="true" tabindex="-1" title="" referrerpolicy="no-referrer"></iframe>`;
  return html`<noscript>${urls.map(frame)}</noscript>`;
}

/** The name of the site, with its logo and text. @param isHead it is the heading of the page, not a link */
export function pageHead(request: PageRequest, name: string, isHead: boolean): Markup {
  const { site, up } = request;
  const mark = html`${site.logo !== null && html`<img class="brand-logo" alt="" data-logo="${logoPath(site, null)}" width="48" height="48">${plainPictures(request, null)}`}<span dir="auto">${name}</span>`;
  const inside = isHead
    ? html`<h1 class="brand">${mark}</h1>`
    : html`<p class="brand"><a href="${up === '' ? './' : up}${kept(request)}">${mark}</a></p>`;
  return html`<header class="top">${inside}${isHead && site.text !== '' && html`<p class="words" dir="auto">${site.text}</p>`}</header>`;
}

/** The query that keeps the chosen language. */
export function kept({ isChosen, language }: PageRequest): string {
  return isChosen ? `?lang=${encodeURIComponent(language)}` : '';
}

export function pageFoot({ site, texts, language }: PageRequest): Markup {
  const links = site.links.filter(({ url }) => linkTarget(url) !== '');
  return html`<footer class="bottom">
${
  links.length > 0 &&
  html`<nav aria-label="${texts['links']!}"><ul>${links.map(({ text, url }) => html`<li><a href="${linkTarget(url)}" rel="noopener" dir="auto">${text}</a></li>`)}</ul></nav>`
}
<nav aria-label="${texts['languages']!}"><ul>${site.languages.names.map(([each, name]) => html`<li><a href="?lang=${encodeURIComponent(each)}" lang="${each}" hreflang="${each}"${each === language && html` aria-current="true"`}>${name}</a></li>`)}</ul></nav>
</footer>`;
}
