/**
 * Well-behaved clients of a server under attack, from 127.0.0.1: an encoder with counted frames, listeners (half of them with ICY) that check each
 * byte, a new listener each second that leaves after its first bytes, watchers by WebSocket and SSE, a pushed title per second. No client may
 * lose a byte or a title, or wait: `during` measures the cost of an attack, `unharmed` asserts that nothing was lost.
 */

import http from 'node:http';
import type { Test } from 'tap';
import { ClientDelays } from './client-delays.js';
import { CountedEncoder, CountedFrames, FRAME_MS } from './counted.js';
import { Events } from './events.js';
import { MachineDelay } from './machine-delay.js';
import { pause } from './pause.js';
import { Player } from './player.js';
import type { ServerProcess } from './process.js';
import { until } from './until.js';
import { Watching } from './wire.js';

const PUSH_MS = 1000;
/** Minimum between an answer and the next push, so that each title has a place for its block. */
const MIN_MS = 500;
/** Audio that the encoder sends first, so that there is a burst for the first listeners. */
const AHEAD_MS = 4000;
/** A new listener must have audio by then, from the burst. */
const JOIN_MS = 2500;
/** Time for the last audio to reach all: the interval of new listeners, the tape's open segment, a busy machine. */
const ARRIVES_MS = 15_000;

export interface CrowdPlace {
  /** A channel with an encoder as its only source, and a `metaint` of much less than a second. */
  readonly channel: string;
  readonly password: string;
  readonly token: string;
  readonly listeners?: number;
  readonly watchers?: number;
}

/** The delays of the crowd in ms, without the machine's delays. */
export interface Cost {
  readonly healthMs: number;
  readonly gapMs: number;
  /** A fault: /healthz was not answered, a connection of the crowd was lost, a frame or a title is wrong; '': none. */
  readonly harm: string;
}

interface Listener {
  readonly player: Player;
  readonly frames: CountedFrames;
}

export class Crowd {
  readonly delays: ClientDelays;
  readonly #test: Test;
  readonly #server: ServerProcess;
  readonly #place: CrowdPlace;
  readonly #encoder: CountedEncoder;
  readonly #listeners: Listener[] = [];
  readonly #sockets: Watching[] = [];
  readonly #events: Events[] = [];
  readonly #pushed: string[] = [];
  readonly #agent = new http.Agent({ keepAlive: true });
  readonly #failedPushes: string[] = [];
  /** Number of new listeners who were not admitted. */
  #missed = 0;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(t: Test, server: ServerProcess, place: CrowdPlace) {
    this.#test = t;
    this.#server = server;
    this.#place = place;
    this.delays = new ClientDelays(t, server.port, new MachineDelay(t, server.child.pid!));
    this.#encoder = new CountedEncoder(t, server.port, `/${place.channel}`, place.password, AHEAD_MS);
    t.teardown(() => {
      this.#isOver = true;
      clearTimeout(this.#timer);
      this.#agent.destroy();
      for (const { player } of this.#listeners) player.close();
    });
  }

  /** Resolves when all are connected, play and watch. Pushes titles from now on. */
  async gather(): Promise<this> {
    const { channel, listeners = 50, watchers = 20 } = this.#place;
    const { port } = this.#server;
    await this.#encoder.answered();
    // The first title is in force before the first client connects, so that all get the same.
    await this.#push();
    for (let i = 0; i < listeners; i++) this.#listeners.push(this.#listen(i % 2 === 0));
    for (let i = 0; i < watchers; i++) {
      if (i % 2 === 0)
        this.#sockets.push(new Watching(this.#test, `ws://127.0.0.1:${port}/metadata/channel/${channel}`));
      else this.#events.push(new Events(this.#test, port, `channel/${channel}`));
    }
    await until(
      () =>
        this.#listeners.every(({ frames }) => frames.last >= 0) &&
        this.#sockets.every(({ records }) => records.length > 0) &&
        this.#events.every(({ seen }) => seen.length > 0),
      30_000,
      () => `the crowd does not get in: ${this.#harm()}`,
    );
    this.#pushOn();
    return this;
  }

  /** Measures the crowd's delays during `work` and for `settleMs` more, since some attacks take effect later. */
  async during(work: () => Promise<unknown>, settleMs = 300): Promise<Cost> {
    this.delays.reset();
    try {
      await work();
      await pause(settleMs);
      await this.delays.settled();
    } catch (error) {
      return { healthMs: Number.NaN, gapMs: Number.NaN, harm: this.#harm() || String(error) };
    }
    const { healthMs, gapMs } = this.delays;
    return { healthMs, gapMs, harm: this.#harm() };
  }

  /** Stops the pushes and asserts that all clients got every byte and every title. */
  async unharmed(why: string): Promise<void> {
    const t = this.#test;
    clearTimeout(this.#timer);
    this.#isOver = true;
    const lastFrame = this.#encoder.sent - 1 - Math.ceil(2000 / FRAME_MS);
    const titles = () => this.#pushed;
    const arrived = () =>
      this.#listeners.every(({ frames }) => frames.last >= lastFrame) &&
      this.#watchedTitles().every((titlesRead) => titlesRead.length >= titles().length);
    await until(arrived, ARRIVES_MS).catch(() => undefined);
    t.equal(this.#harm(), '', `${why}: no listener is harmed`);
    const late = this.#listeners.filter(({ frames }) => frames.last < lastFrame);
    t.equal(
      late.length,
      0,
      `${why}: ${late.length} listeners have not heard the end (${late[0]?.frames.last} of ${lastFrame})`,
    );
    for (const titlesRead of this.#watchedTitles()) {
      if (titlesRead.join() !== titles().join()) t.fail(`${why}: a watcher got ${difference(titlesRead, titles())}`);
    }
    for (const { player } of this.#listeners) {
      const heard = player.titles.map(({ title }) => title);
      const from = titles().indexOf(heard[0] ?? '');
      if (
        player.metaint > 0 &&
        heard.join() !==
          titles()
            .slice(from, from + heard.length)
            .join()
      ) {
        t.fail(`${why}: a listener got ${difference(heard, titles().slice(from))}`);
      }
    }
    const count = this.#listeners.reduce((sum, { frames }) => sum + frames.last - frames.first + 1, 0);
    t.comment(`${why}: ${count} frames and ${titles().length} titles were held against what was sent`);
  }

  #listen(icy: boolean, isMeasured = true): Listener {
    const frames = new CountedFrames();
    let mark: ClientDelays['mark'] | undefined;
    const onAudio = (bytes: Uint8Array): void => {
      if (mark !== undefined && isMeasured) this.delays.onGap(this.delays.sinceMs(mark));
      mark = this.delays.mark;
      frames.feed(bytes);
    };
    return { player: new Player(this.#server.port, `/${this.#place.channel}`, { icy, onAudio }), frames };
  }

  #watchedTitles(): string[][] {
    return [
      ...this.#sockets.map(({ records }) => records.map((record) => record.rawdata as string)),
      ...this.#events.map(({ seen }) => seen.map(({ record }) => record.rawdata as string)),
    ];
  }

  /** The first fault, in words. */
  #harm(): string {
    if (this.#server.ended !== undefined)
      return `the server ended with ${this.#server.ended}: ${this.#server.err.slice(-2000)}`;
    if (this.#encoder.closed) return 'the encoder was disconnected';
    if (this.#failedPushes.length > 0) return `a push was answered ${this.#failedPushes[0]}`;
    if (this.delays.failures > 0) return `/healthz failed ${this.delays.failures} times`;
    const lost = this.#listeners.filter(({ player }) => player.closed).length;
    if (this.#missed > 0) return `${this.#missed} newcomers had no audio after ${JOIN_MS} ms`;
    if (lost > 0) return `${lost} listeners were disconnected`;
    const gone =
      this.#sockets.filter(({ code }) => code !== 0).length + this.#events.filter((e) => e.wire.closed).length;
    if (gone > 0) return `${gone} watchers were disconnected`;
    return this.#listeners.find(({ frames }) => frames.fault !== '')?.frames.fault ?? '';
  }

  #pushOn(waitMs = PUSH_MS): void {
    this.#timer = setTimeout(async () => {
      const beganMs = performance.now();
      void this.#comeAndGo();
      await this.#push();
      if (!this.#isOver) this.#pushOn(Math.max(MIN_MS, PUSH_MS - (performance.now() - beganMs)));
    }, waitMs);
  }

  /** A new listener connects, hears something and leaves. */
  async #comeAndGo(): Promise<void> {
    const mark = this.delays.mark;
    const { player } = this.#listen(false, false);
    while (player.audioBytes === 0 && this.delays.sinceMs(mark) < JOIN_MS && !this.#isOver) await pause(20);
    if (player.audioBytes === 0 && !this.#isOver) this.#missed++;
    player.close();
  }

  #push(): Promise<void> {
    const title = `title ${this.#pushed.length}`;
    const path = `/metapush/${this.#place.channel}/${this.#place.token}?song=${encodeURIComponent(title)}`;
    return new Promise((done) => {
      const over = (failure?: string) => {
        if (failure === undefined) this.#pushed.push(title);
        else if (!this.#isOver) this.#failedPushes.push(failure);
        done();
      };
      http
        .get({ host: '127.0.0.1', port: this.#server.port, path, agent: this.#agent }, (response) => {
          response.resume();
          response.on('end', () => over(response.statusCode === 200 ? undefined : String(response.statusCode)));
        })
        .on('error', (error) => over(error.message));
    });
  }
}

function difference(got: readonly string[], wanted: readonly string[]): string {
  const at = wanted.findIndex((title, i) => got[i] !== title);
  return `${got.length} titles of ${wanted.length}; ${got[at]} in the place of ${wanted[at]}`;
}
