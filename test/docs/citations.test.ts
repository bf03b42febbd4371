/**
 * Comments and documents cite only what is in the repository: files, headings of READMEs, targets of links. A file is cited by its name or
 * by the end of its path (`entry.ts`, `audio/tape/entry.ts`); a README's heading as file, comma, heading in quotes, where a README without a
 * folder is the nearest one above the file that cites it.
 */

import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import t from 'tap';
import { allPaths, lineOf, ROOT, type TextFile, textFiles } from '../kit/tree.js';

const PATHS = allPaths();
const FILES = textFiles();
/** Examples, and what other projects have. */
const ELSEWHERE = new Set(['src/x/y.ts', 'test/x/y.test.ts', 'my.yaml', 'PROTOCOL.md']);
/** What the project's own notes are called; they are in no clone. */
const NOTES = /\b(contract|protocol|design|packages|spec|style)\.md\b|\((contract|protocol|spec)\b(?=[,)])/g;
const ISSUES = /(?<!\bits )\bissues? #?\d+/g;
/** A path of this machine or of a URL begins with a slash: no file of ours. */
const CITED = /(?<![\w@/.:~-])((?:\.{1,2}\/)*(?:[\w*-]+\/)*[\w*.-]*\w\.(?:ts|mjs|md|yaml))(?![\w/-])/g;
const HEADING = /((?:[\w-]+\/)*README(?:\.md)?),? (?:under )?["“]([^"”]{2,90})["”]/g;
const FOLDER = /`((?:[\w.-]+\/)+)`/g;
const LINK = /\]\(([^)\s]+)\)|\b(?:src|href)="([^"]+)"/g;

/** A comment's text may go on in the next line, behind a star. */
function unwrapped(comments: string): string {
  return comments.replace(/\n[ \t]*(?:\*|\/\/|#) ?/g, (gap) => '\n'.padEnd(gap.length));
}

function isThere(cited: string, from: TextFile): boolean {
  if (ELSEWHERE.has(cited)) return true;
  const relative = normalize(join(dirname(from.path), cited));
  // As seen from the file, or in a command from the root.
  if (cited.startsWith('.')) return PATHS.has(relative) || PATHS.has(normalize(cited));
  if (PATHS.has(relative)) return true;
  const pattern = new RegExp(`(^|/)${cited.replace(/[.]/g, '\\.').replaceAll('*', '[^/]*')}$`);
  for (const path of PATHS) if (pattern.test(path)) return true;
  return false;
}

function readmeOf(cited: string, from: TextFile): string | undefined {
  const name = cited.endsWith('.md') ? cited : `${cited}.md`;
  if (name !== 'README.md') return [...PATHS].find((path) => path === name || path.endsWith(`/${name}`));
  for (let folder = dirname(from.path); ; folder = dirname(folder)) {
    const path = normalize(join(folder, name));
    if (PATHS.has(path) || folder === '.') return path;
  }
}

function headingsOf(path: string): string[] {
  const text = readFileSync(join(ROOT, path), 'utf8').replace(/^```.*?^```/gms, '');
  return Array.from(text.matchAll(/^#+ (.+)$/gm), ([, heading]) => heading!.replaceAll('`', '').trim());
}

/** As GitHub makes the anchor of a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

function each(
  pattern: RegExp,
  text: (file: TextFile) => string,
  check: (match: RegExpMatchArray, file: TextFile) => string | null,
) {
  let seen = 0;
  const wrong: string[] = [];
  for (const file of FILES) {
    const read = text(file);
    for (const match of read.matchAll(pattern)) {
      seen++;
      const why = check(match, file);
      if (why !== null) wrong.push(`${file.path}:${lineOf(read, match.index)}: ${why}`);
    }
  }
  return { seen, wrong };
}

const prose = (file: TextFile) => unwrapped(file.comments);
const documents = (file: TextFile) => (file.path.endsWith('.md') ? file.text : '');

t.test('cited files are there', async (t) => {
  const { seen, wrong } = each(CITED, prose, ([, cited], file) => (isThere(cited!, file) ? null : cited!));
  for (const line of wrong) t.fail(line);
  t.ok(seen > 400, `${seen} were found`);
});

t.test('cited headings are there', async (t) => {
  const { seen, wrong } = each(HEADING, prose, ([, readme, heading], file) => {
    const path = readmeOf(readme!, file);
    if (path === undefined) return `${readme} is not there`;
    return headingsOf(path).includes(heading!.replace(/\s+/g, ' ')) ? null : `${path} has no "${heading}"`;
  });
  t.ok(seen > 0, 'citations were found');
  for (const line of wrong) t.fail(line);
});

t.test('links of documents lead somewhere', async (t) => {
  const { seen, wrong } = each(LINK, documents, (match, file) => {
    const target = match[1] ?? match[2]!;
    if (/^(https?|mailto|data):|\$\{/.test(target)) return null;
    const [to, anchor] = target.split('#') as [string, string?];
    const path = to === '' ? file.path : normalize(join(dirname(file.path), to)).replace(/\/$/, '');
    if (!PATHS.has(path)) return `${target} is not there`;
    return anchor === undefined || headingsOf(path).map(anchorOf).includes(anchor) ? null : `${path} has no #${anchor}`;
  });
  for (const line of wrong) t.fail(line);
  t.ok(seen > 40, `${seen} were found`);
});

t.test('folders that documents name are there', async (t) => {
  const { seen, wrong } = each(FOLDER, documents, ([, path], file) => {
    const below = [path!, normalize(join(dirname(file.path), path!)), `src/${path}`];
    return below.some((folder) => PATHS.has(folder.replace(/\/$/, ''))) ? null : path!;
  });
  for (const line of wrong) t.fail(line);
  t.ok(seen > 20, `${seen} were found`);
});

t.test('nothing cites notes or issues that no clone has', async (t) => {
  for (const pattern of [NOTES, ISSUES]) t.same(each(pattern, prose, ([cited]) => cited).wrong, []);
});
