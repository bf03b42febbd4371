/**
 * The text files of the repository, and what in each is a comment, a string or code. For the tests that read the source itself
 * (test/docs/citations.test.ts, test/docs/words.test.ts). Folders of recordings and generated files are left out.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = new URL('../..', import.meta.url).pathname;
const ROOTS: readonly string[] = ['src', 'test', 'bench', 'config'];
const LEFT_OUT = /^(test\/corpus\/|bench\/results\/)/;
const TEXT = /\.(ts|js|mjs|md|yaml|html|css)$/;

/** A text file. Each part keeps its place: what belongs to the others is blank, so that a line has one number in all. */
export interface TextFile {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
  /** Of a document, its whole text. */
  readonly comments: string;
  /** Without comments, strings, templates. Of a document, nothing. */
  readonly code: string;
  /** Strings, templates and regular expressions. Of a document, nothing. */
  readonly strings: string;
}

/** Every file and folder of the repository that a comment or a document may name. Paths from the root. */
export function allPaths(): Set<string> {
  const paths = new Set(readdirSync(ROOT).filter((name) => name !== 'node_modules' && name !== '.git'));
  for (const root of ROOTS) {
    for (const path of readdirSync(join(ROOT, root), { recursive: true, encoding: 'utf8' }))
      paths.add(`${root}/${path}`);
  }
  return paths;
}

export function textFiles(): TextFile[] {
  const paths = [...allPaths()].filter(
    (path) => TEXT.test(path) && !LEFT_OUT.test(path) && existsSync(join(ROOT, path)),
  );
  return paths.sort().map(read);
}

/**
 * Comments, strings, templates, regular expressions: what begins first decides, so that a `//` within a string is not a comment. Code within
 * a template counts as the template's.
 */
const PARTS = new RegExp(
  [
    /(\/\*.*?\*\/|\/\/[^\n]*)/,
    /'(?:\\.|[^'\\\n])*'/,
    /"(?:\\.|[^"\\\n])*"/,
    /`(?:\\.|[^`\\])*`/,
    /(?<=(?:^|[(,=:[!&|?{};>]|return)\s*)\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\//,
  ]
    .map(({ source }) => source)
    .join('|'),
  'gs',
);

function read(path: string): TextFile {
  const text = readFileSync(join(ROOT, path), 'utf8');
  if (!/\.(ts|js|mjs)$/.test(path)) return { path, text, comments: text, code: blank(text), strings: blank(text) };
  let comments = '';
  let code = '';
  let strings = '';
  let end = 0;
  for (const match of text.matchAll(PARTS)) {
    const before = text.slice(end, match.index);
    code += before + blank(match[0]);
    comments += blank(before) + (match[1] ?? blank(match[0]));
    strings += blank(before) + (match[1] === undefined ? match[0] : blank(match[0]));
    end = match.index + match[0].length;
  }
  const rest = text.slice(end);
  return { path, text, comments: comments + blank(rest), code: code + rest, strings: strings + blank(rest) };
}

function blank(text: string): string {
  return text.replace(/[^\n]+/g, (line) => ' '.repeat(line.length));
}

/** The number of the line in which this place is. */
export function lineOf(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}
