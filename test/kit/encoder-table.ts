/**
 * What the encoder programs of the kit make of each refusal, as a table for people: one row a status, one column a program. Every kind that a
 * file of this folder exports stands in it, and nothing is known here of any of them.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { type EncoderKind, type Reaction, type Refusal, WATCH_MS } from './encoder-kind.js';

const KIT = new URL('./', import.meta.url);

const REASONS: Readonly<Record<Refusal, string>> = {
  400: 'a length that is no number',
  401: 'wrong user or password',
  404: 'no such mount',
  409: 'another encoder feeds the mount',
  415: 'neither MP3, AAC nor Ogg',
  429: 'too many guesses',
  501: 'an unknown transfer coding',
  503: 'never ours; of a proxy before us',
};

/** By name; of kinds that share what they make of refusals, one. */
export async function refusedKinds(): Promise<readonly EncoderKind[]> {
  const kinds = new Map<unknown, EncoderKind>();
  for (const name of readdirSync(KIT).toSorted()) {
    const url = new URL(name, KIT);
    if (!name.endsWith('.ts') || !readFileSync(url, 'utf8').includes(': EncoderKind')) continue;
    for (const value of Object.values(await import(url.href)).flat()) {
      const kind = value as Partial<EncoderKind> | null;
      const refused = kind?.refused;
      if (refused === undefined || Object.keys(refused).length === 0 || kinds.has(refused)) continue;
      kinds.set(refused, kind as EncoderKind);
    }
  }
  return [...kinds.values()].toSorted((a, b) => a.name.localeCompare(b.name));
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
  // As words: the pattern without what a pattern needs.
  const words = says === undefined ? 'says nothing' : `“${says.source.replaceAll('\\', '').replaceAll('|', '\\|')}”`;
  const count = least === most ? `${most}` : `${least} to ${most}`;
  if (!ends) return `${words}, comes again: ${count} tries in ${WATCH_MS / 1000} s`;
  return `${words}, ${rests === undefined ? 'ends' : 'stops'}${most === 1 ? '' : ` after ${count} tries`}`;
}
