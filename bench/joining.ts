/** Runs the generator of joins in C (c/joins.c), with or without TLS, and reads its report. Owned by the scenarios. */

import { loopbackTarget } from './crowd.js';
import { Started } from './process.js';
import type { Percentiles } from './statistics.js';

export interface JoinPlan {
  readonly listeners: number;
  /** Listeners due per second. */
  readonly rate: number;
  /** How long all stay after the last was due. */
  readonly staySeconds: number;
  /** A full handshake for each, or the session of an earlier connection for all. Absent: without TLS. */
  readonly tls?: 'full' | 'resumed';
}

export interface Joins {
  readonly joined: number;
  /** The number of these with a resumed session. */
  readonly resumed: number;
  readonly failed: number;
  readonly wrong: number;
  readonly bytes: number;
  readonly ms: Omit<Percentiles, 'count'>;
  /** The generator's longest own delay, if known. */
  readonly lateMs: number;
  /** The generator's CPU time. */
  readonly ownSeconds: number;
}

/** @param url an http: URL, even for TLS, with the port to connect to. Rejects if the program ends without a report */
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
