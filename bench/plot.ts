/**
 * A line plot as SVG: a line with dots for each series, with its name at the end. Pure, without a dependency; readable on light and dark pages. An
 * axis has numbers, linear or logarithmic, or names at equal distances.
 */

import { ascending } from './statistics.js';

export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [x: number | string, y: number])[];
}

export interface PlotPlan {
  readonly title: string;
  /** Text below the title. */
  readonly subtitle: string;
  readonly x: string;
  readonly y: string;
  readonly hasLogX?: boolean;
  readonly hasLogY?: boolean;
  readonly series: readonly Series[];
}

const WIDTH = 960;
const HEIGHT = 420;
const LEFT = 70;
const RIGHT = 250;
const TOP = 70;
const BOTTOM = 56;
/** Minimum distance of the names at the ends of lines. */
const LINE_HEIGHT = 16;
const LIGHT = ['#0969da', '#bc4c00', '#1a7f37', '#8250df', '#9a6700', '#cf222e', '#0a7a83', '#57606a'];
const DARK = ['#4493f8', '#f0883e', '#3fb950', '#ab7df8', '#d29922', '#f85149', '#39c5cf', '#9198a1'];

/** Returns an SVG document. Throws a RangeError without a point. */
export function plot(plan: PlotPlan): string {
  const points = plan.series.flatMap((series) => series.points);
  if (points.length === 0) throw new RangeError('a plot without a point');
  const x = horizontal(
    plan,
    points.map(([x]) => x),
  );
  const y = vertical(
    plan,
    points.map(([, y]) => y),
  );
  const grid = [
    ...y.ticks.map(
      (tick) =>
        `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y.at(tick)}" y2="${y.at(tick)}"/>` +
        `<text class="small" x="${LEFT - 8}" y="${y.at(tick) + 4}" text-anchor="end">${label(tick)}</text>`,
    ),
    ...x.ticks.map(
      (tick) =>
        `<text class="small" x="${x.at(tick)}" y="${HEIGHT - BOTTOM + 18}" text-anchor="middle">${escapeXml(label(tick))}</text>`,
    ),
  ];
  const ends = apart(plan.series.map(({ points }) => y.at(points.at(-1)?.[1] ?? 0)));
  const lines = plan.series.map(({ name, points }, index) => {
    if (points.length === 0) return '';
    const places = points.map(([px, py]) => [x.at(px), y.at(py)] as const);
    const [lastX, lastY] = places.at(-1)!;
    const dash = index < LIGHT.length ? '' : ' stroke-dasharray="5 4"';
    const right = WIDTH - RIGHT + 14;
    return (
      `<g class="s${index % LIGHT.length}"><polyline${dash} points="${places.map((place) => place.join(',')).join(' ')}"/>` +
      `${places.map(([cx, cy]) => `<circle cx="${cx}" cy="${cy}" r="3"/>`).join('')}` +
      `<line class="lead" x1="${lastX + 4}" y1="${lastY}" x2="${right - 4}" y2="${ends[index]}"/>` +
      `<text x="${right}" y="${ends[index]! + 4}">${escapeXml(name)}</text></g>`
    );
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-labelledby="heading">
<style>${STYLE}</style>
<rect class="paper" width="100%" height="100%"/>
<text id="heading" class="title" x="12" y="24">${escapeXml(plan.title)}</text>
<text class="small" x="12" y="42">${escapeXml(plan.subtitle)}</text>
<text class="small" x="12" y="${TOP - 10}">${escapeXml(plan.y)}</text>
<text class="small" x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 14}" text-anchor="middle">${escapeXml(plan.x)}</text>
${grid.join('\n')}
${lines.join('\n')}
</svg>
`;
}

interface Axis<T> {
  readonly ticks: readonly T[];
  at(value: T): number;
}

function horizontal({ hasLogX }: PlotPlan, values: readonly (number | string)[]): Axis<number | string> {
  const names = [...new Set(values)];
  const room = WIDTH - LEFT - RIGHT;
  if (names.some((name) => typeof name === 'string')) {
    const step = room / Math.max(1, names.length - 1);
    return { ticks: names, at: (name) => place(LEFT + names.indexOf(name) * step) };
  }
  const numbers = ascending(names as number[]);
  const [low, high] = [numbers[0]!, numbers.at(-1)!];
  const share = (value: number) =>
    high === low ? 0.5 : hasLogX ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  return { ticks: numbers, at: (value) => place(LEFT + 12 + share(value as number) * (room - 12)) };
}

function vertical({ hasLogY }: PlotPlan, values: readonly number[]): Axis<number> {
  const high = Math.max(...values);
  const room = HEIGHT - TOP - BOTTOM;
  if (hasLogY) {
    const [from, to] = [decade(Math.min(...values.filter((value) => value > 0)), Math.floor), decade(high, Math.ceil)];
    const decades = Math.max(1, to - from);
    const ticks = Array.from({ length: decades + 1 }, (_, index) => 10 ** (from + index));
    return {
      ticks,
      at: (value) => place(HEIGHT - BOTTOM - (Math.max(0, Math.log10(Math.max(value, 1e-9)) - from) / decades) * room),
    };
  }
  const step = roundStep(high / 5);
  const top = Math.max(1, Math.ceil(high / step - 1e-9)) * step;
  const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step);
  return { ticks, at: (value) => place(HEIGHT - BOTTOM - (value / top) * room) };
}

function decade(value: number, round: (value: number) => number): number {
  return Number.isFinite(value) && value > 0 ? round(Math.log10(value)) : 0;
}

/** 1, 2 or 5 times a power of ten, at least `least`. */
export function roundStep(least: number): number {
  if (!(least > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((factor) => factor * power >= least * (1 - 1e-9)) ?? 10) * power;
}

/** Places close to the wanted ones, at least a line of text apart, and none below `lowest`. */
export function apart(wanted: readonly number[], lowest = HEIGHT - BOTTOM): number[] {
  const order = wanted.map((_, index) => index).sort((a, b) => wanted[a]! - wanted[b]!);
  const placed = [...wanted];
  for (const [rank, index] of order.entries())
    if (rank > 0) placed[index] = Math.max(placed[index]!, placed[order[rank - 1]!]! + LINE_HEIGHT);
  // Moves places that were pushed out at the bottom back up.
  let limit = lowest;
  for (const index of order.reverse()) {
    placed[index] = Math.min(placed[index]!, limit);
    limit = placed[index]! - LINE_HEIGHT;
  }
  return placed.map(place);
}

function label(value: number | string): string {
  if (typeof value === 'string') return value;
  return value >= 1000 ? value.toLocaleString('en') : String(Number(value.toPrecision(6)));
}

function place(value: number): number {
  return Math.round(value * 10) / 10;
}

export function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

const series = (colours: readonly string[]) =>
  colours.map((colour, index) => `.s${index} { stroke: ${colour}; fill: ${colour} }`).join(' ');
/** Styles of a document with text, a grid and series s0, s1 …, for light and dark pages. */
export const STYLE = `
.paper { fill: #ffffff } text { font: 12px system-ui, sans-serif; fill: #24292f; stroke: none }
.title { font-size: 15px; font-weight: 600 } .small { font-size: 11px; fill: #57606a } .grid { stroke: #d0d7de }
polyline { fill: none; stroke-width: 2 } .lead { opacity: .6; stroke-dasharray: 1 5 }
${series(LIGHT)}
@media (prefers-color-scheme: dark) {
  .paper { fill: #0d1117 } text { fill: #e6edf3 } .small { fill: #9198a1 } .grid { stroke: #3d444d }
  ${series(DARK)}
}`;
