// @ts-check
/** A list of channels with their titles, and one player for all of them at the bottom of the page. Titles come by one connection for each station. */

import { addressOf } from '../client/browser.ts';
import { follow } from '../client/follow.ts';
import { loadPicture } from '../client/player/loaded-picture.ts';
import { icon } from '../client/player/player-drawing.ts';

/** @typedef {import('../client/types.ts').ChannelRecord} ChannelRecord */
/** @typedef {import('../client/player/player-element.ts').AirsplicePlayer} AirsplicePlayer */
/** @typedef {import('../client/player/channel-directory.ts').ChannelDirectory} ChannelDirectory */
/** @typedef {import('../client/player/channel-directory.ts').DirectoryChannel} DirectoryChannel */
/** @typedef {{ root: URL, directory: ChannelDirectory, texts: Record<string, string>, channels: DirectoryChannel[] }} ListParts */

class Row {
  element;
  key;
  button;
  #title;
  #state;
  /** The title in force, even if the channel is not on air. */
  title = '';
  /** Its record; null: not known yet. @type {ChannelRecord | null} */
  record = null;
  /** The title that this listener hears; null: the channel is not being played. @type {string | null} */
  #heard = null;
  #onAir = true;

  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    this.key = element.dataset['channel'] ?? '';
    this.button = /** @type {HTMLButtonElement} */ (element.querySelector('.row-play'));
    this.#title = /** @type {HTMLElement} */ (element.querySelector('.row-title'));
    this.#state = /** @type {HTMLElement} */ (element.querySelector('.row-state'));
    this.title = this.#title.textContent ?? '';
    this.button.append(icon('play'), icon('stop'));
  }

  /** The text in which a search looks. */
  get words() {
    return `${this.element.querySelector('.row-name')?.textContent} ${this.title}`.toLowerCase();
  }

  /** @param {boolean} onAir @param {string} state */
  show(onAir, state) {
    this.#onAir = onAir;
    if (this.#state.textContent !== state) this.#state.textContent = state;
    this.element.classList.toggle('silent', !onAir);
    this.showTitle(this.title);
  }

  /** @param {string | null} heard */
  showHeard(heard) {
    if (this.#heard === heard) return;
    this.#heard = heard;
    this.showTitle(this.title);
  }

  /** @param {string} title */
  showTitle(title) {
    this.title = title;
    const text = this.#heard ?? (this.#onAir ? title : '');
    if (this.#title.textContent !== text) this.#title.textContent = text;
  }
}

export class ChannelList {
  #parts;
  /** @type {Map<string, Row>} */
  #rows = new Map();
  #dock = /** @type {AirsplicePlayer} */ (document.getElementById('dock'));

  /** @param {ListParts} parts */
  constructor(parts) {
    this.#parts = parts;
    for (const element of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-channel]'))) {
      const row = new Row(element);
      this.#rows.set(row.key, row);
      row.button.onclick = () => this.#press(row);
    }
    this.#dock.addEventListener('change', () => this.#showPlaying());
    parts.directory.subscribe({ channel: '', pace: () => 'looking', onChange: () => this.#showStates() });
    this.#offerSearch();
    this.#follow(parts.channels);
    void this.#showLogos(parts.channels);
  }

  /** @param {Row} row */
  #press({ key, record }) {
    const dock = this.#dock;
    const isSame = dock.channel === key;
    if (isSame && dock.isOn) {
      dock.stop();
      return;
    }
    dock.parentElement?.removeAttribute('hidden');
    dock.channel = key;
    dock.prime(record, null);
    dock.play();
  }

  #showPlaying() {
    const { isOn, channel, state, now } = this.#dock;
    for (const row of this.#rows.values()) {
      const { key, element, button } = row;
      const isPlaying = isOn && key === channel;
      const isHeard = isPlaying && (state === 'playing' || state === 'stalled');
      row.showHeard(isHeard ? (now?.title ?? '') : null);
      element.classList.toggle('playing', isPlaying);
      const { texts } = this.#parts;
      const name = element.querySelector('.row-name')?.textContent;
      button.setAttribute('aria-label', `${isPlaying ? texts['stop'] : texts['play']}: ${name}`);
    }
  }

  #showStates() {
    const { directory, texts } = this.#parts;
    for (const row of this.#rows.values()) {
      const onAir = directory.get(row.key)?.onAir === true && !directory.isAway;
      row.show(onAir, (directory.isAway ? '' : onAir ? texts['onAir'] : texts['offAir']) ?? '');
    }
    const away = directory.isAway ? (texts['away'] ?? '') : '';
    const none = /** @type {HTMLElement} */ (document.getElementById('none'));
    if (directory.isAway || none.textContent === texts['away']) none.textContent = away;
  }

  /** @param {DirectoryChannel[]} channels */
  #follow(channels) {
    const server = this.#parts.root;
    for (const station of new Set(channels.map(({ stationkey }) => stationkey))) {
      const onNow = (/** @type {ChannelRecord} */ record) => {
        const row = this.#rows.get(record.channelkey);
        if (row === undefined) return;
        row.record = record;
        row.showTitle(record.title);
      };
      follow({ station, server, onNow, onState: (state) => state === 'reconnecting' && this.#parts.directory.check() });
    }
  }

  #offerSearch() {
    const search = /** @type {HTMLInputElement | null} */ (document.getElementById('search'));
    if (search === null) return;
    search.oninput = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let count = 0;
      for (const row of this.#rows.values()) {
        row.element.hidden = !words.every((word) => row.words.includes(word));
        if (!row.element.hidden) count++;
      }
      for (const group of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('.group')))
        group.hidden = group.querySelector('.row:not([hidden])') === null;
      const none = /** @type {HTMLElement} */ (document.getElementById('none'));
      none.textContent = count === 0 ? (this.#parts.texts['searchNone'] ?? '') : '';
    };
  }

  /** @param {DirectoryChannel[]} channels */
  async #showLogos(channels) {
    for (const { key, logo } of channels) {
      const tile = document.querySelector(`[data-tile="${key}"]`);
      if (logo === '' || tile === null) continue;
      const image = document.createElement('img');
      image.alt = '';
      // The logo replaces the drawn picture, since its corners may be transparent.
      image.onload = () => tile.replaceChildren(image);
      image.src = await loadPicture(addressOf(this.#parts.root, logo));
    }
  }
}
