/**
 * One fan-out: readers in a separate process, then messages at fixed moments (open loop).
 * The server's CPU time is read when all have joined and when all have received everything. Owned by bench/scenarios/fanout.ts.
 */

import type { Feed } from './nginx.js';
import { pace } from './pace.js';
import { Started, usage } from './process.js';
import { nowMs } from './stamp.js';
import type { Percentiles } from './statistics.js';
import { path } from './target.js';

const MESSAGE_SECONDS = 20;

export interface Fanout {
  readonly readers: number;
  readonly deliveries: number;
  readonly messageBytes: number;
  /** User and system time of the server per message and reader. */
  readonly cpuMicrosecondsPerDelivery: number;
  /** Growth of the server's memory per reader when all have joined. */
  readonly bytesPerReader: number;
  /** From the time at which the push was due until the message is at a reader. */
  readonly delayMs: Percentiles;
  /** From the first reader to the last, for each message. */
  readonly spanMs: Percentiles;
  /** CPU time of the reader process, including joins. */
  readonly ownCpuSeconds: number;
}

export interface FanoutPlan {
  /** Must be a new channel. */
  readonly channel: string;
  readonly readers: number;
  readonly messages: number;
  readonly perSecond: number;
}

/** Rejects if a reader gets anything but every message in order, or waits longer than 20 s for the last. */
export async function measureFanout(feed: Feed, plan: FanoutPlan): Promise<Fanout> {
  const { channel, readers, messages, perSecond } = plan;
  const args = [feed.port, feed.watchPath(channel), readers, messages, feed.isSecure ? 'tls' : 'clear'].map(String);
  const bytesBefore = usage(...feed.pids).bytes;
  const crowd = new Started(process.execPath, ['--import', 'tsx', path('watchers.ts'), ...args]);
  let output = '';
  let wake = () => {};
  crowd.stdout.on('data', (text: Buffer) => {
    output += text;
    wake();
  });
  async function printed(line: string, seconds: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(crowd.failure(`no "${line}" within ${seconds} s`)), seconds * 1000);
      wake = () => {
        if (!`\n${output}`.includes(`\n${line}\n`)) return;
        clearTimeout(timer);
        resolve();
      };
      void crowd.ended.then(() => {
        clearTimeout(timer);
        wake();
        reject(crowd.failure('ended'));
      });
      wake();
    });
  }

  try {
    await printed('ready', 60);
    const { cpuSeconds: before, bytes } = usage(...feed.pids);
    // In order, each at its moment; if the previous one has no answer by then, right after that answer, while its time runs.
    let published: Promise<void> = Promise.resolve();
    await pace(perSecond, messages, (index, dueAt) => {
      const dueMs = nowMs() - (performance.now() - dueAt);
      published = published.then(() => feed.publish(channel, index + 1, dueMs));
      published.catch(() => {});
    });
    await published;
    await printed(`got ${messages}`, MESSAGE_SECONDS);
    const cpuSeconds = usage(...feed.pids).cpuSeconds - before;
    await crowd.ended;
    const report = JSON.parse(output.trimEnd().split('\n').at(-1)!) as Omit<
      Fanout,
      'readers' | 'cpuMicrosecondsPerDelivery' | 'bytesPerReader'
    >;
    if (report.deliveries !== readers * messages) throw new Error(`${report.deliveries} deliveries`);
    const cpuMicrosecondsPerDelivery = (cpuSeconds * 1e6) / report.deliveries;
    return { readers, cpuMicrosecondsPerDelivery, bytesPerReader: (bytes - bytesBefore) / readers, ...report };
  } finally {
    await crowd.stop();
  }
}
