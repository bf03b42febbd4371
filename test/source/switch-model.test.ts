/** A seeded random life of all kinds of sources, against a naive model of which one must be on air. */

import t from 'tap';
import { Random } from '../kit/random.js';
import { CHECK_MS, type FakeSource, FILE_MS, LINGER_MS, STALL_MS, setUp } from '../kit/switch-harness.js';

t.test('a random life: heard is the best source that has bytes, and only those run that are needed', async (t) => {
  const kinds = ['encoder', 'pull', 'demand', 'file', 'pull2', 'file2'];
  for (let seed = 1; seed <= 300; seed++) {
    const random = new Random(seed);
    const pick = (n: number) => random.int(0, n - 1);
    const { audio, fakes, out, clock, heard } = setUp(
      kinds
        .map((name) => ({ name, at: random.next() }))
        .sort((a, b) => a.at - b.at)
        .slice(0, 1 + pick(kinds.length))
        .map(({ name }) => name),
      0,
      1000, // none gets unsteady: that has a test of its own
    );
    let wanted = false;
    let unwantedMs = Number.NEGATIVE_INFINITY;
    let count = 0;
    const startedMs = new Map<FakeSource, number>();
    const failed = new Set<FakeSource>();
    const lose = (source: FakeSource) => {
      failed.add(source);
      source.lose();
    };
    const send = (i: number) => {
      const from = (j: number) => clock.now() - fakes[j]!.input.dueMs;
      const better = [...fakes.keys()].filter((j) => j < i && fakes[j]!.running);
      const must = better.every((j) => from(j) > STALL_MS + CHECK_MS);
      const may = better.every((j) => from(j) > STALL_MS);
      const text = `${fakes[i]!.name} ${count++}`;
      failed.delete(fakes[i]!);
      fakes[i]!.send(text);
      const got = out.at(-1) === text;
      if (must && !got) t.fail(`seed ${seed}: ${text} must be heard, heard is ${heard()}`);
      if (got && !may) t.fail(`seed ${seed}: ${text} must not be heard`);
    };
    /** A file waits while a better one that has been started may still come. */
    const isWaiting = (j: number) =>
      fakes.some((other, i) => {
        const isComing = i < j && other.kind === 'file' && other.running && !failed.has(other);
        return isComing && clock.now() - startedMs.get(other)! <= FILE_MS + CHECK_MS;
      });
    for (const [i, source] of fakes.entries()) {
      source.onStart = () => {
        startedMs.set(source, clock.now());
        failed.delete(source);
        const dice = random.next();
        if (dice < 0.1) send(i);
        else if (dice < 0.2) lose(source);
      };
    }
    audio.start();
    for (let step = 0; step < 150; step++) {
      const i = pick(fakes.length);
      const dice = random.next();
      if (dice < 0.5) {
        if (fakes[i]!.running) send(i);
      } else if (dice < 0.6) {
        if (fakes[i]!.running) lose(fakes[i]!);
      } else if (dice < 0.7) {
        if (wanted) unwantedMs = clock.now();
        wanted = !wanted;
        audio.want(wanted);
      } else clock.advance([20, 100, 700, 2000, 12_000][pick(5)]!);
      const now = fakes.findIndex((source) => source.name === heard());
      for (const [j, source] of fakes.entries()) {
        const covered = now !== -1 && now < j;
        const asked = wanted || clock.now() - unwantedMs < LINGER_MS;
        const nearly = Math.abs(clock.now() - unwantedMs - LINGER_MS) <= CHECK_MS;
        if (source.name.startsWith('demand')) {
          if (source.running !== (!covered && asked) && !nearly) t.fail(`seed ${seed}: demand ${source.running}`);
        } else if (!source.running && isWaiting(j)) {
          if (source.kind !== 'file') t.fail(`seed ${seed}: ${source.name} waits`);
        } else if (source.running !== (source.kind !== 'file' || !covered)) {
          t.fail(`seed ${seed}: ${source.name} runs: ${source.running}, heard is ${heard()}`);
        }
      }
      if (now !== -1 && !fakes[now]!.running) t.fail(`seed ${seed}: a stopped source is heard`);
    }
    audio.stop();
  }
  t.pass('300 seeds');
});
