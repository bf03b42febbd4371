// @ts-check
/** The Statistics view: listeners over time, countries, players, pages, titles, and reports as downloads. Sends one request after another. */

import { read, urlOf } from './api.js';
import { columns, hoursOf, redraw } from './charts.js';
import { textOf } from './dialog.js';
import { list, make, mark, part, say, section, showFigures, table } from './dom.js';
import { serverNow } from './time.js';
import { count, counted, lasting } from './words.js';

/** @typedef {{ at: string, peak: number, listeners: number, listeningHours: number }} Row */
/** @typedef {{ connections: number, listeners: number, listeningHours: number, peak: number, averageSeconds: number | null }} Figures */
/** @typedef {{ artist: string, title: string, listenerMinutes: number, averageListeners: number }} Play */

const PERIOD_MS = { hour: 3_600_000, day: 86_400_000 };
const SPANS = /** @type {const} */ ([
  { id: 'day', text: 'Last 24 hours', by: 'hour', periods: 24 },
  { id: 'week', text: 'Last 7 days', by: 'day', periods: 7 },
  { id: 'month', text: 'Last 30 days', by: 'day', periods: 30 },
]);
const KINDS = /** @type {const} */ ([
  ['country', 'Countries', 'Country'],
  ['player', 'Players', 'Player'],
  ['page', 'Pages', 'Page'],
]);
/** Figures change each minute. */
const EVERY_MS = 30_000;
/** The interval for a week or a month, whose answers are long. */
const LONG_EVERY_MS = 300_000;
/** Limit on rows in a table; the downloads contain all. */
const MOST = 20;
/** Number of months offered for reports. */
const MONTHS = 13;
const COUNTRY = new Intl.DisplayNames('en', { type: 'region', fallback: 'code' });

export class AudienceView {
  title = 'Statistics';
  element;
  #live;
  #subject = make('select', { 'aria-label': 'Channel' });
  #span = make(
    'select',
    { 'aria-label': 'Period' },
    ...SPANS.map(({ id, text }) => make('option', { value: id }, text)),
  );
  #trouble = make('p', { class: 'trouble', role: 'alert' });
  #numbers = make('dl', { class: 'numbers' });
  #chart = make('div', { class: 'drawn' });
  #tables = KINDS.map(([, heading, column]) =>
    table(heading, [column, 'Listening hours', 'Listeners', 'Peak'], 'Nothing was counted in this period.'),
  );
  #titles = table('Titles', ['Title', 'Listener minutes', 'Average listeners'], 'No title was heard in this period.');
  #downloads = make('ul', { class: 'downloads' });
  #month = make('select', { 'aria-label': 'Month of the report' }, ...months());
  /** The latest request. */
  #asked = 0;
  /** When it was sent, by this device; 0: it failed. */
  #askedMs = 0;
  #isAsking = false;
  #isFilled = false;
  #timer = setInterval(() => document.hidden || !this.#isFilled || this.#refresh(), EVERY_MS);

  /** @param {import('./page.js').Page} page */
  constructor({ live }) {
    this.#live = live;
    for (const input of [this.#subject, this.#span]) input.onchange = () => void this.#look();
    this.#month.onchange = () => this.#showDownloads();
    this.element = make(
      'div',
      {},
      make('div', { class: 'heading' }, make('h1', {}, 'Statistics'), this.#subject, this.#span),
      this.#trouble,
      this.#numbers,
      make(
        'div',
        { class: 'panels' },
        section('Listeners over time', this.#chart),
        ...this.#tables.map(({ element }, i) => section(KINDS[i]?.[1] ?? '', element)),
        section('Titles', this.#titles.element),
        section('Downloads', make('label', {}, 'Month of the royalty reports ', this.#month), this.#downloads),
      ),
    );
    this.show();
  }

  close() {
    clearInterval(this.#timer);
    this.#asked++;
  }

  /** The channels are known a moment after the page is loaded. */
  show() {
    const { channels } = this.#live;
    if (this.#isFilled || channels.length === 0) return;
    this.#isFilled = true;
    for (const { channel, name } of channels) this.#subject.append(make('option', { value: channel }, name || channel));
    void this.#look();
  }

  get #chosen() {
    return SPANS.find(({ id }) => id === this.#span.value) ?? SPANS[0];
  }

  get #query() {
    const { by, periods } = this.#chosen;
    // Whole periods, so that the sums equal those of the chart's columns.
    const first = Math.floor(serverNow() / PERIOD_MS[by]) - periods + 1;
    const from = new Date(first * PERIOD_MS[by]).toISOString().replace(/\.\d+Z$/, 'Z');
    return { channel: this.#subject.value, by, from };
  }

  #refresh() {
    const isDue = this.#chosen.by === 'hour' || Date.now() - this.#askedMs >= LONG_EVERY_MS;
    if (isDue && !this.#isAsking) void this.#look();
  }

  async #look() {
    const asked = ++this.#asked;
    this.#askedMs = Date.now();
    this.#isAsking = true;
    const query = this.#query;
    this.#showDownloads();
    try {
      const { totals, series } = await read('statistics', query);
      if (asked !== this.#asked) return;
      this.#showNumbers(totals);
      this.#showSeries(series, this.#chosen);
      for (const [i, [of]] of KINDS.entries()) {
        const { totals } = await read('statistics', { ...query, of });
        if (asked !== this.#asked) return;
        const { element, body } = /** @type {{ element: HTMLElement, body: HTMLElement }} */ (this.#tables[i]);
        fillFigures(body, of, totals.slice(0, MOST));
        element.classList.toggle('none', totals.length === 0);
      }
      const { plays } = await read('statistics/titles', { channel: query.channel, from: query.from });
      if (asked === this.#asked) this.#showTitles(plays);
      say(this.#trouble, '');
    } catch (error) {
      if (asked !== this.#asked) return;
      this.#askedMs = 0;
      say(this.#trouble, textOf(error));
    } finally {
      if (asked === this.#asked) this.#isAsking = false;
    }
  }

  /** @param {Figures} totals */
  #showNumbers({ connections, listeners, listeningHours, peak, averageSeconds }) {
    showFigures(this.#numbers, [
      ['Listening hours', count(Math.round(listeningHours * 100) / 100)],
      ['Peak', count(peak)],
      ['Unique listeners', count(listeners)],
      ['Connections', count(connections)],
      ['Average duration', averageSeconds === null ? '–' : lasting(averageSeconds * 1000)],
    ]);
  }

  /** @param {readonly Row[]} series @param {(typeof SPANS)[number]} span */
  #showSeries(series, { by, periods }) {
    if (series.every(({ peak }) => peak === 0)) {
      this.#chart.replaceChildren(make('p', { class: 'note' }, 'Nothing was counted in this period.'));
      return;
    }
    const format = new Intl.DateTimeFormat(
      'en-GB',
      by === 'hour' ? { hour: '2-digit', minute: '2-digit' } : { day: 'numeric', month: 'short', timeZone: 'UTC' },
    );
    // Days are UTC days.
    const nameOf = (/** @type {string} */ date) => format.format(Date.parse(date));
    const points =
      by === 'hour'
        ? hoursOf(series).map(({ atMs, ...each }) => ({ name: format.format(atMs), ...each }))
        : daysOf(series, periods).map(({ at, ...each }) => ({ name: nameOf(at), ...each }));
    const best = points.reduce((a, b) => (b.peak > a.peak ? b : a));
    const label = `Peak: ${counted(best.peak, 'listener')}, ${best.name}`;
    const first = by === 'hour' ? 'Hour' : 'Day';
    redraw(this.#chart, (isOpen) => columns(points, { label, first, width: this.#chart.clientWidth, isOpen }));
  }

  /** A title has one row for all its plays. @param {readonly Play[]} plays */
  #showTitles(plays) {
    const sums = /** @type {Map<string, { minutes: number, average: number, times: number }>} */ (new Map());
    for (const { artist, title, listenerMinutes, averageListeners } of plays) {
      const name = [artist, title].filter((text) => text !== '').join(' - ');
      if (name === '' || listenerMinutes === 0) continue;
      const { minutes, average, times } = sums.get(name) ?? { minutes: 0, average: 0, times: 0 };
      sums.set(name, { minutes: minutes + listenerMinutes, average: average + averageListeners, times: times + 1 });
    }
    const rows = [...sums].sort(([, a], [, b]) => b.minutes - a.minutes).slice(0, MOST);
    this.#titles.element.classList.toggle('none', rows.length === 0);
    this.#titles.body.replaceChildren(
      ...rows.map(([name, { minutes, average, times }]) =>
        make(
          'tr',
          {},
          make('th', { scope: 'row', dir: 'auto' }, name),
          make('td', {}, count(Math.round(minutes * 10) / 10)),
          make('td', {}, count(Math.round((average / times) * 10) / 10)),
        ),
      ),
    );
  }

  #showDownloads() {
    const { channel, by, from } = this.#query;
    const month = this.#month.value;
    /** @type {readonly (readonly [text: string, path: string, query: Record<string, string>])[]} */
    const files = [
      ['Listeners over time', 'statistics.csv', { channel, by, from }],
      ...KINDS.map(([of, heading]) => /** @type {const} */ ([heading, 'statistics.csv', { channel, by, from, of }])),
      ['Titles with their audience', 'statistics/titles.csv', { channel, from }],
      [`Royalty report, every play, ${month}`, 'statistics/royalty.csv', { channel, month }],
      [`Royalty report, report of use, ${month}`, 'statistics/royalty.csv', { channel, month, form: 'use' }],
    ];
    list(
      this.#downloads,
      files,
      ([, path, { of = '', form = '' }]) => `${path} ${of} ${form}`,
      () => make('li', {}, make('a', { class: 'file' })),
      (row, [text, path, query]) => {
        const link = part(row, 'file');
        const named = [channel, query['of'] ?? path.replace(/^.*\/|\.csv$/g, ''), query['form'], query['month']];
        // Spreadsheets recognise UTF-8 only by a byte order mark.
        mark(link, 'href', `${urlOf(`admin/api/${path}`)}?${new URLSearchParams({ ...query, bom: '1' })}`);
        mark(link, 'download', `${named.filter(Boolean).join('-')}.csv`);
        say(link, `${text} (CSV)`);
      },
    );
  }
}

/**
 * The last `days` days up to the last known one or today, including days without listeners.
 * @param {readonly Row[]} series @param {number} days
 */
export function daysOf(series, days) {
  const found = new Map(series.map((row) => [dateOf(Date.parse(row.at)), row]));
  const last = [...found.keys(), dateOf(serverNow())].sort().at(-1) ?? '';
  return Array.from({ length: days }, (_, i) => {
    const at = dateOf(Date.parse(last) - (days - 1 - i) * PERIOD_MS.day);
    const { peak = 0, listeners = 0 } = found.get(at) ?? {};
    return { at, peak, listeners };
  });
}

/** The date in UTC, as days are stored. @param {number} atMs */
function dateOf(atMs) {
  return new Date(atMs).toISOString().slice(0, 10);
}

/** @param {HTMLElement} body @param {string} of @param {readonly (Figures & Record<string, string>)[]} totals */
function fillFigures(body, of, totals) {
  const most = Math.max(...totals.map(({ listeningHours }) => listeningHours), 0.0001);
  body.replaceChildren(
    ...totals.map(({ [of]: value = '', listeningHours, listeners, peak }) =>
      make(
        'tr',
        {},
        make('th', { scope: 'row', dir: 'auto' }, nameOf(of, String(value))),
        make(
          'td',
          {},
          make('meter', { min: 0, max: most, value: listeningHours, 'aria-hidden': 'true' }),
          ` ${count(Math.round(listeningHours * 100) / 100)}`,
        ),
        make('td', {}, count(listeners)),
        make('td', {}, count(peak)),
      ),
    ),
  );
}

/** @param {string} of @param {string} value */
function nameOf(of, value) {
  if (value === 'unknown') return of === 'page' ? 'No page (a separate player)' : 'Unknown';
  if (value === 'other') return 'Other';
  return of === 'country' && /^[A-Z]{2}$/.test(value) ? (COUNTRY.of(value) ?? value) : value;
}

/** The present month, and earlier ones. */
function months() {
  const now = new Date(serverNow());
  return Array.from({ length: MONTHS }, (_, i) => {
    const month = new Date(Date.UTC(now.getFullYear(), now.getMonth() - i, 1)).toISOString().slice(0, 7);
    return make('option', { value: month }, month);
  });
}
