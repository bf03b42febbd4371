/**
 * The built server in its arena with the crowd in it and attackers before it (attacks/arena.ts, crowd.ts, attackers.ts): first a while
 * of peace, which says what the crowd waits for on this machine as it is, then attacks, and after each what it has cost.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { arenaYaml, CROWD, fillHistory, PORTS } from '../attacks/arena.js';
import type { AttackName } from '../attacks/index.js';
import { Attackers } from './attackers.js';
import { type Cost, Crowd } from './crowd.js';
import { freePorts, ServerProcess } from './process.js';
import { tempFolder } from './server.js';

/** What no attack may make anybody wait beyond (issue 9, "Tests"). */
export const MOST_MS = 100;

/** A listener is written to once a second (src/listener/audience.ts). */
const VISIT_MS = 1000;

export class Siege {
  readonly server: ServerProcess;
  readonly crowd: Crowd;
  readonly #test: Test;
  readonly #attackers: Attackers;
  #peace: Cost = { healthMs: 0, gapMs: 0, harm: '' };

  private constructor(t: Test, server: ServerProcess, crowd: Crowd) {
    this.#test = t;
    this.server = server;
    this.crowd = crowd;
    this.#attackers = new Attackers(t, server.port);
  }

  /** @param peaceMs how long the crowd is alone, to know what it waits for without any attack */
  static async lay(t: Test, peaceMs: number, listeners = 50, watchers = 20): Promise<Siege> {
    const port = await freePorts(PORTS);
    const folder = tempFolder(t);
    const path = join(folder, 'arena.yaml');
    writeFileSync(path, arenaYaml(port, join(folder, 'data')));
    const server = new ServerProcess(t, port, [path], {});
    await server.ready();
    await fillHistory(port);
    const crowd = await new Crowd(t, server, { ...CROWD, listeners, watchers }).gather();
    const siege = new Siege(t, server, crowd);
    // The burst comes at once, and so the next audio later than ever after.
    await new Promise((done) => setTimeout(done, 1500));
    siege.#peace = await crowd.during(() => new Promise((done) => setTimeout(done, peaceMs)));
    t.comment(`in peace: ${worded(siege.#peace)}`);
    return siege;
  }

  /** Nobody attacks any more: what the crowd waits for now. @returns as `attack` does */
  rest(ms: number): Promise<string> {
    return this.#cost('peace again', () => new Promise((done) => setTimeout(() => done(''), ms)));
  }

  /** Plays these attacks together for so long. @returns what they have cost, in words; '' is nothing that matters */
  attack(names: readonly AttackName[], seed: number, ms: number): Promise<string> {
    return this.#cost(names.join(', '), () => this.#attackers.play(names, seed, ms));
  }

  /** @param work resolves with what it found by itself, or '' */
  async #cost(what: string, work: () => Promise<string>): Promise<string> {
    let finding = '';
    const cost = await this.crowd.during(async () => {
      finding = await work();
    });
    this.#test.comment(`${what}: ${worded(cost)}`);
    const { healthMs, gapMs, harm } = cost;
    const lateMs = gapMs - Math.max(VISIT_MS, this.#peace.gapMs);
    const costs = [
      ...(harm === '' ? [] : [harm]),
      ...(finding === '' ? [] : [finding]),
      ...(healthMs > MOST_MS ? [`/healthz took ${Math.round(healthMs)} ms`] : []),
      ...(lateMs > MOST_MS ? [`audio was ${Math.round(lateMs)} ms late`] : []),
    ];
    return costs.join('; ');
  }
}

function worded({ healthMs, gapMs, harm }: Cost): string {
  return `/healthz at most ${Math.round(healthMs)} ms, audio after at most ${Math.round(gapMs)} ms${harm && `; ${harm}`}`;
}
