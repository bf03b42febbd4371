// @ts-check
/** One channel in detail. Read every two seconds while the page is visible; each panel shows its part. */

import { Refused, read, urlOf } from './api.js';
import { day, hoursOf, redraw } from './charts.js';
import { textOf } from './dialog.js';
import { list, make, mark, part, say, section, showFigures } from './dom.js';
import { ListenersPanel } from './listeners.js';
import { SourcesPanel } from './sources.js';
import { TitlesPanel } from './titles.js';
import { ago, audienceOf, count, ENDINGS, hlsOf, lagOf, stateOf } from './words.js';

/**
 * @typedef {import('../../admin/channel-rows.js').ChannelReport & import('../../admin/channel-rows.js').ChannelDepth
 *   & import('../../admin/rows.js').CrowdReport
 *   & { now: import('../../admin/channel-rows.js').TitleReport | null }} OneChannel
 */

const EVERY_MS = 2000;
const DAY_EVERY_MS = 60_000;
const DAY_AGAIN_MS = 10_000;

export class ChannelView {
  title;
  element = make('div', { class: 'one-channel' });
  #key;
  #panels;
  #status = make('span', { class: 'status' });
  #name = make('h1', { dir: 'auto' });
  #about = make('p', { class: 'about', dir: 'auto' });
  #listen = make('a', { class: 'listen', target: '_blank', rel: 'noopener' }, 'Listen');
  #numbers = make('dl', { class: 'numbers' });
  #day = section('Listeners in the last 24 hours', make('div', { class: 'drawn' }));
  #endings = section(
    'Why listeners left',
    make('p', { class: 'note' }, 'No listener has left since the server started.'),
    make('ul', { class: 'endings' }),
  );
  #trouble = make('p', { class: 'trouble', role: 'alert' });
  #timer;
  #dayDueMs = 0;
  #isAsking = false;

  /** @param {import('./page.js').Page} page @param {string} key */
  constructor(page, key) {
    this.#key = key;
    this.title = key;
    this.#panels = [new TitlesPanel(page, key), new SourcesPanel(page, key), new ListenersPanel(page, key)];
    const [titles, sources, listeners] = this.#panels.map(({ element }) => element);
    say(this.#name, key);
    this.element.append(
      make('p', { class: 'back' }, make('a', { href: '#/' }, '← All channels')),
      make('div', { class: 'heading' }, this.#name, this.#status, this.#listen, this.#about),
      this.#trouble,
      this.#numbers,
      make('div', { class: 'panels' }, titles, sources, this.#day, this.#endings, listeners),
    );
    this.#timer = setInterval(() => document.hidden || void this.#look(), EVERY_MS);
    void this.#look();
  }

  show() {
    void this.#look();
  }

  close() {
    clearInterval(this.#timer);
  }

  async #look() {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      const channel = /** @type {OneChannel} */ (await read(`channels/${encodeURIComponent(this.#key)}`));
      this.#fill(channel);
      await Promise.all(this.#panels.map((panel) => panel.show(channel)));
      await this.#showDay();
      say(this.#trouble, '');
    } catch (error) {
      const isGone = error instanceof Refused && error.status === 404;
      say(
        this.#trouble,
        isGone ? 'There is no such channel. It may have been removed from the configuration.' : textOf(error),
      );
    } finally {
      this.#isAsking = false;
    }
  }

  /** @param {OneChannel} channel */
  #fill(channel) {
    const { name, station, description, listenUrl, tape } = channel;
    const { word, level } = stateOf(channel);
    say(this.#name, name || this.#key);
    say(this.#status, word);
    mark(this.#status, 'data-level', level);
    say(this.#about, [station, this.#key, description].filter((text) => text !== '').join(' · '));
    mark(this.#listen, 'href', urlOf(listenUrl));
    const { peakListeners, connections, hlsListeners, lagMs, bitrateKbps, contentType, sampleRate } = channel;
    const format = contentType.replace(/^audio\//, '');
    showFigures(this.#numbers, [
      ['Listeners', audienceOf(channel)],
      ['Peak', count(peakListeners)],
      ['Connections', count(connections)],
      // Not included in the listeners: anonymous players of HLS.
      ...(hlsListeners === 0 ? [] : [['HLS listeners', `about ${count(hlsListeners)}, without caches`]]),
      ['Behind the live edge', lagOf(lagMs)],
      // A number and its unit stay together.
      ['Format', `${format} ${bitrateKbps}\u00a0kb/s${sampleRate === 0 ? '' : ` ${sampleRate / 1000}\u00a0kHz`}`],
      ['Delay', tape === null || tape.delayMs === 0 ? 'none' : `${lagOf(tape.delayedMs)} of ${lagOf(tape.delayMs)}`],
      ['HLS output', hlsOf(channel.hls)],
      channel.silentSinceMs === null
        ? ['On air for', channel.onAirSinceMs === null ? '–' : ago(channel.onAirSinceMs)]
        : ['No audio for', ago(channel.silentSinceMs)],
    ]);
    this.#showEndings(channel);
  }

  /** @param {OneChannel} channel */
  #showEndings({ endings }) {
    const found = Object.entries(endings)
      .filter(([, times]) => times > 0)
      .sort(([, a], [, b]) => b - a);
    const most = Math.max(1, ...found.map(([, times]) => times));
    part(this.#endings, 'note').hidden = found.length > 0;
    list(
      part(this.#endings, 'endings'),
      found,
      ([reason]) => reason,
      ([reason]) =>
        make(
          'li',
          {},
          make('span', {}, ENDINGS[reason] ?? reason),
          make('meter', { min: 0 }),
          make('span', { class: 'times' }),
        ),
      (row, [, times]) => {
        const meter = /** @type {HTMLMeterElement} */ (row.querySelector('meter'));
        meter.max = most;
        meter.value = times;
        say(part(row, 'times'), count(times));
      },
    );
  }

  async #showDay() {
    if (Date.now() < this.#dayDueMs) return;
    this.#dayDueMs = Date.now() + DAY_AGAIN_MS;
    const { series } = await read('statistics', { channel: this.#key, by: 'hour' });
    this.#dayDueMs = Date.now() + DAY_EVERY_MS;
    const place = part(this.#day, 'drawn');
    redraw(place, (isOpen) => day(hoursOf(series), place.clientWidth, isOpen));
  }
}
