/**
 * A soak as a picture: a panel for each figure over time, a line for each process. Thin lines: the samples; with dots: the minimum of each window,
 * which is judged. Pure; readable on light and dark pages.
 */

import { machineLine } from '../machine.js';
import { apart, escapeXml, roundStep, STYLE } from '../plot.js';
import { type Soak, verdictOf } from './report.js';
import type { Sample } from './samples.js';
import { minima } from './verdict.js';

const WIDTH = 960;
const LEFT = 60;
const RIGHT = 170;
const TOP = 74;
const PANEL = 132;
const GAP = 46;
const BOTTOM = 8;
const MIB = 2 ** 20;
/** Outliers are cut off at this multiple, so that they do not flatten the other lines. */
const MAX_TIMES_TYPICAL = 3;

interface Line {
  readonly name: string;
  /** Index of the colour. */
  readonly colour: number;
  readonly hasMinima: boolean;
  of(sample: Sample): number;
}

interface Panel {
  readonly title: string;
  readonly lines: readonly Line[];
}

/** Throws a RangeError for less than two samples. */
export function picture(soak: Soak): string {
  const { samples, machine, date, minutes, workers } = soak;
  if (samples.length < 2) throw new RangeError('a picture without two samples');
  const drawn = panels(samples);
  const height = TOP + drawn.length * (PANEL + GAP) + BOTTOM;
  const { judgements, wrong } = verdictOf(soak);
  const flat =
    judgements.length === 0 ? 'too short to judge' : wrong.length === 0 ? 'all flat' : `${wrong.length} wrong`;
  const subtitle = `${machineLine(machine).split(';')[0]}, node ${machine.versions['node']}; ${date.slice(0, 10)}, commit ${machine.commit}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="heading">
<style>${STYLE}
polyline.thin { stroke-width: 1; opacity: .55 } .least { stroke-width: 2 }</style>
<rect class="paper" width="100%" height="100%"/>
<text id="heading" class="title" x="12" y="24">A soak of ${minutes.toFixed(0)} minutes, hub and ${workers} workers: ${flat}</text>
<text class="small" x="12" y="42">${escapeXml(subtitle)}. With dots: the least of each window.</text>
${drawn.map((panel, index) => draw(panel, samples, TOP + index * (PANEL + GAP))).join('\n')}
<text class="small" x="${(LEFT + WIDTH - RIGHT) / 2}" y="${height - 8}" text-anchor="middle">minutes</text>
</svg>
`;
}

function panels(samples: readonly Sample[]): Panel[] {
  const names = Object.keys(samples[0]!.processes);
  const each = (hasMinima: boolean, of: (process: Sample['processes'][string]) => number): Line[] =>
    names.map((name, colour) => ({
      name,
      colour,
      hasMinima,
      of: ({ processes }) => (processes[name] === undefined ? Number.NaN : of(processes[name])),
    }));
  return [
    { title: 'resident memory, MiB', lines: each(true, ({ residentBytes }) => residentBytes / MIB) },
    { title: 'heap in use, MiB', lines: each(true, ({ heapBytes }) => heapBytes / MIB) },
    { title: 'open files and sockets', lines: each(true, ({ files }) => files) },
    {
      title: 'event loop delay of the minute before, p99, ms',
      lines: [
        ...each(false, ({ loopP99Ms }) => loopP99Ms),
        { name: 'the load itself', colour: 7, hasMinima: false, of: ({ ownLoopP99Ms }) => ownLoopP99Ms },
      ],
    },
    {
      title: 'what was there',
      lines: (['listeners', 'sessions', 'watchers'] as const).map((name, colour) => ({
        name,
        colour: colour + 4,
        hasMinima: false,
        of: ({ counts }: Sample) => counts[name],
      })),
    },
  ];
}

function draw({ title, lines }: Panel, samples: readonly Sample[], top: number): string {
  const bottom = top + PANEL;
  // JSON has null for unknown figures.
  const known = lines.filter(({ of }) => samples.some((sample) => isKnown(of(sample))));
  const values = known.flatMap(({ of }) => samples.map(of).filter(isKnown)).sort((a, b) => a - b);
  const high = Math.min(values.at(-1)!, MAX_TIMES_TYPICAL * values[Math.floor(values.length * 0.9)]!);
  const step = roundStep(high / 4);
  const most = Math.max(1, Math.ceil(high / step - 1e-9)) * step;
  const minutes = samples.at(-1)!.seconds / 60;
  const x = (minute: number) => place(LEFT + (minute / minutes) * (WIDTH - LEFT - RIGHT));
  const y = (value: number) => place(bottom - (Math.min(value, most) / most) * PANEL);
  const grid = Array.from({ length: Math.round(most / step) + 1 }, (_, index) => index * step).map(
    (tick) =>
      `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(tick)}" y2="${y(tick)}"/>` +
      `<text class="small" x="${LEFT - 8}" y="${y(tick) + 4}" text-anchor="end">${Number(tick.toPrecision(6))}</text>`,
  );
  const minuteStep = roundStep(minutes / 8);
  const ticks = Array.from(
    { length: Math.floor(minutes / minuteStep + 1e-9) + 1 },
    (_, index) => index * minuteStep,
  ).map(
    (minute) =>
      `<text class="small" x="${x(minute)}" y="${bottom + 14}" text-anchor="middle">${Number(minute.toPrecision(6))}</text>`,
  );
  const ends = apart(
    known.map(({ of }) => y(samples.map(of).filter(isKnown).at(-1)!)),
    bottom,
  );
  const series = known.map(({ name, colour, hasMinima, of }, index) => {
    const points = samples
      .filter((sample) => isKnown(of(sample)))
      .map((sample) => `${x(sample.seconds / 60)},${y(of(sample))}`);
    const least = hasMinima ? minima(samples, of).map(([hours, value]) => [x(hours * 60), y(value)] as const) : [];
    return (
      `<g class="s${colour}"><polyline class="thin" points="${points.join(' ')}"/>` +
      (least.length > 0
        ? `<polyline class="least" points="${least.map((point) => point.join(',')).join(' ')}"/>`
        : '') +
      `${least.map(([cx, cy]) => `<circle cx="${cx}" cy="${cy}" r="2.5"/>`).join('')}` +
      `<circle cx="${WIDTH - RIGHT + 14}" cy="${ends[index]}" r="4"/>` +
      `<text x="${WIDTH - RIGHT + 24}" y="${ends[index]! + 4}">${escapeXml(name)}</text></g>`
    );
  });
  return `<text x="12" y="${top - 9}">${title}</text>\n${grid.join('')}${ticks.join('')}\n${series.join('\n')}`;
}

function isKnown(value: number | null): value is number {
  return value !== null && Number.isFinite(value);
}

function place(value: number): number {
  return Math.round(value * 10) / 10;
}
