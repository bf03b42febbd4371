/**
 * Which URLs of images are passed on: absolute ones of http or https, with a host. Pages put them into `<img>`, where any other would be a script, a
 * path of the page's own server, or data. Pure.
 */

import { rawMembers } from './rawjson.js';

const WEB = /^https?:\/\/[^/\\?#]/i;

export function isImageUrl(url: string): boolean {
  return WEB.test(url) && URL.canParse(url);
}

/** `""` for any other. */
export function imageUrl(url: string): string {
  return isImageUrl(url) ? url : '';
}

/**
 * The images of a record without those that have another URL; all else stays as it was written.
 * @param json an object, in one line
 * @param onDropped with the name of each image that was left out
 */
export function webImages(json: string, onDropped: (name: string) => void = () => undefined): string {
  const images = Object.entries(JSON.parse(json) as Readonly<Record<string, unknown>>);
  const bad = new Set(images.filter(([, image]) => hasOtherUrl(image)).map(([name]) => name));
  if (bad.size === 0) return json;
  for (const name of bad) onDropped(name);
  const kept = [...rawMembers(json)].filter(([name]) => !bad.has(name));
  return `{${kept.map(([name, { text }]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}

/** An image without a URL is harmless. */
function hasOtherUrl(image: unknown): boolean {
  const url = typeof image === 'object' && image !== null ? (image as { readonly url?: unknown }).url : undefined;
  return typeof url === 'string' && url !== '' && !isImageUrl(url);
}
