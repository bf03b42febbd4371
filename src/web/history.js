// @ts-check
/**
 * What was played before the title that this listener hears, with times and covers; no jingles and advertisements. Asked for once; what this page
 * has heard or seen since is put before it.
 */

import { addressOf } from '../client/browser.ts';
import { readRecord } from '../client/channel-record.ts';
import { drawnCover, icon } from '../client/player/player-drawing.ts';
import { isSamePlay } from '../client/player/title-facts.ts';

/** @typedef {import('../client/types.ts').ChannelRecord} ChannelRecord */
/** @typedef {import('../client/player/player-element.ts').AirsplicePlayer} AirsplicePlayer */
/**
 * @typedef {object} HistoryParts
 * @property {URL} root
 * @property {Record<string, string>} texts
 * @property {string} language
 * @property {AirsplicePlayer | undefined} player
 * @property {import('../client/player/channel-directory.ts').ChannelDirectory} directory that knows the server's clock
 * @property {{ path: string, hours: number } | null} rewind
 */

/** Jingle, promo, advertisement. */
const SPOTS = [101, 102, 103];
const FIRST = 10;
const MORE = 20;
/** More than that: jingles are left out. */
const ASKED = 40;
/** An answer is waited for. */
const TIMEOUT_MS = 10_000;
/** In which a playlist has its first date. */
const MAX_HEAD_CHARACTERS = 65_536;

export class History {
  #section;
  #list;
  #more;
  #empty;
  #parts;
  /** The newest first. @type {{ record: ChannelRecord, fromMs: number }[]} */
  #entries = [];
  #count = FIRST;
  /** Of the longest time, as the column's width. */
  #timeChars = 0;
  /** What is heard; while nothing plays: what is live. @type {ChannelRecord | null} */
  #current = null;
  #isLoading = false;
  #hasMore = true;
  #before = '';
  /** Where the rewind begins, Unix milliseconds. */
  #rewindFromMs = Number.POSITIVE_INFINITY;

  /** @param {HTMLElement} section @param {HistoryParts} parts */
  constructor(section, parts) {
    this.#section = section;
    this.#parts = parts;
    this.#list = /** @type {HTMLElement} */ (section.querySelector('ol'));
    this.#more = /** @type {HTMLButtonElement} */ (section.querySelector('button'));
    this.#empty = /** @type {HTMLElement} */ (section.querySelector('.empty'));
    this.#more.onclick = () => void this.#showMore();
    this.#current = parts.player?.now ?? null;
    // In a rewind what is behind it is listed too: it can be played from there.
    parts.player?.addEventListener('change', () => {
      const { player } = parts;
      this.#onTitle((player?.isRewound ? player.live : player?.now) ?? null);
      this.#showHeard();
    });
    void this.#load().then(() => this.#show());
    void this.#findRewind();
  }

  async #findRewind() {
    const { root, rewind } = this.#parts;
    if (rewind === null || this.#rewindFromMs !== Number.POSITIVE_INFINITY) return;
    try {
      this.#rewindFromMs = await firstDateOf(addressOf(root, rewind.path));
    } catch {
      return; // it is asked for again at the next title
    }
    this.#show();
  }

  /** @param {ChannelRecord | null} title */
  #onTitle(title) {
    const before = this.#current;
    if (title === before || (title && before && isPlayOf(entryOf(before), title))) return;
    this.#current = title;
    const isKnown = title === null || this.#entries.some((entry) => isPlayOf(entry, title));
    if (!isKnown) this.#entries.unshift(entryOf(title));
    this.#show();
    void this.#findRewind();
  }

  async #showMore() {
    this.#count += MORE;
    if (this.#visible.length < this.#count && this.#hasMore) await this.#load();
    this.#show();
  }

  async #load() {
    if (this.#isLoading) return;
    this.#isLoading = true;
    const { root } = this.#parts;
    const url = addressOf(root, `metadata/channel/${this.#section.dataset['history']}/history.json`);
    url.searchParams.set('limit', String(ASKED));
    if (this.#before !== '') url.searchParams.set('before', this.#before);
    try {
      const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
      if (!answer.ok) throw new Error(String(answer.status));
      const entries = /** @type {{ from: string, to: string | null }[]} */ (await answer.json());
      const loaded = entries.flatMap((entry) => {
        const record = readRecord(JSON.stringify(entry));
        return record === null ? [] : [{ record, fromMs: Date.parse(entry.from) }];
      });
      // Titles that have begun while the first answer was on its way may be in it too.
      const isBehind = this.#before !== '';
      const own = this.#entries.filter(({ record }) => isBehind || !loaded.some((each) => isPlayOf(each, record)));
      this.#entries = [...own, ...loaded];
      this.#before = entries.at(-1)?.from ?? this.#before;
      this.#hasMore = entries.length === ASKED;
    } catch {
      // It is asked for again by the button.
      this.#hasMore = this.#entries.length > 0;
    }
    this.#isLoading = false;
  }

  /** What stands behind the title that is heard: not what this listener has not reached. */
  get #visible() {
    const current = this.#current;
    const at = this.#entries.findIndex((entry) => current !== null && isPlayOf(entry, current));
    return this.#entries.slice(at + 1).filter(({ record }) => isListed(record));
  }

  #show() {
    const { rewind, directory } = this.#parts;
    const oldestMs = Math.max(this.#rewindFromMs, directory.serverMs - (rewind?.hours ?? 0) * 3_600_000);
    const visible = this.#visible;
    this.#empty.textContent = visible.length === 0 ? (this.#parts.texts['historyEmpty'] ?? '') : '';
    this.#more.hidden = visible.length <= this.#count && !(this.#hasMore && visible.length > 0);
    const rows = new Map([...this.#list.children].map((row) => [/** @type {HTMLElement} */ (row).dataset['id'], row]));
    this.#list.replaceChildren(
      ...visible.slice(0, this.#count).map((entry) => rows.get(idOf(entry)) ?? this.#row(entry)),
    );
    for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (this.#list.querySelectorAll('button')))
      button.hidden = Number(button.dataset['from']) < oldestMs;
  }

  /** In a rewind the row of what is heard says so. */
  #showHeard() {
    const { player } = this.#parts;
    const heard = player?.isRewound ? player.now : null;
    const entry = heard && this.#visible.find((entry) => isPlayOf(entry, heard));
    for (const row of /** @type {NodeListOf<HTMLElement>} */ (this.#list.querySelectorAll('li'))) {
      const isHeard = entry !== null && entry !== undefined && row.dataset['id'] === idOf(entry);
      row.classList.toggle('heard', isHeard);
      if (isHeard) row.setAttribute('aria-current', 'true');
      else row.removeAttribute('aria-current');
    }
  }

  /** As the reader writes times, where that is in the language of the page. */
  get #locale() {
    const { language } = this.#parts;
    return navigator.languages.find((each) => each === language || each.startsWith(`${language}-`)) ?? language;
  }

  /** @param {{ record: ChannelRecord, fromMs: number }} entry */
  #row(entry) {
    const { record, fromMs } = entry;
    const time = document.createElement('time');
    time.dateTime = new Date(fromMs).toISOString();
    time.textContent = new Date(fromMs).toLocaleTimeString(this.#locale, { hour: 'numeric', minute: '2-digit' });
    this.#timeChars = Math.max(this.#timeChars, time.textContent.length);
    this.#list.style.setProperty('--time-width', `${this.#timeChars}ch`);
    const cover = document.createElement('span');
    cover.className = 'small-cover';
    cover.append(drawnCover(record.title || record.channelkey));
    if (record.cover !== '') cover.append(this.#frame(record.cover));
    const text = document.createElement('span');
    const isWhole = record.artist !== '' && record.song !== '';
    text.append(lineOf(isWhole ? record.song : record.title), lineOf(isWhole ? record.artist : ''));
    const row = document.createElement('li');
    row.dataset['id'] = idOf(entry);
    row.append(time, cover, text);
    if (this.#parts.rewind !== null) row.append(this.#playFrom(entry));
    return row;
  }

  /** @param {{ record: ChannelRecord, fromMs: number }} entry */
  #playFrom({ record, fromMs }) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'row-play';
    button.append(icon('play'));
    button.title = this.#parts.texts['playFrom'] ?? '';
    button.setAttribute('aria-label', `${button.title}: ${record.title}`);
    button.dataset['from'] = String(fromMs);
    button.onclick = () => this.#parts.player?.playFrom({ dateMs: fromMs, record: record.id });
    return button;
  }

  /** @param {string} url */
  #frame(url) {
    const frame = document.createElement('iframe');
    frame.setAttribute('sandbox', '');
    frame.setAttribute('aria-hidden', 'true');
    frame.title = this.#parts.texts['cover'] ?? '';
    frame.tabIndex = -1;
    frame.loading = 'lazy';
    frame.referrerPolicy = 'no-referrer';
    frame.src = addressOf(this.#parts.root, `web/cover?url=${encodeURIComponent(url)}`).href;
    return frame;
  }
}

/** The first date of a playlist, Unix milliseconds; +∞: it has none. @param {URL} url */
async function firstDateOf(url) {
  const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!answer.ok || answer.body === null) throw new Error(String(answer.status));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (let isDone = false; !isDone && text.length < MAX_HEAD_CHARACTERS; ) {
    const part = await reader.read();
    isDone = part.done;
    text += part.value ?? '';
    const [, date] = /^#EXT-X-PROGRAM-DATE-TIME:(\S+)\s/m.exec(text) ?? [];
    if (date === undefined) continue;
    // A day of it is long.
    void reader.cancel();
    return Date.parse(date);
  }
  return Number.POSITIVE_INFINITY;
}

/** @param {ChannelRecord} record */
function isListed({ etype, title, source }) {
  return title !== '' && source !== 'fallback' && !SPOTS.includes(etype);
}

/** @param {ChannelRecord} record */
function entryOf(record) {
  return { record, fromMs: record.startMs };
}

/** Whether a title is this play of it. @param {{ record: ChannelRecord, fromMs: number }} entry @param {ChannelRecord} title */
function isPlayOf({ record, fromMs }, title) {
  // Of a playlist, which says when it went on air.
  return isSamePlay(record, title, title.source === '' ? fromMs : record.startMs);
}

/** @param {{ record: ChannelRecord, fromMs: number }} entry */
function idOf({ record, fromMs }) {
  return `${fromMs} ${record.id}`;
}

/** @param {string} text */
function lineOf(text) {
  const line = document.createElement('span');
  line.className = 'line';
  line.dir = 'auto';
  line.textContent = text;
  return line;
}
