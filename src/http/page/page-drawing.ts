/** The picture of a channel without a logo: the same as the player draws (src/client/player/player-drawing.ts). */

import { html, type Markup } from './markup-template.js';

/** Heights of the bars, in percent. */
export const BARS = [26, 52, 38, 70, 46, 84, 58, 34, 62, 28] as const;

/** A channel keeps its colour. @returns degrees */
export function hueOf(key: string): number {
  let hash = 0;
  for (const char of key) hash = (hash * 31 + char.charCodeAt(0)) % 997;
  return (hash * 137) % 360;
}

export function drawnCover(key: string): Markup {
  return drawing(key, bars(hueOf(key)));
}

/** Refers to the bars in `barsOfTiles`, which the page must contain once. */
export function drawnTile(key: string): Markup {
  return drawing(key, html`<use href="#bars"/>`);
}

export function barsOfTiles(): Markup {
  return html`<svg class="unseen" aria-hidden="true"><symbol id="bars" viewBox="0 0 120 120">${bars(null)}</symbol></svg>`;
}

function drawing(key: string, inside: Markup): Markup {
  const hue = hueOf(key);
  return html`<svg class="drawn" viewBox="0 0 120 120" aria-hidden="true"><rect width="120" height="120" fill="hsl(${hue} 42% 34%)"/><circle cx="96" cy="18" r="62" fill="hsl(${(hue + 28) % 360} 48% 44%)"/>${inside}</svg>`;
}

/** @param hue that of a channel; null: nearly white */
function bars(hue: number | null): Markup {
  const fill = hue === null ? '#f2f6f5' : `hsl(${hue} 60% 92%)`;
  const all = BARS.map((height, i) => {
    const tall = Math.round(height * 0.6);
    return html`<rect x="${Math.round(14 + i * 9.4)}" y="${96 - tall}" width="5" height="${tall}" rx="2.5"/>`;
  });
  return html`<g fill="${fill}">${all}</g>`;
}
