/** Writes and reads a soak as JSON. Samples are in columns, a list of values per figure, so that two hours take a hundred KB. Pure. */

import type { Soak } from './report.js';
import type { Sample } from './samples.js';

/** null: unknown. */
type Columns = Record<string, (number | null)[]>;
/** Separates the parts of a column's name; not in any name of a process or a figure. */
const SEPARATOR = '/';

export function write(soak: Soak): string {
  const columns: Columns = {};
  for (const [row, sample] of soak.samples.entries())
    for (const [name, value] of flat(sample, '')) {
      const column = (columns[name] ??= soak.samples.map(() => null));
      column[row] = Number.isFinite(value) ? Math.round(value * 1000) / 1000 : null;
    }
  // One line per column.
  const lines = Object.entries(columns).map(([name, values]) => `  ${JSON.stringify(name)}: ${JSON.stringify(values)}`);
  const { samples: _, ...rest } = soak;
  return `${JSON.stringify(rest, undefined, 1).slice(0, -2)},\n "samples": {\n${lines.join(',\n')}\n }\n}\n`;
}

/** Throws a SyntaxError or a TypeError if the text is not a soak. */
export function read(text: string): Soak {
  const { samples: columns, ...rest } = JSON.parse(text) as Omit<Soak, 'samples'> & { samples: Columns };
  const count = columns['seconds']!.length;
  const samples = Array.from({ length: count }, (_, row) => {
    const sample: Nested = {};
    for (const [name, values] of Object.entries(columns)) {
      const parts = name.split(SEPARATOR);
      const last = parts.pop()!;
      let inner = sample;
      for (const part of parts) inner = (inner[part] ??= {}) as Nested;
      inner[last] = values[row] ?? Number.NaN;
    }
    return sample as unknown as Sample;
  });
  return { ...rest, samples };
}

interface Nested {
  [name: string]: number | Nested;
}

function flat(value: object, prefix: string): [name: string, value: number][] {
  return Object.entries(value).flatMap(([name, each]: [string, number | object | null]) =>
    typeof each === 'object' && each !== null
      ? flat(each, `${prefix}${name}${SEPARATOR}`)
      : [[`${prefix}${name}`, each ?? Number.NaN] as [string, number]],
  );
}
