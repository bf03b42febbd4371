/** Writes a draft as YAML: first a list of what was lost, then the sections with an empty line between, comments above the members they explain. */

import { Document, isMap, isNode, isSeq, type Node, type Pair, type YAMLMap, YAMLSeq } from 'yaml';
import type { Comment, Draft } from './draft.js';

/** Longer lists have a line for each item. */
const SHORT_CHARACTERS = 60;

/** @param schema where editors find the JSON Schema @param example the file that explains every option @param title the first line */
export function draftText(draft: Draft, title: string, schema: string, example: string): string {
  const document = new Document(draft.options, { aliasDuplicateObjects: false });
  const root = document.contents as YAMLMap;
  for (const { key } of root.items as Pair<Node>[]) key.spaceBefore = true;
  flatten(root);
  for (const { path, text } of draft.comments) commentOn(root, path, text);
  const lost =
    draft.lost.length === 0
      ? []
      : ['', 'Not imported, or different here:', ...draft.lost.map((sentence) => `- ${sentence}`)];
  const head = [title, `Every option is explained in ${example}.`, 'Paths are relative to this file.', ...lost];
  const lines = head.map((line) => (line === '' ? '#' : `# ${oneLine(line)}`)).join('\n');
  return `# yaml-language-server: $schema=${schema}\n${lines}\n${document.toString({ lineWidth: 0, flowCollectionPadding: false })}`;
}

/** Removes line breaks: a comment may quote the imported file, whose text must not leave its line. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
}

function commentOn(root: YAMLMap, path: Comment['path'], text: string): void {
  const parent = path.length === 1 ? root : root.getIn(path.slice(0, -1), true);
  const last = path.at(-1)!;
  const node = isMap(parent)
    ? (parent.items as Pair<Node>[]).find(({ key }) => String(key) === String(last))?.key
    : isSeq(parent)
      ? parent.items[Number(last)]
      : undefined;
  if (!isNode(node)) throw new Error(`there is no ${path.join('.')} to comment on`);
  node.commentBefore = text
    .split('\n')
    .map((line) => ` ${oneLine(line)}`)
    .join('\n');
}

/** Puts short lists of plain values on one line. */
function flatten(node: unknown): void {
  if (isMap(node)) for (const pair of node.items) flatten(pair.value);
  if (!isSeq(node)) return;
  const isPlain = node.items.every((item) => !isMap(item) && !(item instanceof YAMLSeq));
  if (isPlain && String(node).length <= SHORT_CHARACTERS) node.flow = true;
  for (const item of node.items) flatten(item);
}
