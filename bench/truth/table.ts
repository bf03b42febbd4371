/** The results as a Markdown table, a line for each case. Pure. */

import { figuresOf, isHeld } from './figures.js';
import type { CaseResult } from './scene.js';

const HEAD = ['case', 'titles', 'median', 'p95', 'raw median', 'raw p95', 'goal', 'held?'];

/** The errors that count for the goal: without the player's lag, if that is known. */
export function judged({ mistakes, withoutLag }: CaseResult): readonly number[] {
  return withoutLag ?? mistakes.map(({ errorMs }) => errorMs);
}

/** Whether a case meets its goal; undefined: it has none. */
export function isCaseHeld(result: CaseResult): boolean | undefined {
  return result.goal && isHeld(figuresOf(judged(result)), result.goal) && result.missing + result.repeated === 0;
}

export function table(results: readonly CaseResult[]): string {
  const rows = results.map((result) => {
    const [clean, raw] = [figuresOf(judged(result)), figuresOf(result.mistakes.map(({ errorMs }) => errorMs))];
    const { goal, missing, repeated, withoutLag } = result;
    const wrong = [missing > 0 && `${missing} missing`, repeated > 0 && `${repeated} repeated`].filter(Boolean);
    const titles = wrong.length > 0 ? `${clean.count} (${wrong.join(', ')})` : String(clean.count);
    const rawOf = (ms: number) => (withoutLag === null ? '' : round(ms));
    const held = isCaseHeld(result);
    return [
      result.name,
      titles,
      round(clean.medianMs),
      round(clean.p95Ms),
      rawOf(raw.medianMs),
      rawOf(raw.p95Ms),
      goal === undefined ? '' : `${goal.medianMs} / ${goal.p95Ms}`,
      held === undefined ? '' : held ? 'yes' : 'NO',
    ];
  });
  const all = [HEAD, ...rows];
  const widths = HEAD.map((_, i) => Math.max(...all.map((row) => row[i]!.length)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join(' | ')} |`;
  const rule = `|${widths.map((width, i) => (i === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return [line(HEAD), rule, ...rows.map(line)].join('\n');
}

function round(ms: number): string {
  return Number.isNaN(ms) ? '–' : String(Math.round(ms)).replace('-', '−');
}
