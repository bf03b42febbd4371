/** `/listen/{channelkey}`: a channel's player, its history, and links for other players and sites. `/embed/{channelkey}`: its player alone. */

import { html, type Markup } from './markup-template.js';
import { type PageRequest, pageDocument, pageFoot, pageHead, playerElement } from './page-document.js';
import { logoOf, logoPath, type PageChannel, siteName, titleOf } from './page-site.js';

const SLIM = 88;
const TALL = 360;
/** The same colour scheme as the player in it: browsers put an opaque background behind a frame of another scheme. */
const FRAME_STYLE = 'border:0;color-scheme:light dark';

export function channelPage(request: PageRequest, channel: PageChannel): Markup {
  const { site } = request;
  const { key, name, description, now, onAir } = channel;
  const title = onAir ? (titleOf(now)?.title ?? '') : '';
  // A station that is one channel has one name.
  const isWhole = site.channels.length === 1 && name === siteName(site);
  return pageDocument(request, {
    title: name,
    description: [title, description || site.text]
      .filter((text) => text !== '')
      .join(' · ')
      .slice(0, 300),
    path: `listen/${key}`,
    picture: pictureOf(request, channel),
    className: 'one',
    channels: [channel],
    body: html`${pageHead(request, siteName(site), isWhole)}
<main>${channelMain(request, channel, isWhole ? null : 'h1')}</main>
${pageFoot(request)}`,
  });
}

export function embedPage(request: PageRequest, channel: PageChannel): Markup {
  const { key, name, description } = channel;
  return pageDocument(request, {
    title: name,
    description,
    path: `listen/${key}`,
    picture: pictureOf(request, channel),
    className: 'embed',
    channels: [channel],
    body: html`<main><h1 class="unseen" dir="auto">${name}</h1>${playerElement(request, channel, 'box')}</main>`,
  });
}

/** The picture for link previews: the present cover, else the logo, else the drawn picture. */
export function pictureOf({ site, base, coverOrigins }: PageRequest, channel: PageChannel): string {
  const cover = titleOf(channel.now)?.cover ?? '';
  if (URL.canParse(cover) && coverOrigins.includes(new URL(cover).origin)) return cover;
  const path = logoOf(site, channel) === null ? `web/drawn/${channel.key}.png` : logoPath(site, channel);
  return `${base}/${path}`;
}

/** @param heading the level of the channel's name; null: none, since it is the name of the page */
export function channelMain(request: PageRequest, channel: PageChannel, heading: 'h1' | 'h2' | null): Markup {
  const { texts } = request;
  const { key, name, description } = channel;
  const nameText = html`<span dir="auto">${name}</span>`;
  const title = heading === 'h1' ? html`<h1>${nameText}</h1>` : heading === 'h2' ? html`<h2>${nameText}</h2>` : null;
  return html`<div class="channel-head">${title}${description !== '' && html`<p class="words" dir="auto">${description}</p>`}</div>
${playerElement(request, channel, 'page')}
<div class="below">
<section class="history" data-history="${key}"><h2>${texts['history']!}</h2><p class="empty"></p><ol></ol><button class="quiet" type="button" hidden>${texts['historyMore']!}</button></section>
${takeAlong(request, channel)}
</div>`;
}

function takeAlong(request: PageRequest, channel: PageChannel): Markup {
  const { texts, up, site, base } = request;
  const { key, name, mount, hls } = channel;
  const path = `${up}${mount.slice(1)}`;
  const share = html`<button class="quiet" type="button" id="share" data-url="${base}/listen/${key}" data-title="${name}">${texts['share']!}</button>`;
  return html`<section class="along"><h2>${texts['yourPlayer']!}</h2>
<ul class="files"><li><a href="${path}.m3u">M3U</a></li><li><a href="${path}.pls">PLS</a></li>${hls !== '' && html`<li><a href="${up}${hls.slice(1)}">HLS</a></li>`}</ul>
${share}
${site.frameAncestors.length > 0 && snippets(request, channel)}
</section>`;
}

/** The HTML that other sites copy into their pages. */
function snippets({ texts, base }: PageRequest, { key, name }: PageChannel): Markup {
  const frame = (height: number) =>
    html`<iframe src="${base}/embed/${key}" title="${name}" width="100%" height="${height}" style="${FRAME_STYLE}" allow="autoplay"></iframe>`.toString();
  const element = html`<script type="module" src="${base}/player.js"></script>
<airsplice-player channel="${key}"></airsplice-player>`.toString();
  const all: readonly (readonly [string, string])[] = [
    [texts['embedSlim']!, frame(SLIM)],
    [texts['embedTall']!, frame(TALL)],
    [texts['embedElement']!, element],
  ];
  const rows = all.map(
    ([label, text]) =>
      html`<div class="snippet"><label>${label}<textarea readonly rows="3" dir="ltr" spellcheck="false">${text}</textarea></label><button class="quiet" type="button" data-copy>${texts['copy']!}</button></div>`,
  );
  return html`<details class="snippets"><summary>${texts['embed']!}</summary>${rows}</details>`;
}
