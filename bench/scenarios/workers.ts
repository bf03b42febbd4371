/** One process compared with two workers and a hub: the total cost of a listener. */

import { startAirsplice } from '../airsplice.js';
import type { Context, Scenario } from '../context.js';
import { judge, measure } from '../measure.js';
import { stopAll } from '../process.js';
import { Figures } from '../result.js';

export const workers: Scenario = {
  name: 'workers',
  summary: 'CPU per listener of two workers and a hub, beside one process',
  minutes: 5,
  takesUrl: false,
  async run(context: Context) {
    const figures = new Figures();
    const result = () => figures.result(this.name, this.summary);
    if (!(await context.knowsWorkers()))
      return { ...result(), skipped: 'this version does not know the option `workers`' };
    const size = context.options.listeners?.[0] ?? context.either(4000, 50);
    const [first] = context.subjects;
    const targets = [];
    for (const subject of [
      { ...first!, name: '2 workers and hub', workers: 2 },
      { ...first!, name: 'one process' },
    ])
      targets.push(await startAirsplice(subject, { folder: context.folder(), playing: ['bench'] }));
    for (const round of context.rounds)
      for (const target of targets) {
        context.say(`  round ${round}: ${target.name}`);
        const plan = { listeners: size, seconds: context.seconds(20), warmSeconds: context.warmSeconds };
        const { crowd, cores, bytes } = await measure(target, plan);
        judge(figures, target.name, crowd);
        const per1000 = (cores / crowd.connected) * 1000;
        figures.add({ name: `${size} listeners: CPU per 1,000`, unit: 'cores', digits: 4 }, target.name, per1000);
        figures.add({ name: 'memory of all processes', unit: 'MiB', digits: 0 }, target.name, bytes / 2 ** 20);
      }
    await stopAll();
    return result();
  },
};
