/** A soak is the same after it was written and read; what is not known stays so. */

import t from 'tap';
import { read, write } from '../../../bench/soak/file.js';
import { picture } from '../../../bench/soak/picture.js';
import { type Soak, text, verdictOf } from '../../../bench/soak/report.js';
import type { ProcessSample, Sample } from '../../../bench/soak/samples.js';

const MIB = 2 ** 20;

function processOf(seconds: number): ProcessSample {
  return {
    residentBytes: 100 * MIB + seconds,
    anonymousBytes: 60 * MIB,
    heapBytes: 30 * MIB,
    externalBytes: 10 * MIB,
    files: 30,
    handles: 10,
    loopP99Ms: 4.125,
    loopMaxMs: 9,
  };
}

function sampleOf(seconds: number): Sample {
  const supervisor = { ...processOf(seconds), loopP99Ms: Number.NaN, loopMaxMs: Number.NaN };
  return {
    seconds,
    processes: { supervisor, 'worker 2': processOf(seconds) },
    counts: { listeners: 200, sessions: 20, watchers: 30, connections: 260, links: 2, restarts: 0 },
    cores: 0.1,
    ownLoopP99Ms: 5,
  };
}

function soakOf(minutes: number, more: Partial<Soak> = {}): Soak {
  const samples = Array.from({ length: minutes * 4 }, (_, index) => sampleOf((index + 1) * 15));
  return {
    date: '2026-11-23T08:41:58.000Z',
    machine: {
      cpu: 'A & B',
      cores: 2,
      memoryGiB: 24,
      kernel: '6',
      load: 1,
      commit: 'abc',
      versions: { node: 'v20' },
    },
    workers: 2,
    minutes,
    samples,
    before: sampleOf(0),
    after: sampleOf(0),
    counts: { joins: 1234 },
    checkedBytes: 2 ** 30,
    faultCount: 0,
    faults: [],
    notes: [],
    ...more,
  };
}

t.test('written and read', async (t) => {
  const soak = soakOf(2, { before: sampleOf(0), faults: ['one'], faultCount: 1 });
  const again = read(write(soak));
  t.same(again.samples, soak.samples);
  t.same({ ...again, samples: [], before: null, after: null }, { ...soak, samples: [], before: null, after: null });
  t.equal(picture(again), picture(soak));
  t.equal(text(again), text(soak));
  t.ok(write(soakOf(120)).length < 200_000, 'two hours are small');
  t.throws(() => read('{"date":"x"}'), TypeError);
});

t.test('what is wrong', async (t) => {
  t.same(verdictOf(soakOf(60)), { ...verdictOf(soakOf(60)), wrong: [] });
  t.ok(verdictOf(soakOf(60)).judgements.length > 0);
  t.same(verdictOf(soakOf(29)).judgements, [], 'too short');
  t.same(verdictOf(soakOf(2, { faults: ['bad'], faultCount: 3 })).wrong, ['bad', 'and 2 more']);
  t.same(verdictOf(soakOf(2, { after: null })).wrong, ['it was not ended']);
  const after = { ...sampleOf(0), counts: { ...sampleOf(0).counts, sessions: 21 } };
  t.same(verdictOf(soakOf(2, { after })).wrong, ['left when all had gone: 21 sessions']);
  const rising = soakOf(60);
  const grown = rising.samples.map((sample) => {
    const worker = sample.processes['worker 2']!;
    const residentBytes = worker.residentBytes * (1 + sample.seconds / 36_000);
    return { ...sample, processes: { ...sample.processes, 'worker 2': { ...worker, residentBytes } } };
  });
  const verdict = verdictOf({ ...rising, samples: grown });
  t.same(verdict.wrong, ['worker 2: resident memory is not flat']);
  t.match(
    text({ ...rising, samples: grown }),
    /10\.\d\) NOT FLAT: at most 5\.\d\n[\s\S]*WRONG: worker 2: resident memory is not flat/,
  );
});

t.test('a picture says how it went, and escapes what it shows', async (t) => {
  t.match(picture(soakOf(60)), /A soak of 60 minutes, hub and 2 workers: all flat/);
  t.match(picture(soakOf(2)), 'too short to judge');
  t.match(picture(soakOf(2)), 'A &amp; B');
  t.notMatch(picture(soakOf(60)), /NaN|Infinity|undefined/);
  t.throws(() => picture({ ...soakOf(2), samples: [] }), RangeError);
});
