/** Summarises a V8 CPU profile by the self time of each function. Pure. */

import { basename, dirname } from 'node:path';

/** The used part of a .cpuprofile. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
  }[];
  readonly samples: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[];
}

/** Functions by their share of the thread's busy time, largest first. */
export function selfTimes({ nodes, samples, timeDeltas }: CpuProfile): { name: string; share: number }[] {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const micros = new Map<string, number>();
  for (const [index, id] of samples.entries()) {
    const name = names.get(id) ?? '(unknown)';
    // A sample counts for the time up to the next one.
    if (name !== '(idle)') micros.set(name, (micros.get(name) ?? 0) + (timeDeltas[index + 1] ?? 0));
  }
  const all = [...micros.values()].reduce((sum, each) => sum + each, 0);
  return [...micros].map(([name, each]) => ({ name, share: each / all })).sort((a, b) => b.share - a.share);
}

function nameOf({ functionName, url }: { functionName: string; url: string }): string {
  const name = functionName || '(anonymous)';
  if (url === '') return name;
  if (url.startsWith('node:')) return `${name} ${url}`;
  return `${name} ${basename(dirname(url))}/${basename(url)}`;
}
