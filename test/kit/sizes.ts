/** Counts in the sources that test/sizes.test.ts limits, so that rooms stay small. */

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';

const ROOT = new URL('../..', import.meta.url).pathname;

/** The counts of one source. Functions and classes are listed by name. */
export interface Counted {
  /** From the root of the tree. */
  readonly file: string;
  readonly lines: number;
  readonly longestComment: number;
  /** Lines of the longest comment above a member of a class or an interface. */
  readonly memberComment: number;
  /** `...{` in object literals. */
  readonly packedSpreads: number;
  readonly functionLines: ReadonlyMap<string, number>;
  readonly classFields: ReadonlyMap<string, number>;
  /** Positional parameters of each function and constructor. */
  readonly parameters: ReadonlyMap<string, number>;
}

/** Counts all sources in these folders. */
export function countAll(folders: readonly string[]): readonly Counted[] {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(ts|mjs|js)$/.test(name) && !name.endsWith('.d.ts'))
      .map((name) => count(join(folder, name), readFileSync(join(ROOT, folder, name), 'utf8'))),
  );
}

/** Room → lines; a room is a folder without its subfolders. */
export function linesByRoom(counted: readonly Counted[]): Readonly<Record<string, number>> {
  const rooms: Record<string, number> = {};
  for (const { file, lines } of counted) rooms[dirname(file)] = (rooms[dirname(file)] ?? 0) + lines;
  return rooms;
}

export function filesByRoom(counted: readonly Counted[]): ReadonlyMap<string, number> {
  const rooms = new Map<string, number>();
  for (const { file } of counted) rooms.set(dirname(file), (rooms.get(dirname(file)) ?? 0) + 1);
  return rooms;
}

export function count(file: string, text: string): Counted {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const lineOf = (at: number) => source.getLineAndCharacterOfPosition(at).line;
  const [functionLines, classFields, parameters] = [new Map(), new Map(), new Map()] as Map<string, number>[];
  let packedSpreads = 0;
  let memberComment = 0;
  const walk = (node: ts.Node, outer: string): void => {
    let name = outer;
    if (ts.isClassElement(node) || ts.isTypeElement(node)) memberComment = Math.max(memberComment, linesAbove(node));
    if (ts.isSpreadAssignment(node) && ts.isObjectLiteralExpression(node.expression)) packedSpreads++;
    if (ts.isClassLike(node)) {
      name = node.name?.text ?? outer;
      classFields!.set(name, fieldsOf(node));
    } else if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const own = nameOf(node);
      if (own !== undefined) {
        name = outer === '' ? own : `${outer}.${own}`;
        functionLines!.set(name, lineOf(node.end) - lineOf(node.getStart()) + 1);
        parameters!.set(name, node.parameters.length);
      }
    }
    ts.forEachChild(node, (child) => walk(child, name));
  };
  walk(source, '');
  return {
    file,
    lines: text.split('\n').length - 1,
    longestComment: longestComment(text, source),
    memberComment,
    packedSpreads,
    functionLines: functionLines!,
    classFields: classFields!,
    parameters: parameters!,
  };
}

/** Lines with text of the documentation of a member. */
function linesAbove(node: ts.Node): number {
  const texts = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc);
  return Math.max(0, ...texts.map((each) => each.getText().match(/[^\s/*].*/g)?.length ?? 0));
}

/** Number of fields, declared or from the constructor's parameters. */
function fieldsOf(node: ts.ClassLikeDeclaration): number {
  const isField = (member: ts.ClassElement) =>
    ts.isPropertyDeclaration(member) &&
    !member.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword) &&
    !(member.initializer !== undefined && ts.isArrowFunction(member.initializer));
  return node.members.filter(isField).length;
}

/** Undefined: an anonymous function, which counts as a part of the surrounding one. */
function nameOf(node: ts.SignatureDeclaration): string | undefined {
  if (ts.isConstructorDeclaration(node)) return 'constructor';
  if (node.name !== undefined) return node.name.getText();
  const { parent } = node;
  return ts.isVariableDeclaration(parent) || ts.isPropertyDeclaration(parent) ? parent.name.getText() : undefined;
}

/** Length of the longest line with a comment. */
function longestComment(text: string, source: ts.SourceFile): number {
  let longest = 0;
  const scanner = ts.createScanner(ts.ScriptTarget.Latest, false, source.languageVariant, text);
  const isComment = new Set([ts.SyntaxKind.SingleLineCommentTrivia, ts.SyntaxKind.MultiLineCommentTrivia]);
  for (let kind = scanner.scan(); kind !== ts.SyntaxKind.EndOfFileToken; kind = scanner.scan()) {
    if (isComment.has(kind)) {
      const begin = text.lastIndexOf('\n', scanner.getTokenStart()) + 1;
      for (const line of text.slice(begin, scanner.getTokenEnd()).split('\n')) longest = Math.max(longest, line.length);
    }
  }
  return longest;
}
