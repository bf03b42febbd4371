/** Pictures: the drawn one of a channel without a logo, the icons of the buttons, and covers in frames. None holds text. */

import { addressOf } from '../browser.js';

const SVG = 'http://www.w3.org/2000/svg';

/** The paths of icons of 24 × 24. */
const ICONS = {
  play: 'M8 5.5v13a.8.8 0 0 0 1.2.7l10.4-6.5a.8.8 0 0 0 0-1.4L9.2 4.8A.8.8 0 0 0 8 5.5z',
  stop: 'M7.5 6h9A1.5 1.5 0 0 1 18 7.5v9a1.5 1.5 0 0 1-1.5 1.5h-9A1.5 1.5 0 0 1 6 16.5v-9A1.5 1.5 0 0 1 7.5 6z',
  sound: 'M4 9.5v5h3.2l4.8 4V5.5l-4.8 4H4zM15 8.5a5 5 0 0 1 0 7M17.5 6a8.5 8.5 0 0 1 0 12',
  silent: 'M4 9.5v5h3.2l4.8 4V5.5l-4.8 4H4zM15.5 9.5l5 5M20.5 9.5l-5 5',
} as const;

export type IconName = keyof typeof ICONS;

/** Heights of the bars, of 100. */
const BARS = [26, 52, 38, 70, 46, 84, 58, 34, 62, 28] as const;

function svg(name: string, attributes: Readonly<Record<string, string | number>>): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [each, value] of Object.entries(attributes)) element.setAttribute(each, String(value));
  return element;
}

export function icon(name: IconName): SVGElement {
  const drawn = svg('svg', { viewBox: '0 0 24 24', 'aria-hidden': 'true', class: `icon icon-${name}` });
  drawn.append(svg('path', { d: ICONS[name] }));
  return drawn;
}

/** A title's cover in a frame of its own, which may load images where the page may not (src/http/page/cover.ts). @param root of the server */
export function coverFrame(root: URL, url: string, title: string): HTMLIFrameElement {
  const frame = document.createElement('iframe');
  frame.title = title;
  frame.setAttribute('sandbox', '');
  frame.tabIndex = -1;
  frame.setAttribute('aria-hidden', 'true');
  frame.referrerPolicy = 'no-referrer';
  frame.src = addressOf(root, `web/cover?url=${encodeURIComponent(url)}`).href;
  return frame;
}

/** The hue of a channel, always the same. @returns degrees */
export function hueOf(key: string): number {
  let hash = 0;
  for (const char of key) hash = (hash * 31 + char.charCodeAt(0)) % 997;
  return (hash * 137) % 360;
}

/** The same drawing as the server's (src/http/page/page-drawing.ts). */
export function drawnCover(key: string): SVGElement {
  const hue = hueOf(key);
  const drawn = svg('svg', { viewBox: '0 0 120 120', 'aria-hidden': 'true', class: 'drawn' });
  drawn.append(svg('rect', { width: 120, height: 120, fill: `hsl(${hue} 42% 34%)` }));
  drawn.append(svg('circle', { cx: 96, cy: 18, r: 62, fill: `hsl(${(hue + 28) % 360} 48% 44%)` }));
  for (const [i, height] of BARS.entries()) {
    const tall = Math.round(height * 0.6);
    const place = { x: Math.round(14 + i * 9.4), y: 96 - tall, width: 5, height: tall, rx: 2.5 };
    drawn.append(svg('rect', { ...place, fill: `hsl(${hue} 60% 92%)` }));
  }
  return drawn;
}
