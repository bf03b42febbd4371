/**
 * The directories of streams that list this server's channels: which channels each is to list is decided once a second. Without directories
 * nothing is done. Of several machines one lists a channel. Made by app/hub/hub-directories.ts.
 */

import type { Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import { channelsOf } from '../config/adopt.js';
import type { DirectoryConfig } from '../config/listed/directories-config.js';
import type { LoadedConfig } from '../config/load.js';
import { remade } from '../config/same.js';
import { Directory, type DirectoryOutput } from './directory.js';
import type { YpChannel } from './yp.js';

export interface DirectoriesParts extends Pick<DirectoryOutput, 'nowOf'> {
  /** The configuration in force, which a reload changes in place. */
  readonly config: LoadedConfig;
  readonly clock: Clock;
  readonly log: Log;
  /** The listing of a channel; null: it is not on air, or not public. @param last its listing before, which outlasts a moment without audio */
  listedOf(channel: string, last: YpChannel | null): YpChannel | null;
  /** Whether this machine lists the channel. */
  isTurn(channel: string): boolean;
  /** Reports the channels that may be listed. */
  onChannels(channels: Iterable<string>): void;
}

export class Directories {
  readonly #parts: DirectoriesParts;
  #made: readonly DirectoryConfig[] = [];
  #all: readonly Directory[] = [];
  /** The channels that are to be listed now. */
  #wanted: ReadonlyMap<string, YpChannel> = new Map();
  #isClosed = false;

  constructor(parts: DirectoriesParts) {
    this.#parts = parts;
  }

  /** The directories in the order of the configuration. */
  get all(): readonly Pick<Directory, 'counts' | 'listed'>[] {
    return this.#all;
  }

  /** Called at the start, and when another configuration is in force. */
  follow(): void {
    const { config, onChannels } = this.#parts;
    const { directories } = config;
    if (this.#isClosed || (directories.length === 0 && this.#all.length === 0)) return;
    const channels = channelsOf(config);
    onChannels(directories.length === 0 ? [] : [...channels.keys()]);
    for (const directory of this.#all) directory.keep(channels);
    if (directories === this.#made) return;
    this.#made = directories;
    const { all, gone } = remade(this.#all, directories, (options) => this.#make(options));
    this.#all = all;
    for (const directory of gone) void directory.close(false);
  }

  /** Called once a second. */
  look(nowMs: number): void {
    if (this.#all.length === 0) return;
    const { config, listedOf, isTurn } = this.#parts;
    const wanted = new Map<string, YpChannel>();
    for (const channel of channelsOf(config).keys()) {
      if (!isTurn(channel)) continue;
      const listed = listedOf(channel, this.#wanted.get(channel) ?? null);
      if (listed !== null) wanted.set(channel, listed);
    }
    this.#wanted = wanted;
    for (const directory of this.#all) directory.look(wanted, nowMs);
  }

  /** Idempotent. Resolves when nothing is listed any more, or after some seconds. @param isNext another process takes over: removes nothing */
  async close(isNext: boolean): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#all.map((directory) => directory.close(isNext)));
  }

  #make(options: DirectoryConfig): Directory {
    const { clock, log, nowOf } = this.#parts;
    // A reload may give it another place.
    const number = () => ({ directory: this.#all.indexOf(made) + 1 });
    const made: Directory = new Directory(options, clock, {
      nowOf,
      onTrouble: (trouble) => log.warn({ ...number(), trouble }, 'a directory does not answer: retrying'),
      onRecovered: () => log.info(number(), 'a directory answers again'),
      onRefused: (channel, message) =>
        log.warn({ ...number(), channel, message }, 'a directory does not list a channel: retrying'),
      onListed: (channel) => log.info({ ...number(), channel }, 'a directory lists a channel again'),
    });
    return made;
  }
}
