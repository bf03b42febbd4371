/**
 * One fan-out: readers in a process of their own, then one message after another, each published when the last reader has the one before.
 * The server's CPU is read when all have joined and when all have everything. Owned by bench/metadata.ts.
 */

import type { Feed } from './feeds.js';
import { Started, usage } from './process.js';
import type { Percentiles } from './report.js';
import { path } from './target.js';

const MESSAGE_SECONDS = 20;

export interface Fanout {
  readonly party: string;
  readonly readers: number;
  readonly deliveries: number;
  readonly messageBytes: number;
  /** User and system time of the server for one message to one reader. */
  readonly cpuMicrosecondsPerDelivery: number;
  /** From the start of the push to the message at a reader. */
  readonly delayMs: Percentiles;
  /** From the first reader to the last, over the messages. */
  readonly spanMs: Percentiles;
  /** What the server's resident memory grew by while the readers joined; exact only for the first crowd of a server. */
  readonly bytesPerReader: number;
  /** Of the reader process, joining included. */
  readonly ownCpuSeconds: number;
}

/** Throws when a reader gets anything but every message in order, or waits longer than 20 s. `channel` must be fresh. */
export async function measureFanout(feed: Feed, channel: string, readers: number, messages: number): Promise<Fanout> {
  const args = [feed.port, feed.watchPath(channel), readers, messages].map(String);
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
    const empty = usage(feed.pid).bytes;
    await printed('ready', 60);
    const { cpuSeconds: before, bytes } = usage(feed.pid);
    const bytesPerReader = (bytes - empty) / readers;
    for (let number = 1; number <= messages; number++) {
      await feed.publish(channel, number);
      await printed(`got ${number}`, MESSAGE_SECONDS);
    }
    const cpuSeconds = usage(feed.pid).cpuSeconds - before;
    await crowd.ended;
    const report = JSON.parse(output.trimEnd().split('\n').at(-1)!) as Omit<
      Fanout,
      'party' | 'readers' | 'cpuMicrosecondsPerDelivery' | 'bytesPerReader'
    >;
    if (report.deliveries !== readers * messages) throw new Error(`${report.deliveries} deliveries`);
    const cpuMicrosecondsPerDelivery = (cpuSeconds * 1e6) / report.deliveries;
    return { party: feed.name, readers, cpuMicrosecondsPerDelivery, bytesPerReader, ...report };
  } finally {
    await crowd.stop();
  }
}
