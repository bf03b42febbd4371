/** The server's event loop delay under all kinds of load at once. */

import { startAirsplice, track } from '../airsplice.js';
import type { Context, Scenario } from '../context.js';
import { judge, loopDelayMs, measure } from '../measure.js';
import { pace } from '../pace.js';
import { startFloor } from '../peers.js';
import { stopAll } from '../process.js';
import { Requests } from '../requests.js';
import { Figures } from '../result.js';
import type { Target } from '../target.js';

const PUSHES_PER_SECOND = 20;
const POLLS_PER_SECOND = 500;
/** The metric covers the last minute; after this time it no longer includes the joins. */
const SETTLED_SECONDS = 115;
const SHARES = [
  ['0.5', '50'],
  ['0.99', '99'],
  ['0.999', '99.9'],
  ['1', '100'],
] as const;

export const loopDelay: Scenario = {
  name: 'loop-delay',
  summary: `delay of the event loop over a minute: 5,000 listeners, ${PUSHES_PER_SECOND} pushes and ${POLLS_PER_SECOND} polls a second`,
  minutes: 6,
  takesUrl: false,
  async run(context: Context) {
    const figures = new Figures();
    const size = context.options.listeners?.[0] ?? context.either(5000, 50);
    const seconds = context.options.seconds ?? context.either(SETTLED_SECONDS, 3);
    if (seconds < SETTLED_SECONDS) figures.notes.push('a short window: the start and the joins are in the figure');
    for (const subject of context.subjects) {
      const server = await startAirsplice(subject, { folder: context.folder(), playing: ['bench'], silent: ['push'] });
      const requests = new Requests(server.port, 16);
      const stopped = new AbortController();
      const push = `POST ${new URL(server.pushUrl('push')).pathname}`;
      const load = [
        pace(
          PUSHES_PER_SECOND,
          1e9,
          (index, dueAt) => requests.send(push, dueAt, ({ status }) => status === 200, { body: track(String(index)) }),
          stopped.signal,
        ),
        pace(
          POLLS_PER_SECOND,
          1e9,
          (_, dueAt) =>
            requests.send('GET /metadata/channel/push.json', dueAt, ({ status }) => status === 200 || status === 204),
          stopped.signal,
        ),
      ];
      await one(context, figures, server, size, seconds);
      stopped.abort();
      await Promise.all(load);
      await requests.idle(20);
      figures.checkedBytes += requests.bytes;
      if (requests.wrong > 0) figures.faults.push(`${subject.name}: ${requests.wrong} wrong: ${requests.firstFault}`);
      requests.close();
      await stopAll();
    }
    if (context.hasPeer('floor')) {
      figures.notes.push('the floor writes to all listeners in one go each second, and has neither pushes nor polls');
      await one(context, figures, await startFloor(), size, seconds);
      await stopAll();
    }
    return figures.result(this.name, this.summary);
  },
};

async function one(context: Context, figures: Figures, target: Target, size: number, seconds: number): Promise<void> {
  context.say(`  ${target.name}`);
  const { crowd, cores } = await measure(target, { listeners: size, seconds, warmSeconds: context.warmSeconds });
  judge(figures, target.name, crowd);
  const delays = await loopDelayMs(target.metricsUrl!);
  if (delays.size === 0) figures.faults.push(`${target.name}: no figure of its event loop`);
  for (const [quantile, share] of SHARES)
    figures.add(
      { name: `delay, ${share} %`, unit: 'ms', digits: 1, plot: { name: 'loop-delay', line: '', x: share } },
      target.name,
      delays.get(quantile) ?? Number.NaN,
    );
  figures.add({ name: 'CPU of the server', unit: 'cores', digits: 3, isCompared: false }, target.name, cores);
}
