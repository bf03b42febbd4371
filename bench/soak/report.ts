/** The results of a soak, as plain data and as text. Pure. */

import { type Machine, machineLine } from '../machine.js';
import type { Sample } from './samples.js';
import { type Judgement, judgements, leftovers, MIN_MINUTES } from './verdict.js';

export interface Soak {
  /** When the load began. */
  readonly date: string;
  readonly machine: Machine;
  readonly workers: number;
  /** Duration of the load, which may have ended early. */
  readonly minutes: number;
  readonly before: Sample;
  readonly samples: readonly Sample[];
  /** The sample after the load; null: it is still running. */
  readonly after: Sample | null;
  /** The amounts of load. */
  readonly counts: Readonly<Record<string, number>>;
  readonly checkedBytes: number;
  readonly faultCount: number;
  readonly faults: readonly string[];
  readonly notes: readonly string[];
}

export interface Verdict {
  /** Empty if the run was too short. */
  readonly judgements: readonly Judgement[];
  /** Faults, remaining resources and growing figures, in words. */
  readonly wrong: readonly string[];
}

export function verdictOf({ before, samples, after, minutes, faultCount, faults }: Soak): Verdict {
  const judged = minutes < MIN_MINUTES ? [] : judgements(samples);
  const wrong = [
    ...faults,
    ...(faultCount > faults.length ? [`and ${faultCount - faults.length} more`] : []),
    ...(after === null
      ? ['it was not ended']
      : leftovers(before, after).map((left) => `left when all had gone: ${left}`)),
    ...judged.filter(({ isFlat }) => !isFlat).map(({ process, name }) => `${process}: ${name} is not flat`),
  ];
  return { judgements: judged, wrong };
}

export function text(soak: Soak, isMarkdown = false): string {
  const { judgements, wrong } = verdictOf(soak);
  const { before, samples, after, minutes, counts, checkedBytes, notes } = soak;
  const idle = after === null ? [] : idleRows(before, after);
  const load = Object.entries(counts).map(([name, count]) => `${count.toLocaleString('en')} ${name}`);
  const cores = samples.reduce((all, sample) => all + sample.cores, 0) / Math.max(1, samples.length);
  return [
    `${machineLine(soak.machine)}; ${soak.date.slice(0, 16)} UTC`,
    `${minutes.toFixed(1)} minutes, hub and ${soak.workers} workers, ${cores.toFixed(3)} cores; ${load.join(', ')}`,
    `${(checkedBytes / 2 ** 30).toFixed(2)} GiB received and checked`,
    '',
    judgements.length > 0
      ? table(matrix(judgements), isMarkdown)
      : `under ${MIN_MINUTES} minutes: no verdict on slopes`,
    '',
    ...(idle.length > 0 ? [table([['idle', 'before', 'after'], ...idle], isMarkdown), ''] : []),
    ...notes,
    ...wrong.map((each) => `WRONG: ${each}`),
    wrong.length === 0 ? 'Nothing was wrong.' : '',
  ]
    .join('\n')
    .concat('\n');
}

/** A row for each figure, a column for each process: the minima of the first and the last judged window, and the slope. */
function matrix(judgements: readonly Judgement[]): string[][] {
  const processes = [...new Set(judgements.map(({ process }) => process))];
  const figures = [...new Set(judgements.map(({ name }) => name))];
  const rows = figures.map((figure) => {
    const all = judgements.filter(({ name }) => name === figure);
    const cells = processes.map((process) => cell(all.find((each) => each.process === process)));
    return [all[0]!.unit === '' ? figure : `${figure}, ${all[0]!.unit}`, ...cells];
  });
  return [['first → last (an hour)', ...processes], ...rows];
}

function cell(judgement: Judgement | undefined): string {
  if (judgement === undefined) return '-';
  const { first, last, perHour, most, isFlat } = judgement;
  const slope = perHour === undefined ? '' : ` (${signed(perHour)})`;
  const limit = isFlat ? '' : ` NOT FLAT: at most ${most.toFixed(1)}`;
  return `${first.toFixed(1)} → ${last.toFixed(1)}${slope}${limit}`;
}

function idleRows(before: Sample, after: Sample): string[][] {
  const counts = Object.entries(after.counts).map(([name, count]) => [
    name,
    String(before.counts[name as keyof Sample['counts']]),
    String(count),
  ]);
  const processes = Object.entries(after.processes).flatMap(([name, process]) =>
    (['files', 'handles'] as const).map((figure) => [
      `${name}, ${figure === 'files' ? 'open files' : 'handles'}`,
      String(before.processes[name]?.[figure] ?? '-'),
      String(process[figure]),
    ]),
  );
  return [...counts, ...processes];
}

function signed(value: number): string {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(1)}`;
}

function table(rows: readonly (readonly string[])[], isMarkdown: boolean): string {
  if (isMarkdown) {
    const [head, ...others] = rows.map((row) => `| ${row.join(' | ')} |`);
    return [head, `|${rows[0]!.map(() => '---').join('|')}|`, ...others].join('\n');
  }
  const widths = rows[0]!.map((_, index) => Math.max(...rows.map((row) => row[index]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, index) => cell.padEnd(widths[index]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
