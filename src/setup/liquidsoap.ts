/**
 * The `output.icecast(…)` calls of a Liquidsoap script, as people and AzuraCast write them: where an encoder connects, with which password. Only
 * strings, numbers and names bound to one (`password = "…"`) are understood; nothing is run.
 */

import type { DraftOptions } from './draft.js';
import { plainText, plainUrl } from './imported.js';

export interface LiquidsoapOutput {
  /** Line of the call, from 1. */
  readonly line: number;
  readonly host: string;
  readonly port: number;
  /** With its leading slash; '': unknown. */
  readonly mount: string;
  readonly user: string;
  /** '': unknown. */
  readonly password: string;
  /** Options of the channel. */
  readonly options: DraftOptions;
}

const CALL = /\boutput\.(?:icecast|shoutcast)\s*\(/g;
const MAX_CALLS = 100;
/** Maximum of a call's arguments; those of people and AzuraCast have a few hundred. */
const MAX_CALL_CHARACTERS = 16_384;
/** A string. An unclosed one extends to the end of the file (in single quotes, of the line), so that nothing is scanned twice. */
const TEXT = String.raw`"(?:[^"\\]|\\[\s\S])*"?|'(?:[^'\\\n]|\\.)*'?`;
const TEXT_OR_COMMENT = new RegExp(`${TEXT}|#.*$`, 'gm');
const TEXT_OR_LETTER = new RegExp(`${TEXT}|[\\s\\S]`, 'g');
/** A binding of a name to a string or a number, alone on its line. */
const BOUND =
  /^[ \t]*(?:let[ \t]+)?([a-zA-Z_][\w.]*)[ \t]*=[ \t]*("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\d+)[ \t]*$/gm;

/** The first MAX_CALLS calls, in the order of the file. */
export function readLiquidsoap(text: string): LiquidsoapOutput[] {
  const code = withoutComments(text);
  const bound = new Map<string, string>();
  for (const [, name, value] of code.matchAll(BOUND)) bound.set(name!, unquoted(value!));
  const calls = [...code.matchAll(CALL)].slice(0, MAX_CALLS);
  return calls.map((call) => {
    const line = code.slice(0, call.index).split('\n').length;
    const given = namedArguments(code, call.index + call[0].length);
    const textOf = (name: string): string => {
      const value = given.get(name) ?? '';
      return /^["'\d]/.test(value) ? unquoted(value) : (bound.get(value) ?? '');
    };
    const mount = textOf('mount');
    const options: DraftOptions = {};
    for (const [name, most] of [
      ['name', 255],
      ['genre', 255],
      ['description', 1024],
    ] as const) {
      const value = plainText(textOf(name), most);
      if (value !== '') options[name] = value;
    }
    const url = plainUrl(textOf('url'));
    if (url !== '') options['url'] = url;
    if (/^(true|false)$/.test(given.get('public') ?? '')) options['public'] = given.get('public') === 'true';
    return {
      line,
      host: textOf('host') || 'localhost',
      port: Number(textOf('port')) || 8000,
      mount: mount === '' || mount.startsWith('/') ? mount : `/${mount}`,
      user: textOf('user') || 'source',
      password: textOf('password'),
      options,
    };
  });
}

/** Replaces comments by blanks, so that offsets stay. */
function withoutComments(text: string): string {
  return text.replace(TEXT_OR_COMMENT, (found) => (found.startsWith('#') ? ' '.repeat(found.length) : found));
}

/** Argument's name → expression. @param start offset after the call's bracket */
function namedArguments(code: string, start: number): Map<string, string> {
  const named = new Map<string, string>();
  let depth = 1;
  let argument = '';
  const keep = () => {
    const [, name, value] = /^\s*([a-z_]\w*)\s*=(?!=)([\s\S]*)$/.exec(argument) ?? [];
    if (name !== undefined && !named.has(name)) named.set(name, value!.trim());
    argument = '';
  };
  for (const [piece] of code.slice(start, start + MAX_CALL_CHARACTERS).matchAll(TEXT_OR_LETTER)) {
    if ('([{'.includes(piece)) depth++;
    if (')]}'.includes(piece) && --depth === 0) break;
    if (piece === ',' && depth === 1) keep();
    else argument += piece;
  }
  keep();
  return named;
}

function unquoted(value: string): string {
  return /^["']/.test(value) ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value;
}
