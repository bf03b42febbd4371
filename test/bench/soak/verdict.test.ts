/** What the soak calls flat: what rises is found, also beneath noise and in one process only; what swings, or rises while it warms up, is not. */

import t from 'tap';
import type { ProcessSample, Sample } from '../../../bench/soak/samples.js';
import { judgements, leftovers, minima, slope } from '../../../bench/soak/verdict.js';

const MIB = 2 ** 20;
const HOUR_SECONDS = 3600;
const STEADY: ProcessSample = {
  residentBytes: 100 * MIB,
  anonymousBytes: 60 * MIB,
  heapBytes: 30 * MIB,
  externalBytes: 10 * MIB,
  files: 150,
  handles: 160,
  loopP99Ms: 4,
  loopMaxMs: 20,
};
const COUNTS = { listeners: 200, sessions: 20, watchers: 30, connections: 260, links: 2, restarts: 0 };

/** Two hours; the hub's figures by hour and number. */
function samples(hub: (hours: number, index: number) => Partial<ProcessSample>, own = (_hours: number) => 5): Sample[] {
  return Array.from({ length: 480 }, (_, index) => {
    const seconds = (index + 1) * 15;
    const hours = seconds / HOUR_SECONDS;
    const processes = { hub: { ...STEADY, ...hub(hours, index) }, 'worker 2': STEADY };
    return { seconds, processes, counts: COUNTS, cores: 0.1, ownLoopP99Ms: own(hours) };
  });
}

function notFlat(all: readonly Sample[]): string[] {
  return judgements(all)
    .filter(({ isFlat }) => !isFlat)
    .map(({ process, name }) => `${process}: ${name}`);
}

t.test('minima of twelve windows, and the slope that one odd one does not move', async (t) => {
  const all = samples((hours, index) => ({ files: 100 + Math.round(hours * 60) + (index % 7) }));
  const least = minima(all, ({ processes }) => processes['hub']!.files);
  t.equal(least.length, 12);
  t.equal(least[0]![1], 100);
  const about = slope(least);
  t.ok(Math.abs(about - 60) < 2, `${about}`);
  const odd = least.map(([hours, files], index): [number, number] => [hours, index === 5 ? files * 10 : files]);
  t.ok(Math.abs(slope(odd) - about) < 6);
});

t.test('what stays as it is, swings or warms up is flat', async (t) => {
  t.same(notFlat(samples(() => ({}))), []);
  const swinging = (_: number, index: number) => ({
    residentBytes: (100 + (index % 30)) * MIB,
    heapBytes: (30 + (index % 13)) * MIB,
    files: 150 + (index % 40),
    loopP99Ms: 4 + (index % 5),
  });
  t.same(notFlat(samples(swinging)), []);
  const warming = (hours: number) => ({ residentBytes: (100 + Math.min(hours, 0.5) * 80) * MIB });
  t.same(notFlat(samples(warming)), []);
});

t.test('what rises is found, in the process in which it does', async (t) => {
  // Each just beyond its bound: 5 MiB, 2 MiB, 5 % of 150 files an hour.
  const cases: [string, (hours: number, index: number) => Partial<ProcessSample>][] = [
    ['hub: resident memory', (hours, index) => ({ residentBytes: (100 + 5.5 * hours + (index % 20)) * MIB })],
    ['hub: of it not mapped files', (hours) => ({ anonymousBytes: (60 + 5.5 * hours) * MIB })],
    ['hub: heap', (hours, index) => ({ heapBytes: (30 + 2.3 * hours + (index % 9)) * MIB })],
    ['hub: outside the heap', (hours) => ({ externalBytes: (10 + 2.3 * hours) * MIB })],
    ['hub: open files', (hours) => ({ files: 150 + Math.round(9 * hours) })],
    ['hub: handles, timers, requests', (hours) => ({ handles: 160 + Math.round(9.5 * hours) })],
    ['hub: loop delay, p99', (hours) => ({ loopP99Ms: 4 + 4 * hours })],
  ];
  for (const [name, hub] of cases) t.same(notFlat(samples(hub)), [name]);
});

t.test('a loop that is late because all are late is not blamed', async (t) => {
  const late = (hours: number) => 4 + 4 * hours;
  t.same(notFlat(samples((hours) => ({ loopP99Ms: late(hours) }), late)), []);
});

t.test('what is not known is not judged', async (t) => {
  const all = samples(() => ({ loopP99Ms: Number.NaN }));
  const names = judgements(all).map(({ process, name }) => `${process}: ${name}`);
  t.notOk(names.includes('hub: loop delay, p99'));
  t.ok(names.includes('worker 2: loop delay, p99'));
  t.same(judgements([]), []);
});

t.test('what is left when all have gone', async (t) => {
  const [before] = samples(() => ({ files: 30, handles: 8 }));
  const idle = { ...before!, counts: { ...COUNTS, listeners: 0, sessions: 0, connections: 1 } };
  const after = (hub: Partial<ProcessSample>, counts = {}) => ({
    ...idle,
    processes: { ...idle.processes, hub: { ...idle.processes['hub']!, ...hub } },
    counts: { ...idle.counts, ...counts },
  });
  t.same(leftovers(idle, after({ files: 34, handles: 14 })), []);
  t.same(leftovers(idle, after({ files: 35 })), ['hub: 35 open files, 30 before']);
  t.same(leftovers(idle, after({ handles: 15 })), ['hub: 15 handles, 8 before']);
  t.same(leftovers(idle, after({}, { sessions: 1, restarts: 1 })), ['1 sessions', '1 restarts']);
  const more = { ...idle, processes: { ...idle.processes, 'worker 4': STEADY } };
  t.same(leftovers(idle, more), ['a new process, worker 4']);
});
