// @ts-check
/** Charts: listeners over the day, and a tape with its titles and listeners. Each has a description in words. */

import { draw, make } from './dom.js';
import { serverNow } from './time.js';
import { count, counted } from './words.js';

const HOUR_MS = 3_600_000;
const HOURS = 24;
const MAX_WIDTH = 48;
const MAX_NAMES = 6;
/** Width of a column's name, pixels. */
const NAME_WIDTH = 56;
const HOUR = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });

/** @typedef {{ atMs: number, peak: number, listeners: number }} Hour */

/** The last 24 hours, even those without listeners. @param {readonly { at: string, peak: number, listeners: number }[]} series @returns {Hour[]} */
export function hoursOf(series) {
  const found = new Map(series.map((each) => [Date.parse(each.at), each]));
  const lastMs = Math.floor(serverNow() / HOUR_MS) * HOUR_MS;
  return Array.from({ length: HOURS }, (_, i) => {
    const atMs = lastMs - (HOURS - 1 - i) * HOUR_MS;
    const { peak = 0, listeners = 0 } = found.get(atMs) ?? {};
    return { atMs, peak, listeners };
  });
}

/** Small bars without a description: the text beside them has the facts. @param {readonly Hour[]} hours */
export function spark(hours) {
  const most = Math.max(1, ...hours.map(({ peak }) => peak));
  const bars = hours.map(({ peak }, i) => bar(i * 4, 24, 3, (peak / most) * 24));
  return draw(
    'svg',
    { class: 'spark', viewBox: '0 0 96 24', 'aria-hidden': 'true', preserveAspectRatio: 'none' },
    ...bars,
  );
}

/**
 * Replaces a chart. Its table stays open, and keeps the focus.
 * @param {HTMLElement} place @param {(isOpen: boolean) => Element} drawn
 */
export function redraw(place, drawn) {
  const hasFocus = place.contains(document.activeElement);
  place.replaceChildren(drawn(place.querySelector('details')?.open ?? false));
  if (hasFocus) place.querySelector('summary')?.focus({ preventScroll: true });
}

/** The last 24 hours. @param {readonly Hour[]} hours @param {number} width available pixels @param {boolean} isOpen whether the table is open */
export function day(hours, width, isOpen) {
  if (hours.every(({ peak }) => peak === 0))
    return make(
      'p',
      { class: 'note' },
      'No listeners were counted in the last 24 hours. The current minute counts once it is over.',
    );
  const best = hours.reduce((a, b) => (b.peak > a.peak ? b : a));
  const label = `Peak in the last 24 hours: ${count(best.peak)} at ${HOUR.format(best.atMs)}`;
  const points = hours.map(({ atMs, ...each }) => ({ name: HOUR.format(atMs), ...each }));
  return columns(points, { label, first: 'Hour', width, isOpen });
}

/**
 * Peaks over time as a chart with a scale, and as a table.
 * @param {readonly { name: string, peak: number, listeners: number }[]} points in order, at least one
 * @param {{ label: string, first: string, width: number, isOpen: boolean }} look label: description in words; first: heading of the table's first
 * column; width: available pixels; isOpen: whether the table is open
 */
export function columns(points, { label, first, width, isOpen }) {
  const most = Math.max(1, ...points.map(({ peak }) => peak));
  const [height, left, bottom] = [160, 44, 22];
  const step = (width - left) / points.length;
  // A single column is not as wide as the chart.
  const wide = Math.min(step - Math.min(4, step / 3), MAX_WIDTH);
  const every = Math.ceil(points.length / Math.max(1, Math.min(MAX_NAMES, Math.floor((width - left) / NAME_WIDTH))));
  const y = (/** @type {number} */ value) => (height - bottom) * (1 - value / most) + 8;
  const parts = [];
  for (const value of most === 1 ? [0, 1] : [0, Math.round(most / 2), most]) {
    parts.push(draw('line', { class: 'grid', x1: left, x2: width, y1: y(value), y2: y(value) }));
    parts.push(draw('text', { class: 'scale', x: left - 6, y: y(value) + 4, 'text-anchor': 'end' }, count(value)));
  }
  for (const [i, { name, peak }] of points.entries()) {
    const x = left + i * step + Math.min(2, step / 6);
    parts.push(bar(x, y(0), wide, y(0) - y(peak)));
    if (i % every === 0) parts.push(draw('text', { class: 'scale', x, y: height + 6 }, name));
  }
  const rows = points.map(({ name, peak, listeners }) =>
    make('tr', {}, make('th', { scope: 'row' }, name), make('td', {}, count(peak)), make('td', {}, count(listeners))),
  );
  const head = make('tr', {}, ...[first, 'Peak', 'Unique listeners'].map((each) => make('th', { scope: 'col' }, each)));
  return make(
    'div',
    { class: 'day' },
    draw('svg', { viewBox: `0 0 ${width} ${height + 10}`, role: 'img', 'aria-label': label }, ...parts),
    make(
      'details',
      { open: isOpen },
      make('summary', {}, 'Show as a table'),
      make('table', {}, make('thead', {}, head), make('tbody', {}, ...rows)),
    ),
  );
}

/**
 * A tape: the live edge at the right, titles at their places, and above it the number of listeners at each second.
 * @param {number} heldMs @param {readonly { title: string, behindMs: number }[]} titles @param {readonly number[]} bySecondsBehind
 * @param {number} width available pixels
 */
export function tape(heldMs, titles, bySecondsBehind, width) {
  const height = 86;
  const maxMs = Math.max(heldMs, bySecondsBehind.length * 1000, 10_000);
  const x = (/** @type {number} */ behindMs) => width * (1 - Math.min(1, Math.max(0, behindMs / maxMs)));
  const most = Math.max(1, ...bySecondsBehind);
  const parts = [draw('rect', { class: 'held', x: x(heldMs), y: 52, width: width - x(heldMs), height: 12, rx: 3 })];
  for (const [second, listeners] of bySecondsBehind.entries()) {
    if (listeners === 0) continue;
    const right = x(second * 1000);
    const barWidth = Math.max(2, right - x((second + 1) * 1000) - 1);
    parts.push(bar(right - barWidth, 48, barWidth, (listeners / most) * 44));
  }
  for (const { behindMs } of titles)
    parts.push(draw('rect', { class: 'mark', x: x(behindMs) - 1.5, y: 46, width: 3, height: 24 }));
  parts.push(draw('text', { class: 'scale', x: 0, y: 84 }, `${Math.round(maxMs / 1000)} s behind`));
  parts.push(draw('text', { class: 'scale', x: width, y: 84, 'text-anchor': 'end' }, 'live'));
  const listeners = bySecondsBehind.reduce((sum, each) => sum + each, 0);
  const label = `The buffer: ${Math.round(heldMs / 1000)} seconds of audio, ${counted(titles.length, 'title')}, ${counted(listeners, 'listener')}`;
  return draw(
    'svg',
    { class: 'tape', viewBox: `0 0 ${width} ${height + 4}`, role: 'img', 'aria-label': label },
    ...parts,
  );
}

/** @param {number} x @param {number} foot @param {number} width @param {number} height */
function bar(x, foot, width, height) {
  const tall = Math.max(height, 0);
  return draw('rect', { class: 'bar', x, y: foot - tall, width, height: tall, rx: Math.min(1.5, width / 2) });
}
