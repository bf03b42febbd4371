/**
 * Polls of one URL over 32 kept connections, by wrk where it is installed, else by a client in this process (slower than any server, so
 * that its figures compare nothing). One request of ours before and after makes sure what is answered. Owned by bench/metadata.ts.
 */

import { spawnSync } from 'node:child_process';
import { HttpClient } from './http-client.js';
import { Started } from './process.js';
import { percentiles } from './report.js';

const CONNECTIONS = 32;
const MS: Record<string, number> = { us: 0.001, ms: 1, s: 1000 };

export const hasWrk = spawnSync('wrk', ['-v']).error === undefined;

export interface Polling {
  readonly party: string;
  readonly status: 200 | 304;
  readonly perSecond: number;
  readonly p99Ms: number;
}

/** @param record what a 200 must bring. Throws when an answer is not `status`. */
export async function measurePolling(
  feed: { name: string; pollUrl: string },
  status: 200 | 304,
  record: string,
  seconds: number,
  client: HttpClient,
): Promise<Polling> {
  const { etag } = await client.send(feed.pollUrl);
  const headers: Record<string, string> = status === 304 ? { 'If-None-Match': etag } : {};
  await check();
  const { perSecond, p99Ms } = await (hasWrk ? byWrk : byNode)(feed.pollUrl, headers, seconds, status);
  await check();
  return { party: feed.name, status, perSecond, p99Ms };

  async function check(): Promise<void> {
    const answer = await client.send(feed.pollUrl, undefined, headers);
    if (answer.status !== status || answer.text !== (status === 200 ? record : ''))
      throw new Error(`${feed.name}: a poll was answered ${answer.status}: ${answer.text}`);
  }
}

async function byWrk(url: string, headers: Record<string, string>, seconds: number) {
  const flags = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  const wrk = new Started('wrk', ['-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '--latency', ...flags, url]);
  let output = '';
  wrk.stdout.on('data', (text: Buffer) => {
    output += text;
  });
  await wrk.ended;
  const perSecond = /^Requests\/sec:\s+([\d.]+)/m.exec(output)?.[1];
  const [, p99, unit] = /^\s+99%\s+([\d.]+)(us|ms|s)/m.exec(output) ?? [];
  if (perSecond === undefined || unit === undefined || /Non-2xx|Socket errors/.test(output))
    throw wrk.failure('failed');
  return { perSecond: Number(perSecond), p99Ms: Number(p99) * MS[unit]! };
}

async function byNode(url: string, headers: Record<string, string>, seconds: number, status: number) {
  const client = new HttpClient();
  const times: number[] = [];
  const until = performance.now() + seconds * 1000;
  const loops = Array.from({ length: CONNECTIONS }, async () => {
    while (performance.now() < until) {
      const began = performance.now();
      const answer = await client.send(url, undefined, headers);
      if (answer.status !== status) throw new Error(`a poll was answered ${answer.status}`);
      times.push(performance.now() - began);
    }
  });
  await Promise.all(loops).finally(() => client.close());
  return { perSecond: times.length / seconds, p99Ms: percentiles(times).p99 };
}
