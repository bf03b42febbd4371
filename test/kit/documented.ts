/**
 * The shell lines for readers to type: in documents, lines of blocks, and text in backticks that begins with a program; in the program's output,
 * lines after a name or an arrow, and text in backticks.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = new URL('../../', import.meta.url).pathname;
const ROOMS = ['config', 'src'];
const SHELLS = /^(sh|bash|console)$/;
const BLOCK = /^```(\w+)\n(.*?)^```$/gms;
const PROGRAMS =
  'npm|npx|node|airsplice|config/cluster/start\\.sh|curl|ffmpeg|ffprobe|ffplay|mpv|mkdir|docker|apt|systemctl|promtool|git|openssl';
const IN_LINE = new RegExp(`^(?:sudo |[A-Z_]+=\\S+ )*(?:${PROGRAMS})(?: .*)?$`);
/** The name of a program alone is not a line to type. */
const ALONE = new RegExp(`^(?:${PROGRAMS})$`);

export interface DocumentedLine {
  /** The document, from the root of the tree. */
  readonly file: string;
  readonly text: string;
}

function documents(): string[] {
  const all = ROOMS.flatMap((room) =>
    readdirSync(join(ROOT, room), { recursive: true, encoding: 'utf8' }).map((file) => `${room}/${file}`),
  );
  const named = all.filter((file) => /^config\/[^/]+\.md$|\/README\.md$/.test(file)).sort();
  return ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...named];
}

/** In the order of the documents; each line once per document. */
export function documentedLines(): DocumentedLine[] {
  return documents().flatMap((file) => {
    const page = readFileSync(join(ROOT, file), 'utf8');
    const blocks = [...page.matchAll(BLOCK)].filter(([, language]) => SHELLS.test(language!));
    const inLine = [...page.replace(BLOCK, '').matchAll(/`([^`\n]+)`/g)].map(([, text]) =>
      text!.replaceAll('\\|', '|'),
    );
    const named = inLine.filter((text) => IN_LINE.test(text) && !ALONE.test(text));
    const texts = new Set([...blocks.flatMap(([, , text]) => linesOf(text!)), ...named]);
    return [...texts].map((text) => ({ file, text }));
  });
}

/** The commands of a block, joined over a trailing `\`, and an assignment joined with the next line. Without comments. */
function linesOf(block: string): string[] {
  const lines = block.replace(/^\s*#.*\n|\s+# .*$/gm, '').matchAll(/(?:^[a-z]+=.*\n|^.*\\\n)*^.+\n?/gm);
  return [...lines].map(([text]) => text.trim());
}

const ROW = new RegExp(`^(?: {2}[a-z]+ +| +→ )((?:${PROGRAMS}|sysctl) .+?)(?: {3}.*)?$`, 'gm');
const USAGE = /^usage: (.+?)(?: \[.*| [A-Z].*)?$/gm;
/** A command whose end the patterns above do not find. */
const LEFT = /\b(npx airsplice|node \S*main\.js|npm (run|start)|(?<!of )systemctl|sysctl -w)\b.*/;

/** The lines to type in the output of a command. Throws if the end of a command is not clear. */
export function printedLines(out: string): string[] {
  // npm prints the script that it runs.
  const said = out.replace(/^> .*\n/gm, '');
  const inTicks = [...said.matchAll(/`([^`\n]+)`/g)].filter(
    ([, text]) => IN_LINE.test(text!) || /^sysctl /.test(text!),
  );
  const rows = [...said.matchAll(ROW)];
  const usages = [...said.matchAll(USAGE)];
  const rest = [...inTicks, ...rows, ...usages].reduce((text, [found]) => text.replace(found, ''), said);
  const left = LEFT.exec(rest);
  if (left !== null) throw new Error(`where does this command end? ${left[0]}`);
  return [...rows, ...inTicks].map(([, text]) => text!).concat(usages.map(([, text]) => `${text} --help`));
}
