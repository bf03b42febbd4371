/**
 * Reads the configuration anew and hands it to what runs: on SIGHUP, when asked by the control socket, or when the file changes. What is wrong with
 * it is logged and answered; the old one stays then. Owned by run.ts.
 */

import { statSync } from 'node:fs';
import type { Log } from '../../base/log.js';
import { msUntil, nextWhole } from '../../base/whole-time.js';
import type { LoadedConfig } from '../../config/load.js';
import { planReload, planText, type ReloadPlan } from '../../config/plan.js';
import { type ConfigOptions, readConfig } from './configuration.js';
import type { Reloads } from './reloads.js';

/** Between two looks at the file. */
const LOOK_MS = 1000;

export interface ReloadingParts {
  readonly options: ConfigOptions;
  /** The one in force. */
  readonly config: LoadedConfig;
  readonly log: Log;
  /** Null: the server is being started. */
  reloads(): Reloads | null;
  onApplied(): void;
}

export class Reloading {
  readonly #parts: ReloadingParts;
  /** Of the file, as it was read (by whichever way) or looked at last, and of one that has changed since; null: it has not. */
  #seen = '';
  #changing: string | null = null;

  constructor(parts: ReloadingParts) {
    this.#parts = parts;
  }

  /**
   * @param byRestart what needs new processes gets them. Resolves with what was changed. Rejects with ConfigError, or with why it cannot be put in
   * force.
   */
  async reload(byRestart = false): Promise<ReloadPlan> {
    const { options, log, onApplied } = this.#parts;
    const reloads = this.#parts.reloads();
    if (reloads === null) throw new Error('the server is being started');
    // Before it is read: what is written meanwhile is another change.
    this.#seen = this.#stamp();
    try {
      const plan = await reloads.apply(readConfig(options), byRestart);
      const changes = planText(plan).split('\n');
      log.info({ changes }, 'configuration reloaded');
      onApplied();
      return plan;
    } catch (error) {
      reloads.refused();
      const problems = (error as Error).message.split('\n');
      log.error({ problems }, 'the configuration was not reloaded: the one in force stays');
      throw error;
    }
  }

  /** Reads the file when it has changed, as long as the configuration says so (`reload: watch`). */
  watch(): void {
    this.#seen = this.#stamp();
    this.#lookSoon();
  }

  #lookSoon(): void {
    const look = () => {
      this.#look();
      this.#lookSoon();
    };
    setTimeout(look, msUntil(nextWhole(LOOK_MS, performance.now()))).unref();
  }

  /** A file that is being written is left alone until it stays as it is. */
  #look(): void {
    const stamp = this.#stamp();
    const isSettled = stamp === this.#changing;
    this.#changing = stamp === this.#seen ? null : stamp;
    if (this.#changing === null || !isSettled) return;
    this.#seen = stamp;
    this.#changing = null;
    // Why it was refused is in the log.
    if (this.#parts.config.reload === 'watch') this.reload().catch(() => undefined);
  }

  /** Another text where the file is another one; "": there is none. */
  #stamp(): string {
    const stats = statSync(this.#parts.options.path, { throwIfNoEntry: false });
    return stats === undefined ? '' : `${stats.ino} ${stats.size} ${stats.mtimeMs}`;
  }

  /** What a reload would change now. Throws ConfigError. */
  plan(): ReloadPlan {
    return planReload(this.#parts.config, readConfig(this.#parts.options).config);
  }
}
