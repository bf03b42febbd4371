/**
 * Reads the configuration again and puts it in force: on SIGHUP, on request by the control socket or HTTP, or when the file changes. If it is
 * invalid or refused, the reasons are logged and returned to the requester, and the present one stays. Owned by run.ts.
 */

import { realpathSync, statSync } from 'node:fs';
import type { Log } from '../../base/log.js';
import { msUntil, nextWhole } from '../../base/whole-time.js';
import type { LoadedConfig } from '../../config/load.js';
import { planReload, planText, type ReloadPlan } from '../../config/plan.js';
import { type ConfigOptions, readConfig } from './configuration.js';
import type { Reloads } from './reloads.js';

/** How often the file is checked for changes. */
const LOOK_MS = 1000;

export interface ReloadingParts {
  readonly options: ConfigOptions;
  /** The configuration in force. */
  readonly config: LoadedConfig;
  readonly log: Log;
  /** Returns null during the start of the server. */
  reloads(): Reloads | null;
  onApplied(): void;
}

export class Reloading {
  readonly #parts: ReloadingParts;
  /** The stamp of the file as it was last read. */
  #seen = '';
  /** The stamp of a file that has changed since; null if it has not. */
  #changing: string | null = null;

  constructor(parts: ReloadingParts) {
    this.#parts = parts;
  }

  /**
   * Reads the configuration and puts it in force. Resolves with what has changed; rejects with ConfigError, or with why it cannot be put in force.
   * @param byRestart whether changes that need new processes may restart them
   */
  async reload(byRestart = false): Promise<ReloadPlan> {
    const { options, log, onApplied } = this.#parts;
    const reloads = this.#parts.reloads();
    if (reloads === null) throw new Error('the server is starting');
    // Taken before the file is read, so that a write during the read counts as another change.
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
      log.error({ problems }, 'the configuration was not reloaded: keeping the current one');
      throw error;
    }
  }

  /** Reloads whenever the file has changed, as long as the configuration says `reload: watch`. */
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

  /** Reloads a changed file once two checks in a row have found it the same, since it may still be being written. */
  #look(): void {
    const stamp = this.#stamp();
    const isSettled = stamp === this.#changing;
    this.#changing = stamp === this.#seen ? null : stamp;
    if (this.#changing === null || !isSettled) return;
    this.#seen = stamp;
    this.#changing = null;
    // The log has the reason of a refusal.
    if (this.#parts.config.reload === 'watch') this.reload().catch(() => undefined);
  }

  /** Identifies the file's present content by inode, size and time; "" if the file does not exist, or cannot be looked at for now. */
  #stamp(): string {
    try {
      const { ino, size, mtimeMs } = statSync(this.#parts.options.path);
      return `${ino} ${size} ${mtimeMs}`;
    } catch {
      return '';
    }
  }

  /** The file that it reads, with symbolic links resolved. Throws if it does not exist. */
  get file(): string {
    return realpathSync(this.#parts.options.path);
  }

  /** Returns what a reload would change now. Throws ConfigError. */
  plan(): ReloadPlan {
    return planReload(this.#parts.config, readConfig(this.#parts.options).config);
  }
}
