/** A channel's HLS with its files, over restarts of its hub; the clock stands still until a test moves it. */

import { join } from 'node:path';
import type { Test } from 'tap';
import { HlsFiles } from '../../src/hls/hls-files.js';
import { Rewinds } from '../../src/hls/rewind/rewinds.js';
import { type ReadPlaylist, readPlaylist } from './hls-channel.js';
import { HlsLink } from './hls-link.js';
import { tempFolder } from './temp-folder.js';

export const KEPT_KEY = 'demo';

export class KeptHls {
  readonly folder: string;
  readonly faults: string[] = [];
  rewinds: Rewinds;
  files: HlsFiles;
  readonly link: HlsLink;

  constructor(t: Test) {
    const kept = this;
    this.folder = join(tempFolder(t), 'hls');
    this.rewinds = this.open();
    this.files = this.#open();
    this.link = new HlsLink(
      1,
      {
        read: (channel) => this.files.read(channel),
        lastRewound: (channel) => this.files.lastRewound(channel),
        keep: (channel, window, limits) => this.files.keep(channel, window, limits),
        written: (channel) => this.files.written(channel),
        trim: () => this.files.trim(),
        leave: (channel) => this.files.leave(channel),
        tidy: (has) => this.files.tidy(has),
        settled: () => this.files.settled(),
        get unwritten() {
          return kept.files.unwritten;
        },
        get faults() {
          return kept.files.faults;
        },
      },
      this.rewinds,
    );
  }

  get index(): string {
    return join(this.folder, KEPT_KEY, 'window.json');
  }

  get playlist(): ReadPlaylist {
    return readPlaylist(this.link.window.playlist);
  }

  /** Seconds of audio pass, with requests all the time. */
  async pass(seconds: number): Promise<void> {
    for (let i = 0; i < seconds; i++) {
      this.link.pass(1);
      await this.link.hub.of(this.link)!.restored();
    }
    await this.files.settled();
  }

  /** The process dies, and another one begins. */
  async restart(): Promise<void> {
    await this.files.settled();
    void this.link.hub.close();
    this.rewinds = this.open();
    this.files = this.#open();
    this.link.hub = this.link.makeHub(this.rewinds);
  }

  /** Opens the rewinds as any process does. */
  open(): Rewinds {
    return new Rewinds({
      folder: this.folder,
      clock: { now: () => this.link.channel.clock.now() },
      onDamaged: (channel, error) => this.faults.push(`${channel}: ${(error as Error).message}`),
    });
  }

  #open(): HlsFiles {
    return new HlsFiles(this.folder, {
      clock: {
        now: () => this.link.channel.clock.now(),
        wallMs: () => this.link.channel.clock.wallMs(),
        alarm: (dueMs, handler) => this.link.channel.clock.alarm(dueMs, handler),
      },
      rewinds: this.rewinds,
      onDamaged: (channel, error) => this.faults.push(`${channel}: ${(error as Error).message}`),
    });
  }
}
