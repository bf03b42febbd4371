// @ts-check
/**
 * The titles before the one that this listener hears, with times and covers, without jingles and advertisements. Read once; titles that this page has
 * received since are put before them.
 */

import { addressOf } from '../client/browser.ts';
import { readRecord } from '../client/channel-record.ts';
import { coverFrame, drawnCover, icon } from '../client/player/player-drawing.ts';
import { isSamePlay } from '../client/player/title-facts.ts';

/** @typedef {import('../client/types.ts').ChannelRecord} ChannelRecord */
/** @typedef {import('../client/player/player-element.ts').AirsplicePlayer} AirsplicePlayer */
/**
 * @typedef {object} HistoryParts
 * @property {URL} root
 * @property {Record<string, string>} texts
 * @property {string} language
 * @property {AirsplicePlayer | undefined} player
 * @property {{ path: string, hours: number } | null} rewind
 */

/** Jingle, promo, advertisement. */
const SPOTS = [101, 102, 103];
const FIRST = 10;
const MORE = 20;
/** More than MORE, since jingles are left out. */
const ASKED = 40;
/** Time limit of a request. */
const TIMEOUT_MS = 10_000;
/** A playlist has its first date within this. */
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
  /** Length of the longest time, for the width of the column. */
  #timeChars = 0;
  /** The title heard; while nothing plays, and in a rewind, the live one. @type {ChannelRecord | null} */
  #current = null;
  #isLoading = false;
  #hasMore = true;
  #before = '';
  /** The beginning of the rewind, unix milliseconds. */
  #rewindFromMs = Number.POSITIVE_INFINITY;
  /** Added to the monotonic time to get the server's, unix milliseconds: the clock of this device may be wrong. */
  #serverOriginMs = performance.timeOrigin;

  /** @param {HTMLElement} section @param {HistoryParts} parts */
  constructor(section, parts) {
    this.#section = section;
    this.#parts = parts;
    this.#list = /** @type {HTMLElement} */ (section.querySelector('ol'));
    this.#more = /** @type {HTMLButtonElement} */ (section.querySelector('button'));
    this.#empty = /** @type {HTMLElement} */ (section.querySelector('.empty'));
    this.#more.onclick = () => void this.#showMore();
    this.#current = parts.player?.now ?? null;
    // In a rewind, titles up to the live one are listed too, since they can be played.
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
      const { firstMs, serverMs } = await firstDateOf(addressOf(root, rewind.path));
      this.#rewindFromMs = firstMs;
      if (serverMs > 0) this.#serverOriginMs = serverMs - performance.now();
    } catch {
      return; // retried at the next title
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
      // Titles that have begun while the first answer was pending may be in it too.
      const isBehind = this.#before !== '';
      const own = this.#entries.filter(({ record }) => isBehind || !loaded.some((each) => isPlayOf(each, record)));
      this.#entries = [...own, ...loaded];
      this.#before = entries.at(-1)?.from ?? this.#before;
      this.#hasMore = entries.length === ASKED;
    } catch {
      // The button retries.
      this.#hasMore = this.#entries.length > 0;
    }
    this.#isLoading = false;
  }

  /** The titles before the current one: none that this listener has not reached. */
  get #visible() {
    const current = this.#current;
    const at = this.#entries.findIndex((entry) => current !== null && isPlayOf(entry, current));
    return this.#entries.slice(at + 1).filter(({ record }) => isListed(record));
  }

  #show() {
    const { rewind } = this.#parts;
    const serverMs = this.#serverOriginMs + performance.now();
    const oldestMs = Math.max(this.#rewindFromMs, serverMs - (rewind?.hours ?? 0) * 3_600_000);
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

  /** Marks the row of the title that is heard in a rewind. */
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

  /** The reader's own locale for times, if it is one of the page's language. */
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
    if (record.cover !== '') {
      const frame = coverFrame(this.#parts.root, record.cover, this.#parts.texts['cover'] ?? '');
      frame.loading = 'lazy';
      cover.append(frame);
    }
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
}

/**
 * The first date of a playlist, unix milliseconds (+∞: it has none), and when the server sent it by its own clock (NaN: it does not say).
 * @param {URL} url
 */
async function firstDateOf(url) {
  const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!answer.ok || answer.body === null) throw new Error(String(answer.status));
  const serverMs = Date.parse(answer.headers.get('date') ?? '');
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (let isDone = false; !isDone && text.length < MAX_HEAD_CHARACTERS; ) {
    const part = await reader.read();
    isDone = part.done;
    text += part.value ?? '';
    const [, date] = /^#EXT-X-PROGRAM-DATE-TIME:(\S+)\s/m.exec(text) ?? [];
    if (date === undefined) continue;
    // A playlist of a whole day is long.
    void reader.cancel();
    return { firstMs: Date.parse(date), serverMs };
  }
  return { firstMs: Number.POSITIVE_INFINITY, serverMs };
}

/** @param {ChannelRecord} record */
function isListed({ etype, title, source }) {
  return title !== '' && source !== 'fallback' && !SPOTS.includes(etype);
}

/** @param {ChannelRecord} record */
function entryOf(record) {
  return { record, fromMs: record.startMs };
}

/** Whether a title is the play in this entry. @param {{ record: ChannelRecord, fromMs: number }} entry @param {ChannelRecord} title */
function isPlayOf({ record, fromMs }, title) {
  // A title from a playlist has the time at which it went on air.
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
