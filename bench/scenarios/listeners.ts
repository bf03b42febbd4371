/** The CPU and memory of a listener at several sizes of the crowd, compared with Icecast and the floors. */

import { startAirsplice } from '../airsplice.js';
import type { Context, Scenario } from '../context.js';
import { judge, measure } from '../measure.js';
import { byUrl, ICECAST_MOST, startPeers } from '../peers.js';
import { stopAll } from '../process.js';
import { Figures } from '../result.js';
import type { Target } from '../target.js';

const SIZES = [1000, 4000, 15_000];
const QUICK_SIZES = [50];
const SECONDS = 20;
/** Arrivals per second of large crowds: faster ones delay the crowd's own requests until the server gives up on them (limits.headSeconds). */
const LARGE_CROWD_RATE = 500;

export const listeners: Scenario = {
  name: 'listeners',
  summary:
    'CPU and memory per listener of MP3 at 128 kb/s with ICY titles; each one’s ICY phase and frames are checked',
  minutes: 24,
  takesUrl: true,
  async run(context: Context) {
    const figures = new Figures();
    const sizes = context.options.listeners ?? context.either(SIZES, QUICK_SIZES);
    const [ours, peers] = [
      await subjects(context, figures.notes),
      await startPeers(context, Math.max(...sizes), figures.notes),
    ];
    for (const size of sizes)
      for (const round of context.rounds)
        for (const target of [...ours, ...peers]) {
          if (target.name.startsWith('Icecast') && size > ICECAST_MOST) {
            figures.notes.push(
              `Icecast is measured up to ${ICECAST_MOST} listeners: it did not take more in a time worth waiting for`,
            );
            continue;
          }
          context.say(`  ${size} listeners, round ${round}: ${target.name}`);
          const rate = size > ICECAST_MOST ? LARGE_CROWD_RATE : target.rate;
          await one(context, figures, { ...target, rate }, size, peers.includes(target));
        }
    await stopAll();
    return { ...figures.result(this.name, this.summary), notes: [...new Set(figures.notes)] };
  },
};

async function subjects(context: Context, notes: string[]): Promise<Target[]> {
  const { url } = context.options;
  if (url !== undefined) return [byUrl(url, notes)];
  const started = [];
  for (const subject of context.subjects)
    started.push(await startAirsplice(subject, { folder: context.folder(), playing: ['bench'] }));
  return started;
}

async function one(context: Context, figures: Figures, target: Target, size: number, isPeer: boolean): Promise<void> {
  const plan = { listeners: size, seconds: context.seconds(SECONDS), warmSeconds: context.warmSeconds };
  const { crowd, cores, systemCores, bytes, idleBytes } = await measure(target, plan);
  judge(figures, target.name, crowd, isPeer && !target.name.startsWith('floor'));
  const per1000 = (value: number) => (value / crowd.connected) * 1000;
  const crowded = `${size.toLocaleString('en')} listeners`;
  figures.add(
    { name: `${crowded}: CPU per 1,000`, unit: 'cores', digits: 4, plot: { name: 'cost', line: '', x: size } },
    target.name,
    per1000(cores),
  );
  const plain = { isCompared: false };
  figures.add(
    { name: '  of it in the kernel', unit: `cores (${size})`, digits: 4, ...plain },
    target.name,
    per1000(systemCores),
  );
  figures.add(
    { name: '  memory without listeners, and', unit: `MiB (${size})`, digits: 0, ...plain },
    target.name,
    idleBytes / 2 ** 20,
  );
  figures.add({ name: '  with them', unit: `MiB (${size})`, digits: 0, ...plain }, target.name, bytes / 2 ** 20);
  figures.add(
    { name: '  kb/s per listener', unit: `(${size})`, digits: 1, ...plain },
    target.name,
    crowd.kbitPerSecond,
  );
  figures.add(
    { name: "  the crowd's own CPU", unit: `cores (${size})`, digits: 2, ...plain },
    target.name,
    crowd.ownCores,
  );
}
