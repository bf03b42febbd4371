/**
 * A small XML file as a tree. saxes reads it: it refuses what is not well-formed with its line, reads no document type, so that there are no
 * entities but XML's own five, and opens nothing. Size, depth and elements are bounded.
 */

import { SaxesParser } from 'saxes';

const MAX_CHARACTERS = 1_048_576;
const MAX_DEPTH = 32;
const MAX_ELEMENTS = 20_000;

export class XmlElement {
  readonly name: string;
  /** From 1. */
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

  /** Without blanks around it. */
  get text(): string {
    return this.#text.trim();
  }

  /** Something was made of it. */
  read(): this {
    this.#isRead = true;
    return this;
  }

  /** All children of a name, which are read. */
  all(name: string): XmlElement[] {
    return this.children.filter((child) => child.name === name).map((child) => child.read());
  }

  /** The last child of a name, which is read: of options that stand twice the last one holds. */
  one(name: string): XmlElement | undefined {
    return this.all(name).at(-1);
  }

  /** The text of the last child of a name; '': there is none. */
  textOf(name: string): string {
    return this.one(name)?.text ?? '';
  }

  /** What was not read, and of that not what is below it. @param path of this element */
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
