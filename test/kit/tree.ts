/**
 * The text files of the repository, split into comments, strings and code, for tests of the source itself (test/docs/citations.test.ts,
 * test/docs/words.test.ts). Without folders of recordings and generated files.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = new URL('../..', import.meta.url).pathname;
const ROOTS: readonly string[] = ['src', 'test', 'bench', 'config'];
const LEFT_OUT = /^(test\/corpus\/|bench\/results\/)/;
const TEXT = /\.(ts|js|mjs|md|yaml|html|css)$/;

/** A text file. In each part, the text of the others is blank, so that line numbers are the same in all. */
export interface TextFile {
  /** Path from the root of the repository. */
  readonly path: string;
  readonly text: string;
  /** The comments; for a document, its whole text. */
  readonly comments: string;
  /** The text without comments, strings and templates; for a document, nothing. */
  readonly code: string;
  /** Strings, templates and regular expressions; for a document, nothing. */
  readonly strings: string;
}

/** Every file and folder that a comment or a document may name, as paths from the root. */
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
 * Comments, strings, templates, regular expressions. The one that begins first wins, so that a `//` in a string is not a comment. Code in a
 * template counts as part of it.
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

/** The line number of an offset. */
export function lineOf(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}
