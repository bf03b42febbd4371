/**
 * The colours of the pages, derived from one accent: it is made lighter or darker until text in it, and on it, is readable on a light and on a dark
 * background (WCAG 2.2, 1.4.3: a contrast of 4.5). Pure.
 */

const MIN_CONTRAST = 4.5;
/** Backgrounds of the accent: player and page, light and dark. */
const LIGHT = ['#ffffff', '#f3f4f2'] as const;
const DARK = ['#1b1f22', '#121517'] as const;
const INKS = ['#ffffff', '#0d1514'] as const;
const STEP = 0.02;

type Rgb = readonly [number, number, number];

export interface Accent {
  /** #rrggbb */
  readonly colour: string;
  /** The colour of text on it, #rrggbb. */
  readonly ink: string;
}

/** @param accent #rrggbb */
export function themeOf(accent: string): { readonly light: Accent; readonly dark: Accent } {
  return { light: readable(accent, LIGHT, 0), dark: readable(accent, DARK, 1) };
}

/** For our pages, and for players on other pages that link to it. */
export function themeCss(accent: string): string {
  const { light, dark } = themeOf(accent);
  const rule = ({ colour, ink }: Accent) =>
    `:root, :host { --airsplice-accent: ${colour}; --airsplice-on-accent: ${ink}; }`;
  return `${rule(light)}\n@media (prefers-color-scheme: dark) { ${rule(dark)} }\n`;
}

/** The contrast of two colours, 1 to 21. */
export function contrast(a: string, b: string): number {
  const [high, low] = [luminance(rgbOf(a)), luminance(rgbOf(b))].sort((x, y) => y - x) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

/** Keeps hue and saturation. @param end the lightness to approach, 0: darker, 1: lighter */
function readable(accent: string, grounds: readonly string[], end: number): Accent {
  const [hue, saturation, lightness] = hslOf(rgbOf(accent));
  let colour = accent.toLowerCase();
  const isReadable = () => grounds.every((ground) => contrast(colour, ground) >= MIN_CONTRAST);
  for (let share = STEP; share <= 1 && !isReadable(); share += STEP)
    colour = hexOf(hslToRgb(hue, saturation, lightness + (end - lightness) * share));
  const ink = contrast(colour, INKS[0]) >= MIN_CONTRAST ? INKS[0] : INKS[1];
  return { colour, ink };
}

/** @returns degrees, and twice 0 to 1 (CSS Color 4, 7) */
function hslOf(rgb: Rgb): readonly [hue: number, saturation: number, lightness: number] {
  const [r, g, b] = [rgb[0] / 255, rgb[1] / 255, rgb[2] / 255];
  const [high, low] = [Math.max(r, g, b), Math.min(r, g, b)];
  const [wide, lightness] = [high - low, (high + low) / 2];
  if (wide === 0) return [0, 0, lightness];
  const sixth = high === r ? ((g - b) / wide + 6) % 6 : high === g ? (b - r) / wide + 2 : (r - g) / wide + 4;
  return [sixth * 60, wide / (1 - Math.abs(2 * lightness - 1)), lightness];
}

/** @param hue degrees @param saturation 0 to 1, as is lightness @returns 0 to 255 each (CSS Color 4, 7.1) */
export function hslToRgb(hue: number, saturation: number, lightness: number): Rgb {
  const part = (n: number) => {
    const k = (n + hue / 30) % 12;
    const wide = saturation * Math.min(lightness, 1 - lightness);
    return Math.round(255 * (lightness - wide * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [part(0), part(8), part(4)];
}

function rgbOf(hex: string): Rgb {
  const part = (at: number) => Number.parseInt(hex.slice(at, at + 2), 16);
  return [part(1), part(3), part(5)];
}

function hexOf(rgb: Rgb): string {
  return `#${rgb.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`;
}

function luminance([r, g, b]: Rgb): number {
  const linear = (part: number) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}
