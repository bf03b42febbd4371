/**
 * URLs of images that are passed on: absolute http or https URLs with a host. Pages put them into `<img>`, where another URL could be a path of the
 * page's own server, data, or, in careless pages, a script. Pure.
 */

import { rawMembers } from './rawjson.js';

const WEB = /^https?:\/\/[^/\\?#]/i;

export function isImageUrl(url: string): boolean {
  return WEB.test(url) && URL.canParse(url);
}

/** A URL whose path ends like that of a picture. */
const PICTURE = /^https?:\/\/[^?#]+\.(jpe?g|png|gif|webp|avif|svg|bmp)([?#]|$)/i;

/** A source's URL as the cover of its title; `""`: it is not a picture, but often the station's page. */
export function pictureUrl(url: string): string {
  return PICTURE.test(url) ? imageUrl(url) : '';
}

/** The URL, or "" if it is not one of these. */
export function imageUrl(url: string): string {
  return isImageUrl(url) ? url : '';
}

/**
 * The images of a record, without those whose URL is not a web address; the rest stays as written.
 * @param json an object, in one line
 * @param onDropped called with the name of each image that is left out
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
