/**
 * The hostile crowd: all attacks, two to four at a time, drawn by a seed, beside a crowd that must lose nothing, for five minutes
 * (npm run hostile: an hour; MINUTES=…, SEED=…, ATTACKS=NAME,NAME of attacks/index.ts as wanted). Afterwards the server is as it was: memory, handles, the delay of its loop.
 */

import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import { ATTACKS, type AttackName } from '../attacks/index.js';
import { AttackHarness } from '../kit/attack-harness.js';
import { Random } from '../kit/random.js';
import { until } from '../kit/until.js';

const MINUTES = Number(process.env['MINUTES'] ?? 5);
const NAMES = (process.env['ATTACKS']?.split(',') ?? Object.keys(ATTACKS)) as readonly AttackName[];
const ROUND_MS = 8000;
/** In which what is made once is made: renderings, pools, code. */
const WARM_ROUNDS = 4;
/** For what attackers have left to be let go: headers are waited for 5 s, bodies and sessions a minute. */
const REST_MS = 90_000;
/** Of a heap that is collected when V8 likes, and halves of a young generation that it keeps. */
const SWING_BYTES = 96 * 2 ** 20;
/** Of pooled and dying connections. */
const SWING_HANDLES = 20;

t.setTimeout((MINUTES + 6) * 60_000);

interface Figures {
  readonly residentBytes: number;
  readonly handles: number;
  /** Of the loop, the last minute's 99th percentile. */
  readonly delayMs: number;
}

async function figuresOf({ server }: AttackHarness): Promise<Figures> {
  const { pid } = server.child;
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const metrics = await (await fetch(`${server.base}/metrics`)).text();
  const delay = /^airsplice_event_loop_delay_seconds\{quantile="0.99"\} (\S+)/m.exec(metrics)?.[1];
  return {
    residentBytes: Number(/VmRSS:\s+(\d+)/.exec(status)![1]) * 1024,
    handles: readdirSync(`/proc/${pid}/fd`).length,
    delayMs: Number(delay) * 1000,
  };
}

const describe = ({ residentBytes, handles, delayMs }: Figures) =>
  `${Math.round(residentBytes / 2 ** 20)} MiB, ${handles} handles, loop late by ${delayMs.toFixed(1)} ms (p99)`;

t.test(`${MINUTES} minutes of all attacks`, async (t) => {
  const random = new Random();
  const harness = await AttackHarness.start(t, 5000);
  const quiet = await figuresOf(harness);
  let warm: Figures | undefined;
  // Each comes once before any comes again.
  let left: AttackName[] = [];
  const draw = (): AttackName => {
    if (left.length === 0) left = [...NAMES];
    return left.splice(random.int(0, left.length - 1), 1)[0]!;
  };
  const endMs = performance.now() + MINUTES * 60_000;
  for (let round = 0; performance.now() < endMs; round++) {
    const names = Array.from({ length: random.int(2, 4) }, draw);
    const costs = await harness.attack(names, random.int(0, 2 ** 31), ROUND_MS);
    t.equal(costs, '', `seed ${random.seed}, round ${round}: ${names.join(', ')}`);
    if (costs !== '') return;
    if (round === WARM_ROUNDS) t.comment(`warm: ${describe((warm = await figuresOf(harness)))}`);
  }
  // The server's own figure of its loop knows nothing of a machine that stood still; the crowd's does.
  t.equal(await harness.rest(5000), '', `seed ${random.seed}: the loop is in time`);
  await harness.crowd.unharmed(`seed ${random.seed}`);

  const isFlat = ({ residentBytes, handles }: Figures) =>
    handles < quiet.handles + SWING_HANDLES && residentBytes < (warm ?? quiet).residentBytes + SWING_BYTES;
  let last = await figuresOf(harness);
  const flat = async () => isFlat((last = await figuresOf(harness)));
  await until(flat, REST_MS).catch(() => undefined);
  t.comment(`in peace: ${describe(quiet)}; afterwards: ${describe(last)}`);
  t.ok(isFlat(last), `seed ${random.seed}: memory and handles are what they were: ${describe(last)}`);
});
