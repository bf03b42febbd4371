/** Results as text: a column for each target, medians over the rounds, and below each figure the first target's ratio to it. Pure. */

import { machineLine } from './machine.js';
import type { Report, Result, Row } from './result.js';
import { median } from './statistics.js';

/** @param isMarkdown Markdown tables instead of aligned text */
export function text(report: Report, isMarkdown: boolean): string {
  const parts = report.results.map((result) => `${heading(result, isMarkdown)}\n\n${body(result, isMarkdown)}`);
  return `${machineLine(report.machine)}; ${report.date.slice(0, 10)}\n\n${parts.join('\n\n')}\n`;
}

function heading({ scenario, summary }: Result, isMarkdown: boolean): string {
  return isMarkdown ? `### ${scenario}\n\n${summary}` : `${scenario}: ${summary}`;
}

function body(result: Result, isMarkdown: boolean): string {
  if (result.skipped !== undefined) return `skipped: ${result.skipped}`;
  const rows = [['', ...result.targets], ...result.rows.flatMap((row) => lines(row, result.targets))];
  const rounds = Math.max(0, ...result.rows.flatMap(({ values }) => Object.values(values).map((each) => each.length)));
  const checked = `${(result.checkedBytes / 2 ** 20).toFixed(1)} MiB received and checked; medians of ${rounds} round${rounds === 1 ? '' : 's'}`;
  const remarks = [...result.notes, ...result.faults.map((fault) => `FAULT: ${fault}`), checked];
  return `${isMarkdown ? markdown(rows) : aligned(rows)}\n\n${remarks.map((each) => `${each}\n`).join('')}`.trimEnd();
}

function lines(row: Row, targets: readonly string[]): string[][] {
  const medians = targets.map((target) => median(row.values[target] ?? []));
  const cells = [`${row.name}${row.unit && `, ${row.unit}`}`, ...medians.map((value) => figure(value, row.digits))];
  const [first, ...others] = medians;
  if (!row.isCompared || others.length === 0) return [cells];
  const ratios = others.map((other) => ratio(first!, other));
  return ratios.every((each) => each === '-') ? [cells] : [cells, [`  ${targets[0]} ÷ this`, '', ...ratios]];
}

function figure(value: number, digits: number): string {
  return Number.isNaN(value) ? '-' : value.toFixed(digits);
}

function ratio(one: number, other: number): string {
  return other > 0 && !Number.isNaN(one) ? (one / other).toFixed(2) : '-';
}

export function aligned(rows: readonly string[][]): string {
  const widths = rows[0]!.map((_, index) => Math.max(...rows.map((row) => row[index]!.length)));
  const cell = (text: string, index: number) => (index === 0 ? text.padEnd(widths[0]!) : text.padStart(widths[index]!));
  return rows.map((row) => row.map(cell).join('   ').trimEnd()).join('\n');
}

function markdown(rows: readonly string[][]): string {
  const [head, ...others] = rows.map((row) => `| ${row.map((cell) => cell.trim()).join(' | ')} |`);
  return [head, `|${rows[0]!.map((_, index) => (index === 0 ? '---' : '---:')).join('|')}|`, ...others].join('\n');
}
