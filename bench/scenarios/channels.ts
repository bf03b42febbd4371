/** Many channels: the same crowd on one and on many, and file channels without listeners. */

import { startAirsplice } from '../airsplice.js';
import type { Context, Scenario } from '../context.js';
import { coresOver, judge, measure } from '../measure.js';
import { stopAll } from '../process.js';
import { Figures } from '../result.js';

export const channels: Scenario = {
  name: 'channels',
  summary:
    '1,000 channels × 10 listeners against 1 × 10,000; 1,000 file channels without a listener: CPU, memory, start',
  minutes: 8,
  takesUrl: false,
  async run(context: Context) {
    const figures = new Figures();
    const [many, each] = context.either([1000, 10], [20, 3]);
    const size = many * each;
    for (const subject of context.subjects) {
      const [wide, narrow] = [`${subject.name}, ${many} × ${each}`, `${subject.name}, 1 × ${size}`];
      for (const round of context.rounds)
        for (const [name, count] of [
          [wide, many],
          [narrow, 1],
        ] as const) {
          context.say(`  round ${round}: ${name}`);
          const keys = Array.from({ length: count }, (_, index) => `c${index}`);
          const server = await startAirsplice({ ...subject, name }, { folder: context.folder(), playing: keys });
          const add = (row: string, unit: string, digits: number, value: number) =>
            figures.add({ name: row, unit, digits }, name, value);
          add('ready after', 's', 2, server.startSeconds);
          const idle = await coresOver(server.pids, context.either(10, 1));
          add('without a listener: CPU', 'cores', 3, idle.cores);
          add('without a listener: memory', 'MiB', 0, idle.bytes / 2 ** 20);
          const { crowd, cores, bytes } = await measure(
            { ...server, url: server.url.replace(/c0$/, 'c{n}') },
            { listeners: size, channels: count, seconds: context.seconds(15), warmSeconds: context.warmSeconds },
          );
          judge(figures, name, crowd);
          add(`with ${size} listeners: CPU per 1,000`, 'cores', 4, (cores / crowd.connected) * 1000);
          add(`with ${size} listeners: memory`, 'MiB', 0, bytes / 2 ** 20);
          await stopAll();
        }
    }
    return figures.result(this.name, this.summary);
  },
};
