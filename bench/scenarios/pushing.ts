/** Durable pushes at fixed rates: the time to the answer, and the cost. */

import { startAirsplice, track } from '../airsplice.js';
import type { Context, Scenario } from '../context.js';
import { pace } from '../pace.js';
import { stopAll, usage } from '../process.js';
import { type Answer, Requests } from '../requests.js';
import { Figures } from '../result.js';
import { percentiles, shares } from '../statistics.js';

const CHANNELS = 64;
const CONNECTIONS = 64;
const ANSWER_SECONDS = 20;
const RATES = [500, 1500, 3000];
const QUICK_RATES = [200];
/** Warm-up before the measurement, in which a new server compiles its code. */
const WARM_PUSHES = 10_000;
/** The rate in the plot. */
const PLOTTED = 1500;

export const pushing: Scenario = {
  name: 'pushing',
  summary: `durable pushes to ${CHANNELS} channels at fixed rates, open loop: every answer brings its song, and the last of each channel is there`,
  minutes: 3,
  takesUrl: false,
  async run(context: Context) {
    const figures = new Figures();
    const channels = Array.from({ length: CHANNELS }, (_, index) => `push-${index}`);
    const seconds = context.seconds(10);
    for (const subject of context.subjects) {
      const server = await startAirsplice(subject, { folder: context.folder(), silent: channels });
      const paths = channels.map((channel) => new URL(server.pushUrl(channel)).pathname);
      await warm(server.port, paths, context.either(WARM_PUSHES, 100));
      for (const round of context.rounds)
        for (const rate of context.either(RATES, QUICK_RATES)) {
          context.say(`  round ${round}: ${subject.name}, ${rate} a second`);
          const requests = new Requests(server.port, CONNECTIONS);
          const before = usage(...server.pids).cpuSeconds;
          await pace(rate, rate * seconds, (index, dueAt) => {
            const song = `${rate} ${round} ${index}`;
            const isRight = ({ status, body }: Answer) => status === 200 && body.includes(`"song":"${song}"`);
            requests.send(`POST ${paths[index % CHANNELS]}`, dueAt, isRight, { body: track(song) });
          });
          await requests.idle(ANSWER_SECONDS);
          const cpu = usage(...server.pids).cpuSeconds - before;
          const pushes = rate * seconds;
          for (let index = Math.max(0, pushes - CHANNELS); index < pushes; index++) {
            const { body } = await requests.ask(
              `GET ${new URL(server.recordUrl(channels[index % CHANNELS]!)).pathname}`,
            );
            // Two pushes of a channel over two connections may arrive in either order; none is lost.
            if (!body.includes(`"song":"${rate} ${round} `))
              figures.faults.push(`${subject.name}: the last push is not there`);
          }
          const at = `${rate} a second`;
          for (const [share, value] of shares(percentiles(requests.ms)))
            figures.add(
              {
                name: `${at}: push due to answer, ${share} %`,
                unit: 'ms',
                digits: 1,
                ...(rate === PLOTTED && { plot: { name: 'latency', line: `push, ${rate}/s`, x: share } as const }),
              },
              subject.name,
              value,
            );
          figures.add({ name: `${at}: CPU per push`, unit: 'µs', digits: 0 }, subject.name, (cpu / pushes) * 1e6);
          figures.checkedBytes += requests.bytes;
          if (requests.wrong > 0)
            figures.faults.push(`${subject.name}, ${at}: ${requests.wrong} wrong: ${requests.firstFault}`);
          requests.close();
        }
      await stopAll();
    }
    return figures.result(this.name, this.summary);
  },
};

/** Pushes as fast as they are answered. */
export async function warm(port: number, paths: readonly string[], pushes: number): Promise<void> {
  const requests = new Requests(port, CONNECTIONS);
  for (let index = 0; index < pushes; index++)
    requests.send(`POST ${paths[index % paths.length]}`, performance.now(), ({ status }) => status === 200, {
      body: track(`warm ${index}`),
    });
  await requests.idle(ANSWER_SECONDS);
  requests.close();
}
