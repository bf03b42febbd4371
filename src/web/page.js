// @ts-check
/**
 * The scripts of the pages: the player gets the data in the page; history, list, search, and buttons to copy and share. Untrusted input is only set
 * by textContent.
 */

import { addressOf, rootOf } from '../client/browser.ts';
import { readRecord } from '../client/channel-record.ts';
import { directoryOf } from '../client/player/channel-directory.ts';
import { loadPicture } from '../client/player/loaded-picture.ts';
import { AirsplicePlayer } from '../client/player/player-element.ts';
import { provideTexts } from '../client/player/player-texts.ts';
import { ChannelList } from './channel-list.js';
import { History } from './history.js';

/**
 * @typedef {object} PageData
 * @property {string} up
 * @property {string} language
 * @property {Record<string, string>} texts
 * @property {string[]} coverOrigins
 * @property {import('../client/player/channel-directory.ts').DirectoryChannel[]} channels
 * @property {string[]} records as JSON
 */

const data = /** @type {PageData} */ (JSON.parse(document.getElementById('page-data')?.textContent ?? '{}'));
const root = rootOf(new URL(data.up || './', document.baseURI));
const directory = directoryOf(root);

/** The data in the page may be outdated: a cached copy. */
function prepare() {
  AirsplicePlayer.home = root;
  AirsplicePlayer.coverOrigins = data.coverOrigins;
  provideTexts(root, data.language, data.texts);
  directory.prime(data.channels);
  customElements.define('airsplice-player', AirsplicePlayer);
  // A link of the station may contain a signature, or parameters for a hook.
  const asked = new URLSearchParams(location.search);
  asked.delete('lang');
  const query = String(asked);
  const records = data.records.map((record) => readRecord(record));
  const find = (/** @type {string} */ key, /** @type {string} */ type) =>
    records.find((record) => record?.channelkey === key && record.type === type) ?? null;
  for (const player of players()) {
    // Removes the content for pages without scripts.
    player.replaceChildren();
    if (query !== '') player.setAttribute('query', query);
    player.prime(find(player.channel, 'now'), find(player.channel, 'next'));
  }
}

/** @returns {AirsplicePlayer[]} */
function players() {
  return [.../** @type {NodeListOf<AirsplicePlayer>} */ (document.querySelectorAll('airsplice-player'))];
}

/** The window's title names the heard one. */
function showInTitle() {
  const plain = document.title;
  for (const player of players()) {
    player.addEventListener('change', () => {
      const on = players().find(({ state }) => state === 'playing' || state === 'stalled');
      const title = on?.now?.title;
      document.title = title ? `${title} · ${plain}` : plain;
    });
  }
}

async function showLogos() {
  for (const image of /** @type {NodeListOf<HTMLImageElement>} */ (document.querySelectorAll('[data-logo]')))
    image.src = await loadPicture(addressOf(root, image.dataset['logo'] ?? ''));
}

/** @param {HTMLButtonElement} button @param {string} text */
async function copy(button, text) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Only secure pages have the clipboard; others copy by execCommand.
    const area = document.createElement('textarea');
    area.value = text;
    button.after(area);
    area.select();
    document.execCommand('copy');
    area.remove();
    button.focus();
  }
  button.textContent = data.texts['copied'] ?? '';
  setTimeout(() => {
    button.textContent = label;
  }, 1500);
}

function offerCopies() {
  for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll('[data-copy]'))) {
    button.onclick = () => copy(button, button.parentElement?.querySelector('textarea')?.value ?? '');
  }
  const share = /** @type {HTMLButtonElement | null} */ (document.getElementById('share'));
  if (share === null) return;
  const { url = '', title = '' } = share.dataset;
  share.onclick = () => {
    if ('share' in navigator) navigator.share({ url, title }).catch(() => undefined);
    else void copy(share, url);
  };
}

// An older browser keeps the page as it is without scripts.
if ('adoptedStyleSheets' in Document.prototype) prepare();
showInTitle();
offerCopies();
void showLogos();
const section = /** @type {HTMLElement | null} */ (document.querySelector('[data-history]'));
if (section !== null) {
  const [player] = players();
  const rewind = directory.get(section.dataset['history'] ?? '')?.rewind ?? null;
  new History(section, { root, texts: data.texts, language: data.language, player, rewind });
}
if (document.getElementById('dock') !== null)
  new ChannelList({ root, directory, texts: data.texts, channels: data.channels });
directory.check();
