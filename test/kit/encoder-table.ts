/**
 * The reactions of the kit's encoder programs to each refusal, as a table for people: a row per status, a column per program. It has every kind that
 * a file of this folder exports.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { type EncoderKind, type Reaction, type Refusal, WATCH_MS } from './encoder-kind.js';

const KIT = new URL('./', import.meta.url);

const REASONS: Readonly<Record<Refusal, string>> = {
  400: 'a length that is not a number',
  401: 'wrong user or password',
  404: 'no such mount',
  409: 'another encoder feeds the mount',
  429: 'too many guesses',
  501: 'an unknown transfer coding',
  503: 'the hook does not answer',
};

/** Sorted by name. A program is listed with its first codec, or with another if that one lacks a reaction. */
export async function refusedKinds(): Promise<readonly EncoderKind[]> {
  const programs = new Map<string, EncoderKind>();
  for (const file of readdirSync(KIT).toSorted()) {
    const [, stem] = file.match(/^([\w-]+)\.ts$/) ?? [];
    if (stem === undefined || !readFileSync(new URL(file, KIT), 'utf8').includes(': EncoderKind')) continue;
    // In this form the bundler includes all of them (bundle.mjs).
    for (const value of Object.values(await import(`./${stem}.ts`)).flat()) {
      const kind = value as Partial<EncoderKind> | undefined;
      if (kind?.refused === undefined) continue;
      const name = kind.name!.replace(` ${kind.codec}`, '');
      const refused = { ...kind.refused, ...programs.get(name)?.refused };
      programs.set(name, { ...(kind as EncoderKind), name, refused });
    }
  }
  return [...programs.values()].toSorted((a, b) => a.name.localeCompare(b.name));
}

export function encoderTable(kinds: readonly EncoderKind[]): string {
  const head = ['answer', ...kinds.map(({ name }) => name)];
  const rows = Object.entries(REASONS).map(([status, reason]) => {
    const cells = kinds.map((kind) => cell(kind, kind.refused[Number(status) as Refusal]));
    return [`${status}: ${reason}`, ...cells];
  });
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}

function cell({ rests }: EncoderKind, reaction: Reaction | undefined): string {
  if (reaction === undefined) return 'not tried';
  const { tries, says, ends } = reaction;
  const [least, most] = tries;
  const words = says === undefined ? 'says nothing' : `“${textOf(says)}”`;
  const count = `${least === most ? '' : `${least} to `}${most} ${most === 1 ? 'try' : 'tries'}`;
  if (!ends) return `${words}, comes again: ${count} in ${WATCH_MS / 1000} s`;
  return `${words}, ${rests === undefined ? 'ends' : 'stops'}${most === 1 ? '' : ` after ${count}`}`;
}

/** A pattern as words, without its special characters. */
function textOf({ source }: RegExp): string {
  const text = source.replaceAll(/(\.\*|\\n)+/g, '…').replaceAll('\\', '');
  return text.replaceAll('|', '\\|');
}
