/** A CPU profile of the server with a crowd, by function. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startAirsplice } from '../airsplice.js';
import type { Context, Scenario } from '../context.js';
import { judge, measure } from '../measure.js';
import { stopAll } from '../process.js';
import { selfTimes } from '../profile.js';
import { Figures } from '../result.js';

const MAX_ROWS = 20;

export const profile: Scenario = {
  name: 'profile',
  summary: 'where the CPU of the server goes with a crowd of listeners: own time of each function, idle time left out',
  minutes: 1,
  takesUrl: false,
  async run(context: Context) {
    const figures = new Figures();
    const size = context.options.listeners?.[0] ?? context.either(4000, 50);
    for (const subject of context.subjects) {
      const folder = context.folder();
      const server = await startAirsplice(subject, {
        folder: context.folder(),
        playing: ['bench'],
        nodeOptions: ['--cpu-prof', `--cpu-prof-dir=${folder}`],
      });
      const plan = { listeners: size, seconds: context.seconds(30), warmSeconds: context.warmSeconds };
      const { crowd, cores, systemCores } = await measure(server, plan);
      judge(figures, subject.name, crowd);
      await server.server.stop();
      // The largest file is the main thread's.
      const files = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
      const text = files.sort((a, b) => b.length - a.length)[0];
      if (text === undefined) throw new Error(`${subject.name}: no profile was written`);
      for (const { name, share } of selfTimes(JSON.parse(text)).slice(0, MAX_ROWS))
        figures.add({ name, unit: '%', digits: 1, isCompared: false }, subject.name, share * 100);
      figures.add(
        { name: 'CPU in the kernel, of all', unit: '%', digits: 1, isCompared: false },
        subject.name,
        (systemCores / cores) * 100,
      );
    }
    figures.notes.push('the start and the joins are in the profile too; a profiled server is slower than others');
    await stopAll();
    return figures.result(this.name, this.summary);
  },
};
