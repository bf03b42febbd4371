/** Runs the generator of joins in C (c/joins.c), in the clear or over TLS, and reads its report. Owned by the scenarios. */

import { loopbackTarget } from './crowd.js';
import { Started } from './process.js';
import type { Percentiles } from './statistics.js';

export interface JoinPlan {
  readonly listeners: number;
  /** Listeners that are due per second. */
  readonly rate: number;
  /** How long all stay after the last was due. */
  readonly staySeconds: number;
  /** Each with a handshake of its own, or all with the session of one before them. Absent: in the clear. */
  readonly tls?: 'full' | 'resumed';
}

export interface Joins {
  readonly joined: number;
  /** Of these, with a session that was there before. */
  readonly resumed: number;
  readonly failed: number;
  readonly wrong: number;
  readonly bytes: number;
  readonly ms: Omit<Percentiles, 'count'>;
  /** How late the generator itself was at worst, where it knows, and its CPU. */
  readonly lateMs: number;
  readonly ownSeconds: number;
}

/** @param url http: over TLS too, with that port. Rejects when the program ends without a report */
export async function runJoins(program: string, url: string, plan: JoinPlan): Promise<Joins> {
  const { host, port, path } = loopbackTarget(url);
  const { listeners, rate, staySeconds, tls } = plan;
  const numbers = [listeners, rate, staySeconds].map(String);
  const run = new Started(program, [host, String(port), path, ...numbers, ...(tls === undefined ? [] : [tls])]);
  let text = '';
  run.stdout.on('data', (part: Buffer) => {
    text += part;
  });
  await run.ended;
  if (text === '') throw run.failure('no report');
  const said = JSON.parse(text) as Record<string, number> & { ms: Joins['ms'] };
  return {
    joined: said['joined']!,
    resumed: said['resumed']!,
    failed: said['refused']! + said['dropped']! + said['unanswered']!,
    wrong: said['icyErrors']! + said['breaks']!,
    bytes: said['bytes']!,
    ms: said.ms,
    lateMs: said['lateMs']!,
    ownSeconds: said['cpuSeconds']!,
  };
}
