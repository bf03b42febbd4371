/**
 * A small XML file as a tree. The parser, saxes, refuses malformed text with its line, and reads no document type, so that there are no entities
 * except XML's own five, and no file is opened. Size, depth and number of elements are bounded.
 */

import { SaxesParser } from 'saxes';

const MAX_CHARACTERS = 1_048_576;
const MAX_DEPTH = 32;
const MAX_ELEMENTS = 20_000;

export class XmlElement {
  readonly name: string;
  /** Line in the file, from 1. */
  readonly line: number;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: XmlElement[] = [];
  #text = '';
  #isRead = false;

  constructor(name: string, line: number, attributes: Readonly<Record<string, string>>) {
    this.name = name;
    this.line = line;
    this.attributes = attributes;
  }

  /** Its text without surrounding blanks. */
  get text(): string {
    return this.#text.trim();
  }

  /** Marks the element as read, so that `unread` does not report it. */
  read(): this {
    this.#isRead = true;
    return this;
  }

  /** All children of a name; marks them as read. */
  all(name: string): XmlElement[] {
    return this.children.filter((child) => child.name === name).map((child) => child.read());
  }

  /** The last child of a name, since the last of repeated options wins; marks all of them as read. */
  one(name: string): XmlElement | undefined {
    return this.all(name).at(-1);
  }

  /** The text of the last child of a name; '': there is none. */
  textOf(name: string): string {
    return this.one(name)?.text ?? '';
  }

  /** Elements that were not read, without those below them. @param path of this element */
  *unread(path: readonly string[] = []): Generator<{ readonly path: readonly string[]; readonly line: number }> {
    for (const child of this.children) {
      const at = [...path, child.name];
      if (child.#isRead) yield* child.unread(at);
      else yield { path: at, line: child.line };
    }
  }

  append(text: string): void {
    this.#text += text;
  }
}

/** Throws an Error that says what is wrong, with its line. */
export function parseXml(text: string): XmlElement {
  if (text.length > MAX_CHARACTERS) throw new Error(`it is longer than ${MAX_CHARACTERS} characters`);
  const parser = new SaxesParser({ position: true });
  const open: XmlElement[] = [];
  let root: XmlElement | undefined;
  let elements = 0;
  parser.on('error', (error) => {
    throw new Error(`it is not XML: ${error.message}`);
  });
  parser.on('opentag', ({ name, attributes }) => {
    if (++elements > MAX_ELEMENTS || open.length >= MAX_DEPTH) throw new Error('it has too many elements');
    const element = new XmlElement(name, parser.line, attributes as Record<string, string>);
    if (open.length === 0) root = element;
    else open.at(-1)!.children.push(element);
    open.push(element);
  });
  parser.on('closetag', () => void open.pop());
  const onText = (piece: string) => open.at(-1)?.append(piece);
  parser.on('text', onText);
  parser.on('cdata', onText);
  parser.write(text.replace(/^\uFEFF/, '')).close();
  return root!;
}
