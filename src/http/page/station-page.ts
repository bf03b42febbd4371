/** `/`: one channel fills the page, two stand side by side, more are a list with a search. */

import { channelMain, pictureOf } from './channel-page.js';
import { html, type Markup } from './markup-template.js';
import {
  kept,
  type PageRequest,
  pageDocument,
  pageFoot,
  pageHead,
  plainPictures,
  playerElement,
} from './page-document.js';
import { barsOfTiles, drawnTile } from './page-drawing.js';
import { logoPath, type PageChannel, siteName, titleOf } from './page-site.js';

const SIDE_BY_SIDE = 2;
/** The list has a search from this number on. */
const SEARCHED = 7;

export function stationPage(request: PageRequest): Markup {
  const { site, base } = request;
  const { channels } = site;
  const name = siteName(site);
  const only = channels.length === 1 ? channels[0]! : null;
  const picture =
    only === null ? (site.logo === null ? '' : `${base}/${logoPath(site, null)}`) : pictureOf(request, only);
  const description = site.text || (only === null ? channels.map((each) => each.name).join(', ') : only.description);
  return pageDocument(request, {
    title: name,
    description: description.slice(0, 300),
    path: '',
    picture,
    className: only === null ? (channels.length <= SIDE_BY_SIDE ? 'pair' : 'many') : 'one',
    channels,
    body: html`${pageHead(request, name, true)}
<main>${main(request, only)}</main>
${pageFoot(request)}`,
  });
}

function main(request: PageRequest, only: PageChannel | null): Markup {
  const { channels } = request.site;
  if (only !== null) return channelMain(request, only, only.name === siteName(request.site) ? null : 'h2');
  if (channels.length <= SIDE_BY_SIDE)
    return html`<div class="beside">${channels.map((channel) => beside(request, channel))}</div>`;
  return list(request);
}

function beside(request: PageRequest, channel: PageChannel): Markup {
  const { key, name } = channel;
  return html`<article><h2 class="channel-name"><a href="listen/${key}${kept(request)}" dir="auto">${name}</a></h2>${playerElement(request, channel, 'page')}</article>`;
}

function list(request: PageRequest): Markup {
  const { site, texts } = request;
  const stations = [...new Set(site.channels.map(({ station }) => station))];
  const groups = stations.map((station) => {
    const members = site.channels.filter((channel) => channel.station === station);
    const heading = stations.length > 1 && html`<h2 class="station-name" dir="auto">${station}</h2>`;
    return html`<section class="group">${heading}<ul class="channels">${members.map((channel) => row(request, channel))}</ul></section>`;
  });
  const search = html`<p class="search"><input type="search" id="search" aria-label="${texts['search']!}" placeholder="${texts['search']!}" autocomplete="off" spellcheck="false"></p>`;
  return html`${site.channels.length >= SEARCHED && search}<p id="none" role="status"></p>${barsOfTiles()}${groups}
<div class="dock" hidden><airsplice-player id="dock" server="./"></airsplice-player></div>`;
}

function row(request: PageRequest, channel: PageChannel): Markup {
  const { key, name, now, onAir } = channel;
  const { texts } = request;
  const title = onAir ? (titleOf(now)?.title ?? '') : '';
  return html`<li class="row${!onAir && ' silent'}" data-channel="${key}"><button class="row-play" type="button" aria-label="${texts['play']!}: ${name}"></button><a href="listen/${key}${kept(request)}"><span class="tile" data-tile="${key}">${drawnTile(key)}${plainPictures(request, channel)}</span><span class="row-text"><span class="row-name" dir="auto">${name}</span><span class="row-title" dir="auto">${title}</span></span><span class="row-state">${onAir ? texts['onAir']! : texts['offAir']!}</span></a></li>`;
}
