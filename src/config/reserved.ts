/** Paths of our own routes, which no mount may have. Pure. */

/** First path segments. */
const RESERVED = new Set(
  `metadata metapush admin admin.cgi docs metrics healthz readyz openapi.json asyncapi.json schemas status-json.xsl
  7.html stats statistics nextsongs web client.js player.js streaminfo.json favicon.ico robots.txt
  .well-known`.split(/\s+/),
);
/** The pages of a channel. Deeper paths may be mounts: other servers have some like `/listen/wave/radio.mp3`. */
const PAGE_OF_CHANNEL = /^\/(?:listen|embed)\/[^/]*\/?$/;

/** Whether paths with this first segment are our own routes. */
export function isReserved(segment: string): boolean {
  return RESERVED.has(segment);
}

/** Our route at this path; null: none. */
export function reservedAs(mount: string): string | null {
  const first = mount.split('/')[1] ?? '';
  if (isReserved(first)) return `/${first}`;
  return PAGE_OF_CHANNEL.test(mount) ? 'the page of a channel' : null;
}
