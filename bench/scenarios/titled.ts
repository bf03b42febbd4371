/** The cost of titles: the same crowd with a title every ten seconds, `next` pushes, and a tenth of it with metaids and open feeds. */

import { type Airsplice, startAirsplice } from '../airsplice.js';
import type { Context, Scenario } from '../context.js';
import { judge, measure } from '../measure.js';
import { stopAll } from '../process.js';
import { Requests } from '../requests.js';
import { Figures } from '../result.js';
import { stamp } from '../stamp.js';
import { sum } from '../statistics.js';

const FEED_EVERY = 10;
const CHANNEL = 'bench';

export const titled: Scenario = {
  name: 'titled',
  summary:
    'the cost of titles: one each 10 s, `next` pushes, a tenth of the listeners with a metaid and an open feed (WebSocket, SSE)',
  minutes: 5,
  takesUrl: false,
  async run(context: Context) {
    const figures = new Figures();
    const size = context.options.listeners?.[0] ?? context.either(4000, 50);
    const seconds = context.seconds(30);
    for (const subject of context.subjects) {
      const start = () => startAirsplice(subject, { folder: context.folder(), playing: [CHANNEL] });
      const [plain, busy] = [await start(), await start()];
      const titles = pushTitles(busy, context.either(10_000, 500));
      for (const round of context.rounds) {
        for (const [server, name] of [
          [busy, `${subject.name}, titles`],
          [plain, subject.name],
        ] as const) {
          context.say(`  round ${round}: ${name}`);
          const isBusy = server === busy;
          const { crowd, cores } = await measure(server, {
            listeners: size,
            seconds,
            warmSeconds: context.warmSeconds,
            ...(isBusy && { feedEvery: FEED_EVERY }),
          });
          judge(figures, name, crowd);
          const blocks = sum(Object.values(crowd.titles));
          if (isBusy && (blocks < size || (crowd.feeds?.fewest ?? 0) < 1))
            figures.faults.push(`${name}: ${blocks} blocks with titles, ${crowd.feeds?.fewest} messages of a feed`);
          figures.add(
            { name: `${size} listeners: CPU per 1,000`, unit: 'cores', digits: 4 },
            name,
            (cores / crowd.connected) * 1000,
          );
          figures.add(
            { name: 'blocks with a title per listener', unit: '', digits: 1, isCompared: false },
            name,
            blocks / size,
          );
          if (crowd.feeds)
            figures.add(
              { name: 'messages per open feed', unit: '', digits: 1, isCompared: false },
              name,
              crowd.feeds.messages / crowd.feeds.open,
            );
        }
      }
      figures.faults.push(...titles.stop());
      await stopAll();
    }
    return figures.result(this.name, this.summary);
  },
};

/** Pushes a `now` every `everyMs`, and a `next` halfway between. */
function pushTitles({ port, pushUrl }: Airsplice, everyMs: number) {
  const requests = new Requests(port, 2);
  let number = 0;
  const push = () => {
    const tracktype = number % 2 === 0 ? 'now' : 'next';
    const song = stamp(++number);
    const body = JSON.stringify({ song, artist: 'The Benchmarks', duration: 180, tracktype });
    const isRight = ({ status, body }: { status: number; body: string }) => status === 200 && body.includes(song);
    requests.send(`POST ${new URL(pushUrl(CHANNEL)).pathname}`, performance.now(), isRight, { body });
  };
  push();
  const timer = setInterval(push, everyMs / 2);
  return {
    stop(): string[] {
      clearInterval(timer);
      requests.close();
      return requests.firstFault === undefined ? [] : [`a push: ${requests.firstFault}`];
    },
  };
}
