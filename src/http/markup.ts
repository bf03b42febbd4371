/** Texts as content of XML and HTML elements. Pure. */

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

/** Figures of a stream or a server, by element name, in the order of the answer. */
export type StatusMembers = Readonly<Record<string, string | number>>;

/** One element for each member, in their order. */
export function elements(members: StatusMembers): string {
  return Object.entries(members)
    .map(([name, value]) => `<${name}>${escapeMarkup(String(value))}</${name}>`)
    .join('');
}
