/**
 * Readers that check what an encoder program sends to one channel: a listener with ICY, one without, and a WebSocket, all from before its start
 * until the test ends, and pollers. Neither listener may be lost, or receive anything but whole frames.
 */

import type { Test } from 'tap';
import { FrameRecorder } from './frame-recorder.js';
import { Player } from './player.js';
import type { Program } from './program.js';
import type { TestServer } from './server.js';
import { until } from './until.js';
import { Watching } from './wire.js';

/** Sample rate of the demo's file, which plays while no encoder does. */
export const FILE_HERTZ = 44_100;
/** Sample rate of all encoder programs in these tests. */
export const ENCODER_HERTZ = 48_000;
/** Programs start slowly on a busy machine. */
const START_MS = 30_000;
const TITLE_MS = 40_000;
/**
 * For the server's configuration, so that it does not switch to the file when a program only lacked CPU for a while. Programs in these tests end
 * by closing their connection.
 */
export const PATIENT = '\nsources: { stallMs: 8000 }';

export class ChannelProbe {
  readonly icy: Player;
  readonly plain: Player;
  readonly watching: Watching;
  readonly recorders: readonly FrameRecorder[];
  readonly #test: Test;
  readonly #url: string;
  /** Number of switches between the file and programs so far. */
  #switches = 0;

  constructor(t: Test, { port, base, ws }: TestServer, channel: string) {
    this.#test = t;
    this.#url = `${base}/metadata/channel/${channel}.json`;
    this.icy = new Player(port, `/${channel}`, { keep: true });
    this.plain = new Player(port, `/${channel}`, { keep: true, icy: false });
    this.recorders = [this.icy, this.plain].map((player) => new FrameRecorder(t, player));
    this.watching = new Watching(t, `${ws}/metadata/channel/${channel}`);
    t.teardown(() => {
      this.icy.close();
      this.plain.close();
    });
  }

  /** Both listeners hear the file. */
  async hearsFile(): Promise<void> {
    await until(
      () => this.#hears(FILE_HERTZ),
      10_000,
      () => `no file at ${this.#url}`,
    );
  }

  /** Both listeners hear the program that was just started. */
  async hears(program: Program): Promise<void> {
    this.#switches++;
    await program.until(() => this.#hears(ENCODER_HERTZ), START_MS, `not heard at ${this.#url}`);
  }

  /** Both listeners hear the file again, after the program has gone. */
  async hearsFileAgain(): Promise<void> {
    this.#switches++;
    await this.hearsFile();
  }

  /** These titles reach all readers, in this order; a poll gets each while it is in force. */
  async reads(program: Program, ...titles: string[]): Promise<void> {
    for (const title of titles) {
      await program.until(async () => (await this.#poll()) === title, TITLE_MS, `no poll gets ${title}`);
    }
    const all = titles.join('\n');
    const watched = () => this.watching.records.map(({ rawdata }) => rawdata);
    const heard = () => this.icy.titles.map(({ title }) => title);
    for (const [who, seen] of [
      ['WebSocket', watched],
      ['ICY', heard],
    ] as const) {
      await program.until(() => seen().join('\n').includes(all), TITLE_MS, `${who} does not get ${titles}`);
    }
  }

  /** No listener was lost, and all audio was whole frames, so ICY blocks were in their places too. */
  isUnharmed(): void {
    const t = this.#test;
    t.strictSame([this.icy.status, this.plain.status], [200, 200]);
    t.strictSame([this.icy.closed, this.plain.closed, this.watching.code], [false, false, 0], 'all are still there');
    for (const [i, name] of ['with ICY', 'without ICY'].entries()) {
      const recorder = this.recorders[i]!;
      recorder.listen();
      t.ok(recorder.frames > 100, `${name}: ${recorder.frames} frames`);
      t.ok(recorder.breaks <= this.#switches, `${name}: ${recorder.breaks} breaks, ${this.#switches} switches`);
    }
  }

  #hears(hertz: number): boolean {
    return this.recorders.every((recorder) => recorder.hertz === hertz);
  }

  async #poll(): Promise<string> {
    const answer = await fetch(this.#url);
    return answer.status === 200 ? ((await answer.json()) as { rawdata: string }).rawdata : '';
  }
}
