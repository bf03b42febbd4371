/** Polls of a record at fixed rates over persistent connections, with and without TLS, compared with a static file of nginx. */

import { missing } from '../../test/kit/program.js';
import type { Context, Scenario } from '../context.js';
import { startFeeds } from '../feeds.js';
import { pace } from '../pace.js';
import { stopAll, usage } from '../process.js';
import { type Answer, Requests } from '../requests.js';
import { Figures } from '../result.js';
import { percentiles, shares } from '../statistics.js';
import { makeCertificate } from '../tls-servers.js';

const CONNECTIONS = 32;
const ANSWER_SECONDS = 20;
const RATES = [1000, 10_000];
const QUICK_RATES = [500];
/** The rate in the plot. */
const PLOTTED = 10_000;

export const polling: Scenario = {
  name: 'polling',
  summary:
    'polls at fixed rates over 32 connections, open loop, whole (200) and unchanged (304); every answer is compared',
  minutes: 12,
  takesUrl: false,
  async run(context: Context) {
    const figures = new Figures();
    const seconds = context.seconds(8);
    const files = missing('openssl') ? undefined : makeCertificate('ecdsa', context.folder());
    const feeds = await startFeeds(context, await context.subjectsWithWorkers(), [], figures.notes, files);
    for (const round of context.rounds)
      for (const rate of context.either(RATES, QUICK_RATES))
        for (const status of [200, 304])
          for (const feed of feeds.all) {
            context.say(`  round ${round}: ${feed.name}, ${rate} a second, ${status}`);
            const requests = new Requests(feed.port, CONNECTIONS, feed.isSecure);
            // Opens all connections before the first poll is due.
            const polls = Array.from({ length: CONNECTIONS }, () => requests.ask(`GET ${feed.pollPath}`));
            const [whole] = (await Promise.all(polls)) as [Answer];
            const etag = /\r\netag:[ \t]*(\S+)/i.exec(whole.head)?.[1] ?? '';
            const heads = status === 304 ? { heads: `If-None-Match: ${etag}\r\n` } : {};
            const isRight = (answer: Answer) =>
              answer.status === status && answer.body === (status === 200 ? whole.body : '');
            const before = usage(...feed.pids).cpuSeconds;
            await pace(rate, rate * seconds, (_, dueAt) =>
              requests.send(`GET ${feed.pollPath}`, dueAt, isRight, heads),
            );
            await requests.idle(ANSWER_SECONDS);
            const cpu = usage(...feed.pids).cpuSeconds - before;
            const at = `${rate} a second, ${status}`;
            for (const [share, value] of shares(percentiles(requests.ms)))
              figures.add(
                {
                  name: `${at}: due to answer, ${share} %`,
                  unit: 'ms',
                  digits: 2,
                  ...(status === 200 &&
                    rate === PLOTTED && { plot: { name: 'latency', line: `poll, ${rate}/s`, x: share } as const }),
                },
                feed.name,
                value,
              );
            figures.add(
              { name: `${at}: CPU per poll`, unit: 'µs', digits: 1 },
              feed.name,
              (cpu / rate / seconds) * 1e6,
            );
            figures.checkedBytes += requests.bytes;
            if (requests.wrong > 0)
              figures.faults.push(`${feed.name}, ${at}: ${requests.wrong} wrong: ${requests.firstFault}`);
            requests.close();
          }
    await feeds.stop();
    await stopAll();
    return figures.result(this.name, this.summary);
  },
};
