/** A page of the listeners of several processes: all of them once, oldest first, and no process reports more than the page shows. */

import t from 'tap';
import type { AdminQueries } from '../../../src/admin/admin-queries.js';
import type { ProcessQuestions } from '../../../src/admin/admin-schema.js';
import type { ListenerReport } from '../../../src/admin/rows.js';
import { allListeners, listenerPage } from '../../../src/http/admin/listener-pages.js';
import { Random } from '../../kit/random.js';

interface Process {
  readonly number: number;
  /** Oldest first. */
  readonly startedMs: readonly number[];
}

/** Answers for these processes. @param reported how many each report had */
function answering(processes: readonly Process[], reported: number[]): AdminQueries {
  const answers = {
    ages: ({ number, startedMs }: Process, { most }: ProcessQuestions['ages']['ask']) => {
      return { process: number, total: startedMs.length, startedMs: startedMs.slice(0, most) };
    },
    listeners: ({ number, startedMs }: Process, { ranges: places }: ProcessQuestions['listeners']['ask']) => {
      const { from, count } = places[number] ?? { from: 0, count: 0 };
      reported.push(count);
      return startedMs
        .slice(from, from + count)
        .map((ms, i) => ({ id: `${number}-${from + i}`, sinceMs: Math.round(ms) }) as ListenerReport);
    },
  };
  const all = async (question: keyof typeof answers, ask: never) =>
    processes.map((each) => answers[question](each, ask));
  return { all } as unknown as AdminQueries;
}

t.test('pages', async (t) => {
  const random = new Random();
  for (let round = 0; round < 200; round++) {
    const processes = Array.from({ length: random.int(1, 4) }, (_, number) => {
      const startedMs = Array.from({ length: random.int(0, 60) }, () => random.int(0, 400) / 10);
      return { number, startedMs: startedMs.sort((a, b) => a - b) };
    });
    const all = processes.reduce((sum, { startedMs }) => sum + startedMs.length, 0);
    const limit = random.int(1, 20);
    const found: ListenerReport[] = [];
    for (let offset = 0; offset <= all; offset += limit) {
      const reported: number[] = [];
      const page = await listenerPage(answering(processes, reported), {}, offset, limit);
      const asked = reported.reduce((sum, count) => sum + count, 0);
      const due = Math.min(limit, all - offset);
      if (page.total !== all || page.listeners.length !== due || asked !== due)
        t.fail(`SEED=${random.seed}: ${page.listeners.length} of ${page.total}, ${asked} reported, not ${due}`);
      found.push(...page.listeners);
    }
    const whole = await allListeners(answering(processes, []), {}, 1_000_000, limit);
    if (JSON.stringify(whole) !== JSON.stringify(found)) t.fail(`SEED=${random.seed}: all of them are not the pages`);
    const most = random.int(1, 60);
    const some = await allListeners(answering(processes, []), {}, most, limit);
    if (some.length !== Math.min(most, all)) t.fail(`SEED=${random.seed}: ${some.length} of at most ${most}`);
    const ids = new Set(found.map(({ id }) => id));
    const isSorted = found.every(({ sinceMs }, i) => i === 0 || found[i - 1]!.sinceMs <= sinceMs);
    if (ids.size !== all || !isSorted) t.fail(`SEED=${random.seed}: ${ids.size} of ${all}, sorted: ${isSorted}`);
  }
  t.same(await listenerPage(answering([], []), {}, 0, 10), { total: 0, listeners: [] });
  t.same(await listenerPage(answering([{ number: 1, startedMs: [1] }], []), {}, 1_000_000, 10), {
    total: 1,
    listeners: [],
  });
});
