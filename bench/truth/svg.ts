/**
 * The results as a picture: a row for each case, a dot for each title, by its error (title − sound). The axis is linear near 0 and logarithmic
 * beyond, so that both 20 ms and 6 s are visible. Pure; readable on light and dark pages.
 */

import { figuresOf } from './figures.js';
import type { CaseResult } from './scene.js';
import { isCaseHeld, judged } from './table.js';

const WIDTH = 960;
const LEFT = 290;
const RIGHT = 150;
const TOP = 66;
const ROW = 24;
const BOTTOM = 50;
/** End of the linear part of the axis; each decade beyond has the same width. */
const LINEAR_MS = 20;
const MAX_MS = 10_000;
const TICKS_MS = [-10_000, -1000, -100, -20, 0, 20, 100, 1000, 10_000];

const STYLE = `
.paper { fill: #ffffff }
text { font: 12px system-ui, sans-serif; fill: #24292f }
.title { font-size: 15px; font-weight: 600 } .small { font-size: 11px; fill: #57606a } .held { fill: #1a7f37 } .not { fill: #cf222e }
.grid { stroke: #d0d7de } .zero { stroke: #57606a } .goal { fill: #1a7f37; opacity: .14 }
.dot { fill: #0969da; fill-opacity: .4 } .peer { fill: #bc4c00 } .median { stroke: #24292f; stroke-width: 2.5 }
@media (prefers-color-scheme: dark) {
  .paper { fill: #0d1117 } text { fill: #e6edf3 } .small { fill: #9198a1 } .held { fill: #3fb950 } .not { fill: #f85149 }
  .grid { stroke: #3d444d } .zero { stroke: #9198a1 } .goal { fill: #3fb950; opacity: .2 }
  .dot { fill: #4493f8; fill-opacity: .55 } .peer { fill: #f0883e } .median { stroke: #e6edf3 }
}`;

/** @param machine a line about the machine */
export function picture(results: readonly CaseResult[], machine: string): string {
  const height = TOP + results.length * ROW + BOTTOM;
  const bottom = height - BOTTOM;
  const grid = TICKS_MS.map((ms) => {
    const x = place(ms);
    return `<line class="${ms === 0 ? 'zero' : 'grid'}" x1="${x}" y1="${TOP - 6}" x2="${x}" y2="${bottom}"/>
<text class="small" x="${x}" y="${bottom + 16}" text-anchor="middle">${label(ms, Math.abs(ms) > LINEAR_MS)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="heading">
<style>${STYLE}</style>
<rect class="paper" width="100%" height="100%"/>
<text id="heading" class="title" x="12" y="24">Title − sound: how far each title was from the change of the sound that it names</text>
<text class="small" x="12" y="44">A dot is a title; left: the title came first; right: the sound did. The bar is the median, the band its goal. Orange: Icecast.</text>
<text class="small" x="${WIDTH - 12}" y="${TOP - 4}" text-anchor="end">median / p95, ms</text>
${grid.join('\n')}
${results.map((result, index) => row(result, TOP + index * ROW)).join('\n')}
<text class="small" x="12" y="${height - 10}">${escapeXml(machine)}</text>
</svg>
`;
}

function row(result: CaseResult, top: number): string {
  const errors = judged(result);
  const { medianMs, p95Ms, count } = figuresOf(errors);
  const middle = top + ROW / 2;
  const held = isCaseHeld(result);
  const parts = [`<text x="${LEFT - 14}" y="${middle + 4}" text-anchor="end">${escapeXml(result.name)}</text>`];
  if (result.goal !== undefined) {
    const [from, to] = [place(-result.goal.medianMs), place(result.goal.medianMs)];
    parts.push(`<rect class="goal" x="${from}" y="${top + 2}" width="${to - from}" height="${ROW - 4}"/>`);
  }
  // Neighbours have different heights, so that dense places are visible; listeners of one stream share a dot.
  const dots = new Set(
    errors.map(
      (error) =>
        `<circle cx="${place(error)}" cy="${middle + 2.4 * ((Math.round(Math.abs(error)) % 5) - 2)}" r="2.4"/>`,
    ),
  );
  parts.push(`<g class="${result.isPeer ? 'dot peer' : 'dot'}">${[...dots].join('')}</g>`);
  if (count > 0) {
    const x = place(medianMs);
    parts.push(`<line class="median" x1="${x}" y1="${top + 4}" x2="${x}" y2="${top + ROW - 4}"/>`);
    const mark = held === undefined ? '' : held ? ' class="held"' : ' class="not"';
    const sign = held === undefined ? '' : held ? ' ✓' : ' ✗';
    const figures = `${label(medianMs, false)} / ${label(p95Ms, false)}${sign}`;
    parts.push(`<text${mark} x="${WIDTH - 12}" y="${middle + 4}" text-anchor="end">${figures}</text>`);
  }
  return parts.join('');
}

function place(ms: number): number {
  const decades = 1 + Math.log10(MAX_MS / LINEAR_MS);
  const size = Math.min(Math.abs(ms), MAX_MS);
  const far = size <= LINEAR_MS ? size / LINEAR_MS : 1 + Math.log10(size / LINEAR_MS);
  const half = (WIDTH - LEFT - RIGHT) / 2;
  return Math.round((LEFT + half + Math.sign(ms) * (far / decades) * half) * 10) / 10;
}

function label(ms: number, hasUnit = true): string {
  const text = String(Math.round(ms)).replace('-', '−');
  if (!hasUnit) return text;
  return Math.abs(ms) >= 1000 ? `${String(ms / 1000).replace('-', '−')} s` : `${text} ms`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
