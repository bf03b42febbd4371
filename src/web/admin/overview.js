// @ts-check
/** An overview of all channels: state, title, and listeners, now and over the day. */

import { ask, read } from './api.js';
import { hoursOf, spark } from './charts.js';
import { confirm } from './dialog.js';
import { list, make, mark, part, say } from './dom.js';
import { ago, audienceOf, counted, lagOf, sourceName, stateOf } from './words.js';

/** @typedef {import('./api.js').ChannelReport} ChannelReport */

/** How often the listeners over the day are read. */
const DAY_EVERY_MS = 300_000;
/** After a failure. */
const DAY_AGAIN_MS = 10_000;
/** From this number of channels on, there is a search field. */
const MANY = 8;

export class Overview {
  title = 'Channels';
  element;
  #live;
  #rows = make('ul', { class: 'channels' });
  #sum = make('p', { class: 'sum' });
  #filter = make('input', { type: 'search', placeholder: 'Find a channel', 'aria-label': 'Find a channel' });
  #empty = make('p', { class: 'note' }, 'No channels match.');
  /** By channel: its day, null until known, and when to read it again. */
  #days = /** @type {Map<string, { series: any[] | null, dueMs: number }>} */ (new Map());
  #isAsking = false;
  #timer;

  /** @param {import('./page.js').Page} page */
  constructor({ live, may }) {
    this.#live = live;
    const reload = make(
      'button',
      { type: 'button', hidden: !may('operate'), onclick: reloadNow },
      'Reload configuration …',
    );
    this.element = make(
      'div',
      { class: 'overview' },
      make('div', { class: 'heading' }, make('h1', {}, 'Channels'), this.#sum, this.#filter, reload),
      this.#rows,
      this.#empty,
    );
    this.#filter.oninput = () => this.show();
    this.#timer = setInterval(() => document.hidden || this.#refresh(), 1000);
    this.show();
  }

  close() {
    clearInterval(this.#timer);
  }

  /** Called when something has changed. */
  show() {
    const { channels } = this.#live;
    const wanted = this.#filter.value.trim().toLowerCase();
    this.#filter.hidden = channels.length < MANY;
    const fits = (/** @type {ChannelReport} */ { channel, name, station, title }) =>
      [channel, name, station, title].some((text) => text.toLowerCase().includes(wanted));
    const found = channels.filter(fits);
    list(
      this.#rows,
      found,
      ({ channel }) => channel,
      (channel) => this.#begin(channel),
      fill,
    );
    this.#empty.hidden = found.length > 0 || wanted === '';
    const listeners = channels.reduce((sum, channel) => sum + channel.listeners, 0);
    const bad = channels.filter((channel) => stateOf(channel).level === 'bad').length;
    const troubles = bad === 0 ? '' : ` · ${bad} without audio`;
    say(this.#sum, `${counted(channels.length, 'channel')} · ${counted(listeners, 'listener')}${troubles}`);
  }

  /** @param {ChannelReport} channel */
  #begin({ channel }) {
    const row = make(
      'li',
      { class: 'channel' },
      make(
        'a',
        { href: `#/channel/${encodeURIComponent(channel)}` },
        make('span', { class: 'status' }),
        make('span', { class: 'name', dir: 'auto' }),
        make('span', { class: 'station', dir: 'auto' }),
      ),
      make('p', { class: 'playing', dir: 'auto' }),
      make('p', { class: 'source' }),
      make(
        'div',
        { class: 'audience' },
        make('p', { class: 'listeners' }),
        make('span', { class: 'lag' }),
        make('div', { class: 'today' }),
      ),
    );
    this.#drawDay(row, channel);
    return row;
  }

  /** @param {HTMLElement} row @param {string} channel */
  #drawDay(row, channel) {
    const series = this.#days.get(channel)?.series ?? null;
    if (series !== null) part(row, 'today').replaceChildren(spark(hoursOf(series)));
  }

  /** Reads the days of visible rows that are due, one after another, since the server makes one such answer at a time. */
  async #askDays() {
    if (this.#isAsking) return;
    this.#isAsking = true;
    for (let channel = this.#due(); channel !== undefined; channel = this.#due()) {
      const known = this.#days.get(channel)?.series ?? null;
      const series = await read('statistics', { channel, by: 'hour' }).then(
        (answer) => answer.series,
        () => null,
      );
      // A failure must not look like a day without listeners.
      const dueMs = Date.now() + (series === null ? DAY_AGAIN_MS : DAY_EVERY_MS);
      this.#days.set(channel, { series: series ?? known, dueMs });
      for (const row of this.#children) if (row.dataset['key'] === channel) this.#drawDay(row, channel);
    }
    this.#isAsking = false;
  }

  /** @returns {string | undefined} */
  #due() {
    const isDue = (/** @type {HTMLElement} */ { dataset }) =>
      (this.#days.get(dataset['key'] ?? '')?.dueMs ?? 0) <= Date.now();
    const isInSight = (/** @type {HTMLElement} */ row) => {
      const { top, bottom } = row.getBoundingClientRect();
      return bottom > 0 && top < innerHeight;
    };
    return this.#children.find((row) => isDue(row) && isInSight(row))?.dataset['key'];
  }

  get #children() {
    return /** @type {HTMLElement[]} */ ([...this.#rows.children]);
  }

  /** While the server is there, updates durations, and reads the days of visible rows again. */
  #refresh() {
    if (this.#live.state !== 'live') return;
    const channels = new Map(this.#live.channels.map((each) => [each.channel, each]));
    for (const child of this.#children) {
      const channel = channels.get(child.dataset['key'] ?? '');
      if (channel !== undefined) fill(child, channel);
    }
    void this.#askDays();
  }
}

/** @param {HTMLElement} row @param {ChannelReport} channel */
function fill(row, channel) {
  const { word, level } = stateOf(channel);
  const status = part(row, 'status');
  mark(status, 'data-level', level);
  say(status, word);
  say(part(row, 'name'), channel.name || channel.channel);
  say(part(row, 'station'), channel.station);
  say(part(row, 'playing'), channel.title || 'No title');
  say(part(row, 'source'), sourceLine(channel));
  const { listeners, lagMs } = channel;
  say(part(row, 'listeners'), audienceOf(channel));
  say(
    part(row, 'lag'),
    listeners === 0 ? 'listeners' : `${listeners === 1 ? 'listener' : 'listeners'} · ${lagOf(lagMs)} behind live`,
  );
}

/** @param {ChannelReport} channel */
function sourceLine({ onAir, silentSinceMs, sources }) {
  if (silentSinceMs !== null) return `no source has audio · for ${ago(silentSinceMs)}`;
  const source = onAir === null ? undefined : sources[onAir];
  if (source === undefined) return '';
  const since = source.sinceMs === null ? '' : ` · for ${ago(source.sinceMs)}`;
  const rate = source.bitrateKbps === 0 ? '' : ` · ${source.bitrateKbps} kb/s`;
  return `source ${sourceName(source)}${rate}${since}`;
}

function reloadNow() {
  const text =
    'The server reads its configuration file again and applies what has changed. Everything else keeps running. If the file has an error, nothing changes.';
  confirm({ title: 'Reload the configuration?', text, button: 'Reload' }, async () => {
    const { changes } = await ask('POST', 'admin/reload');
    return changes.join(' · ');
  });
}
