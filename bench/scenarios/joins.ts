/** Many joins at once, by an open-loop schedule: the time to the first audio of each. */

import { setTimeout as sleep } from 'node:timers/promises';
import { startAirsplice } from '../airsplice.js';
import { compile, hasCompiler } from '../compiler.js';
import type { Context, Scenario } from '../context.js';
import { runCrowd } from '../crowd.js';
import { type Joins, runJoins } from '../joining.js';
import { byUrl, startCFloor } from '../peers.js';
import { stopAll, usage } from '../process.js';
import { total } from '../report.js';
import { Figures } from '../result.js';
import { shares } from '../statistics.js';
import type { Target } from '../target.js';

/** How long all stay after the last was due. */
const STAY_SECONDS = 5;

export const joins: Scenario = {
  name: 'joins',
  summary:
    '10,000 listeners join within a second, open loop: from the moment at which each was due to its first byte of audio',
  minutes: 3,
  takesUrl: true,
  async run(context: Context) {
    const figures = new Figures();
    const count = context.either(10_000, 100);
    if (!hasCompiler)
      figures.notes.push(
        'no C compiler (cc): the joins come from a Node process, which is itself among what they wait for',
      );
    const program = hasCompiler ? compile('joins', context.folder()) : undefined;
    const targets: Target[] = [];
    const { url } = context.options;
    if (url !== undefined) targets.push(byUrl(url, figures.notes));
    else
      for (const subject of await context.subjectsWithWorkers())
        targets.push(await startAirsplice(subject, { folder: context.folder(), playing: ['bench'] }));
    const floor = context.hasPeer('c-floor') ? await startCFloor(context, figures.notes) : undefined;
    if (floor) targets.push(floor);
    // Time for a burst, and a second of tape.
    await sleep(context.warmSeconds * 1000);
    for (const round of context.rounds)
      for (const target of targets) {
        context.say(`  round ${round}: ${target.name}`);
        const before = usage(...target.pids).cpuSeconds;
        const { joined, failed, wrong, bytes, ms, lateMs, ownSeconds } = await (program === undefined
          ? byNode(target.url, count)
          : runJoins(program, target.url, { listeners: count, rate: count, staySeconds: STAY_SECONDS }));
        const cpu = usage(...target.pids).cpuSeconds - before;
        figures.checkedBytes += bytes;
        if (failed + wrong > 0 || joined !== count)
          figures.faults.push(
            `${target.name}: ${joined} of ${count} joined, ${failed} were refused or dropped, ${wrong} faults in streams`,
          );
        for (const [share, value] of shares(ms))
          figures.add(
            {
              name: `first audio, ${share} %`,
              unit: 'ms',
              digits: 1,
              plot: { name: 'latency', line: 'join', x: share },
            },
            target.name,
            value,
          );
        const own = { isCompared: false };
        figures.add({ name: 'the generator was late by up to', unit: 'ms', digits: 1, ...own }, target.name, lateMs);
        figures.add({ name: 'its CPU', unit: 's', digits: 2, ...own }, target.name, ownSeconds);
        figures.add({ name: `CPU of the joins and ${STAY_SECONDS} s`, unit: 's', digits: 2 }, target.name, cpu);
        // Time to release the resources of the crowd before the next.
        await sleep(context.either(2000, 200));
      }
    await stopAll();
    return figures.result(this.name, this.summary);
  },
};

async function byNode(url: string, count: number): Promise<Joins> {
  const crowd = await runCrowd({ url, listeners: count, rate: count, warmSeconds: 0, seconds: STAY_SECONDS });
  const failed = total(crowd.refused) + total(crowd.dropped);
  return {
    joined: crowd.connected,
    resumed: 0,
    failed,
    wrong: crowd.icyErrors + crowd.breaks,
    bytes: crowd.bytes.all,
    ms: crowd.firstByteMs,
    lateMs: Number.NaN,
    ownSeconds: Number.NaN,
  };
}
