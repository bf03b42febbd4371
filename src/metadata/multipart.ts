/**
 * Parses multipart/form-data (RFC 7578) into fields as bytes. Strict about the framing of parts (RFC 2046, section 5.1), so that no text of a
 * field can begin another one. A part may be quoted-printable or base64, as Delphi components send. Pure; takes a complete, bounded body,
 * in linear time.
 *
 *   --boundary CRLF headers CRLF CRLF value CRLF --boundary CRLF … CRLF --boundary--
 */

/** A field as sent, without its transfer encoding. */
export interface FormPart {
  readonly bytes: Buffer;
  /** The charset in its content type, in lower case; `""`: none. */
  readonly charset: string;
}

/** Name in lower case → field; or why the body is refused. */
export type FormParts = ReadonlyMap<string, FormPart> | 'malformed' | 'too-many';

const TYPE = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))\s*(?:;|$)/i;
const LINE = '\r\n';

/** The boundary in a content type; null: another type, or none. */
export function boundaryOf(contentType: string): string | null {
  const found = TYPE.exec(contentType);
  return found === null ? null : (found[1] ?? found[2]!);
}

/**
 * Ignores bytes before the first boundary and after the last; a file is a field like any other. Of repeated fields the last counts.
 * @param maxFields including repeated ones
 */
export function formParts(body: Buffer, boundary: string, maxFields: number): FormParts {
  const delimiter = Buffer.from(`${LINE}--${boundary}`, 'latin1');
  const parts = new Map<string, FormPart>();
  // The first boundary may have no line end before it.
  const isAtStart = body.subarray(0, delimiter.length - 2).equals(delimiter.subarray(2));
  let at = isAtStart ? delimiter.length - 2 : endOf(body, delimiter, 0);
  for (let count = 0; ; ) {
    if (at < 0) return 'malformed';
    if (body.toString('latin1', at, at + 2) === '--') return parts;
    // Blanks may follow a boundary.
    while (body[at] === 0x20 || body[at] === 0x09) at++;
    if (body.toString('latin1', at, at + 2) !== LINE) return 'malformed';
    // From this line end, since a part may have no headers.
    const head = body.indexOf(LINE + LINE, at, 'latin1');
    const end = head < 0 ? -1 : body.indexOf(delimiter, head + 2);
    if (end < 0) return 'malformed';
    if (++count > maxFields) return 'too-many';
    const headers = headersOf(body.toString('latin1', at + 2, head));
    const name = named(headers.get('content-disposition') ?? '', 'name');
    if (name === null) return 'malformed';
    // If the boundary follows the headers at once, there is no value.
    parts.set(
      Buffer.from(name, 'latin1').toString('utf8').toLowerCase(),
      partOf(headers, body.subarray(head + 4, Math.max(end, head + 4))),
    );
    at = end + delimiter.length;
  }
}

function endOf(body: Buffer, delimiter: Buffer, from: number): number {
  const start = body.indexOf(delimiter, from);
  return start < 0 ? -1 : start + delimiter.length;
}

function headersOf(head: string): Map<string, string> {
  const lines = head.split(LINE).map((line) => [line.indexOf(':'), line] as const);
  return new Map(
    lines.map(([colon, line]) => [line.slice(0, Math.max(colon, 0)).trim().toLowerCase(), line.slice(colon + 1)]),
  );
}

function partOf(headers: ReadonlyMap<string, string>, bytes: Buffer): FormPart {
  const charset = (named(headers.get('content-type') ?? '', 'charset') ?? '').toLowerCase();
  const encoding = headers.get('content-transfer-encoding')?.trim().toLowerCase();
  if (encoding === 'base64') return { bytes: Buffer.from(bytes.toString('latin1'), 'base64'), charset };
  return { bytes: encoding === 'quoted-printable' ? unquote(bytes) : bytes, charset };
}

/** RFC 2045, 6.7. */
function unquote(bytes: Buffer): Buffer {
  const lines = bytes.toString('latin1').split(LINE).map(trimEndBlanks);
  return Buffer.from(
    lines
      .join(LINE)
      .replace(/=\r\n/g, '')
      .replace(/=([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16))),
    'latin1',
  );
}

/** Not a regular expression, which would take quadratic time for runs of blanks. */
function trimEndBlanks(line: string): string {
  let end = line.length;
  while (line[end - 1] === ' ' || line[end - 1] === '\t') end--;
  return line.slice(0, end);
}

/** A parameter of a header's value, or null. */
function named(value: string, parameter: 'name' | 'charset'): string | null {
  const found = new RegExp(`;\\s*${parameter}\\*?\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;"]+))`, 'i').exec(value);
  return found === null ? null : (found[1]?.replace(/\\(.)/g, '$1') ?? found[2]!);
}
