/** One push to thousands of WebSocket readers, with and without TLS, compared with nginx and nchan. */

import { missing } from '../../test/kit/program.js';
import type { Context, Scenario } from '../context.js';
import { measureFanout } from '../fanout.js';
import { startFeeds } from '../feeds.js';
import { stopAll } from '../process.js';
import { Figures } from '../result.js';
import { shares } from '../statistics.js';
import { makeCertificate } from '../tls-servers.js';

const PER_SECOND = 5;

export const fanout: Scenario = {
  name: 'fanout',
  summary: `a push to 5,000 WebSocket readers, ${PER_SECOND} a second, open loop; every message of every reader is checked`,
  minutes: 9,
  takesUrl: false,
  async run(context: Context) {
    const figures = new Figures();
    const readers = context.either(5000, 20);
    const messages = context.either(100, 10);
    const channels = context.rounds.flatMap((round) => [channelOf(round, false), channelOf(round, true)]);
    const files = missing('openssl') ? undefined : makeCertificate('ecdsa', context.folder());
    const feeds = await startFeeds(context, await context.subjectsWithWorkers(), channels, figures.notes, files);
    for (const round of context.rounds)
      for (const feed of feeds.all) {
        context.say(`  round ${round}: ${feed.name}`);
        const plan = { channel: channelOf(round, feed.isSecure), readers, messages, perSecond: PER_SECOND };
        const one = await measureFanout(feed, plan).catch((error: Error) => {
          figures.faults.push(`${feed.name}: ${error.message}`);
        });
        if (!one) continue;
        figures.checkedBytes += one.deliveries * one.messageBytes;
        const add = (name: string, unit: string, digits: number, value: number, isCompared = true) =>
          figures.add({ name, unit, digits, isCompared }, feed.name, value);
        add('CPU per delivery, the push included', 'µs', 2, one.cpuMicrosecondsPerDelivery);
        add('memory of a reader', 'KiB', 1, one.bytesPerReader / 1024);
        add('first reader to last, p50', 'ms', 1, one.spanMs.p50);
        add('first reader to last, p99', 'ms', 1, one.spanMs.p99);
        for (const [share, value] of shares(one.delayMs))
          figures.add(
            {
              name: `push due to message, ${share} %`,
              unit: 'ms',
              digits: 1,
              plot: { name: 'latency', line: 'fan-out', x: share },
            },
            feed.name,
            value,
          );
        add('bytes of a message', '', 0, one.messageBytes, false);
      }
    await feeds.stop();
    await stopAll();
    return figures.result(this.name, this.summary);
  },
};

/** Each crowd has its own channel. */
function channelOf(round: number, isSecure: boolean): string {
  return `watch-${round}${isSecure ? '-tls' : ''}`;
}
