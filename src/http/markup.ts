/** Texts as content of XML and HTML elements, and times as Icecast gives them. Pure. */

const NAMED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/**
 * Escapes text between tags. Quotes stay: readers of `/7.html` show the text without decoding it. Characters that XML 1.0 does not allow are
 * removed.
 */
export function escapeMarkup(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ufffd]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '')
    .replace(/[&<>]/g, (character) => NAMED[character]!);
}

/** The same for the value of an attribute in double quotes. */
export function escapeAttribute(text: string): string {
  return escapeMarkup(text).replaceAll('"', '&quot;');
}

/** Figures of a stream or a server, by element name, in the order of the answer. */
export type StatusMembers = Readonly<Record<string, string | number>>;

/** One element for each member, in their order. */
export function elements(members: StatusMembers): string {
  return Object.entries(members)
    .map(([name, value]) => `<${name}>${escapeMarkup(String(value))}</${name}>`)
    .join('');
}

/** A time as Icecast gives it: `Mon, 23 Nov 2026 23:13:00 +0000`, and in ISO 8601 as Icecast writes it. @param ms unix milliseconds */
export function icecastTimes(name: string, ms: number): Readonly<Record<string, string>> {
  const time = new Date(ms);
  return {
    [name]: time.toUTCString().replace('GMT', '+0000'),
    [`${name}_iso8601`]: time.toISOString().replace(/\.\d+Z$/, '+0000'),
  };
}
