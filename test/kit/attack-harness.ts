/**
 * The built server under attack (attacks/arena.ts, crowd.ts, attackers.ts): a crowd of well-behaved clients is measured first without any
 * attack, then during each.
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

/** The most that an attack may make a client wait, in the best of three tries; and in any of them, whatever else the machine does. */
export const MAX_MS = 100;
const NEVER_MS = 4 * MAX_MS;
const TRIES = 3;

/** A listener is written to once a second (src/listener/cursor/audience.ts). */
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
   * @param baselineMs how long the crowd is measured without any attack
   * @param workers of the server. With some it shares the machine with more processes than that has cores: what clients wait for is not judged
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
    // It is loaded when it is first opened, once.
    await (await fetch(`${server.base}/docs`)).arrayBuffer();
    const crowd = await new Crowd(t, server, { ...CROWD, listeners, watchers }).gather();
    const harness = new AttackHarness(t, server, crowd, workers === 0);
    // The burst comes at once, and so the next audio later than ever after.
    await pause(1500);
    harness.#baseline = await crowd.during(() => pause(baselineMs));
    t.comment(`without attack: ${worded(harness.#baseline)}`);
    return harness;
  }

  /** Measures the crowd after the attacks. @returns as `attack` does */
  async rest(ms: number): Promise<string> {
    return (await this.#cost('after the attacks', () => pause(ms).then(() => ''))).costs;
  }

  /** Plays these attacks together for `ms` milliseconds. @returns what they have cost, in words; '' is nothing that matters */
  async attack(names: readonly AttackName[], seed: number, ms: number): Promise<string> {
    for (let tries = 1; ; tries++) {
      const { costs, mayBeTheMachine } = await this.#cost(names.join(', '), () =>
        this.#attackers.play(names, seed, ms),
      );
      if (costs === '' || !mayBeTheMachine || tries === TRIES) return costs;
    }
  }

  /** @param work resolves with what it found by itself, or '' */
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
