/** A reader for our own metrics in Prometheus' text format 0.0.4: samples with their labels. */

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /(?<!\w)([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;
const ESCAPES: Readonly<Record<string, string>> = { '\\n': '\n', '\\"': '"', '\\\\': '\\' };

/** Samples by the name of their metric. Other lines are ignored. */
export function readSamples(text: string): ReadonlyMap<string, readonly Sample[]> {
  const samples = new Map<string, Sample[]>();
  for (const line of text.split('\n')) {
    const [, name, labels = '', value] = LINE.exec(line) ?? [];
    if (name === undefined) continue;
    const all = samples.get(name);
    const sample = { labels: labelsOf(labels), value: numberOf(value!) };
    if (all === undefined) samples.set(name, [sample]);
    else all.push(sample);
  }
  return samples;
}

function labelsOf(text: string): Record<string, string> {
  const labels: Record<string, string> = Object.create(null);
  for (const [, name, value] of text.matchAll(LABEL)) {
    labels[name!] = value!.replace(/\\[n"\\]/g, (pair) => ESCAPES[pair]!);
  }
  return labels;
}

function numberOf(text: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY;
  return text === '-Inf' ? Number.NEGATIVE_INFINITY : Number(text);
}
