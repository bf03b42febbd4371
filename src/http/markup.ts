/** Texts as content of XML and HTML. Pure. */

const NAMED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/**
 * For text between the tags of XML and HTML; quotes stay, since readers of `/7.html` show them as they come. What XML 1.0 cannot say
 * at all is left out.
 */
export function escapeMarkup(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ufffd]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '')
    .replace(/[&<>]/g, (character) => NAMED[character]!);
}

/** What statistics say of a stream or a server: name → text or number, in the order of the answer; names are the program's own. */
export type StatusMembers = Readonly<Record<string, string | number>>;

/** An element for each member, in this order. */
export function elements(members: StatusMembers): string {
  return Object.entries(members)
    .map(([name, value]) => `<${name}>${escapeMarkup(String(value))}</${name}>`)
    .join('');
}
