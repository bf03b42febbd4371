/**
 * The built server under attack (attacks/arena.ts, crowd.ts, attackers.ts): a crowd of well-behaved clients is measured without an attack, and
 * then during each.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { arenaYaml, CROWD, fillHistory, PORTS } from '../attacks/arena.js';
import type { AttackName } from '../attacks/index.js';
import { Attackers } from './attackers.js';
import { type Cost, Crowd } from './crowd.js';
import { pause } from './pause.js';
import { freePorts, ServerProcess } from './process.js';
import { tempFolder } from './temp-folder.js';

/** The most that an attack may delay a client in the best of three tries; and in any of them, even on a busy machine. */
export const MAX_MS = 100;
const NEVER_MS = 4 * MAX_MS;
const TRIES = 3;

/** The server writes to a listener once a second (src/listener/cursor/audience.ts). */
const TICK_MS = 1000;

export class AttackHarness {
  readonly server: ServerProcess;
  readonly crowd: Crowd;
  readonly #test: Test;
  readonly #attackers: Attackers;
  readonly #isTimed: boolean;
  #baseline: Cost = { healthMs: 0, gapMs: 0, harm: '' };

  private constructor(t: Test, server: ServerProcess, crowd: Crowd, isTimed: boolean) {
    this.#test = t;
    this.#isTimed = isTimed;
    this.server = server;
    this.crowd = crowd;
    this.#attackers = new Attackers(t, server.port);
  }

  /**
   * @param baselineMs how long the crowd is measured without an attack
   * @param workers number of workers; if there are any, the processes outnumber the cores, and clients' delays are not judged
   */
  static async start(
    t: Test,
    baselineMs: number,
    { listeners = 50, watchers = 20, workers = 0 } = {},
  ): Promise<AttackHarness> {
    const port = await freePorts(PORTS);
    const folder = tempFolder(t);
    const path = join(folder, 'arena.yaml');
    writeFileSync(path, `workers: ${workers}\n${arenaYaml(port, join(folder, 'data'))}`);
    const server = new ServerProcess(t, port, [path], { TMPDIR: folder });
    await server.ready();
    await fillHistory(port);
    // The first request loads it.
    await (await fetch(`${server.base}/docs`)).arrayBuffer();
    const crowd = await new Crowd(t, server, { ...CROWD, listeners, watchers }).gather();
    const harness = new AttackHarness(t, server, crowd, workers === 0);
    // The burst arrives at once, so the gap after it is longer than any later one.
    await pause(1500);
    harness.#baseline = await crowd.during(() => pause(baselineMs));
    t.comment(`without attack: ${worded(harness.#baseline)}`);
    return harness;
  }

  /** Measures the crowd after the attacks. @returns as `attack` */
  async rest(ms: number): Promise<string> {
    return (await this.#cost('after the attacks', () => pause(ms).then(() => ''))).costs;
  }

  /** Runs these attacks together for `ms` milliseconds. @returns their cost in words; '': within bounds */
  async attack(names: readonly AttackName[], seed: number, ms: number): Promise<string> {
    for (let tries = 1; ; tries++) {
      const { costs, mayBeTheMachine } = await this.#cost(names.join(', '), () =>
        this.#attackers.play(names, seed, ms),
      );
      if (costs === '' || !mayBeTheMachine || tries === TRIES) return costs;
    }
  }

  /** @param work resolves with the faults that it found, or '' */
  async #cost(what: string, work: () => Promise<string>): Promise<{ costs: string; mayBeTheMachine: boolean }> {
    let finding = '';
    const cost = await this.crowd.during(async () => {
      finding = await work();
    });
    this.#test.comment(`${what}: ${worded(cost)}`);
    const { healthMs, gapMs, harm } = cost;
    const lateMs = gapMs - Math.max(TICK_MS, this.#baseline.gapMs);
    const costs = [
      ...(harm === '' ? [] : [harm]),
      ...(finding === '' ? [] : [finding]),
      ...(this.#isTimed && healthMs > MAX_MS ? [`/healthz took ${Math.round(healthMs)} ms`] : []),
      ...(this.#isTimed && lateMs > MAX_MS ? [`audio was ${Math.round(lateMs)} ms late`] : []),
    ];
    const isHarmed = harm !== '' || finding !== '';
    return { costs: costs.join('; '), mayBeTheMachine: !isHarmed && Math.max(healthMs, lateMs) < NEVER_MS };
  }
}

function worded({ healthMs, gapMs, harm }: Cost): string {
  return `/healthz at most ${Math.round(healthMs)} ms, audio after at most ${Math.round(gapMs)} ms${harm && `; ${harm}`}`;
}
