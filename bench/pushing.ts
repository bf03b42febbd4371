/**
 * Pushes as fast as they are answered, 64 in flight, each to a channel of its own. Every answer must be 200 and bring the song back, and at
 * the end each channel must show its last one. Owned by bench/metadata.ts.
 */

import { track } from './feeds.js';
import type { HttpClient } from './http-client.js';
import { usage } from './process.js';
import { type Percentiles, percentiles } from './report.js';

const WARM_MS = 1000;

export interface Pushing {
  readonly perSecond: number;
  readonly ms: Percentiles;
  /** CPU cores of the server and of this process, which makes the pushes. */
  readonly serverCores: number;
  readonly ownCores: number;
}

interface Target {
  readonly pid: number;
  pushUrl(channel: string): string;
  recordUrl(channel: string): string;
}

/** Throws for the first push that is not answered rightly. */
export async function measurePushing(
  target: Target,
  channels: readonly string[],
  seconds: number,
  client: HttpClient,
): Promise<Pushing> {
  const times: number[] = [];
  await over(WARM_MS, []);
  const [began, server, own] = [performance.now(), usage(target.pid).cpuSeconds, process.cpuUsage()];
  await over(seconds * 1000, times);
  const took = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(own);
  const serverCores = (usage(target.pid).cpuSeconds - server) / took;
  return {
    perSecond: times.length / took,
    ms: percentiles(times),
    serverCores,
    ownCores: (user + system) / 1e6 / took,
  };

  async function over(ms: number, into: number[]): Promise<void> {
    const until = performance.now() + ms;
    await Promise.all(
      channels.map(async (channel) => {
        let song = '';
        for (let number = 0; number === 0 || performance.now() < until; number++) {
          song = `${channel} ${until} ${number}`;
          const began = performance.now();
          const { status, text } = await client.send(target.pushUrl(channel), track(song));
          into.push(performance.now() - began);
          if (status !== 200 || !text.includes(`"song":"${song}"`))
            throw new Error(`a push was answered ${status}: ${text}`);
        }
        const { text } = await client.send(target.recordUrl(channel));
        if (!text.includes(`"song":"${song}"`)) throw new Error(`${channel} does not show its last push: ${text}`);
      }),
    );
  }
}
