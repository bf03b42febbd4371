/**
 * The story of a server whose processes are killed, stopped and replaced under load: listeners, an encoder, watchers, and consecutive pushes. It
 * asserts:
 *
 * - a connection ends only by the death of its worker; the encoder's, which is with the hub, also by that of the hub;
 * - no push is refused, and each answered one reaches each connected watcher, once, in order;
 * - every stream has whole frames, ICY blocks in their places, and titles in order, none twice;
 * - if no process died, each listener hears every frame that the encoder sends.
 *
 * A hub that hangs twice within a minute assumes that its tape is the cause, and begins a new one (suspect-tapes.ts): listeners that move there get
 * the title in force once more, or must reconnect.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import type { Test } from 'tap';
import { DEMO_FRAMES, Feeder, framesIn } from './feeder.js';
import { Machine, RESTARTED_MS, strayBytes, WORKERS } from './machine.js';
import { pause } from './pause.js';
import { Player } from './player.js';
import type { Random } from './random.js';
import { DEMO_AUDIO } from './server.js';
import { until } from './until.js';
import { Watching } from './wire.js';

export type Act = 'reload' | 'restart' | 'kill hub' | 'stop hub' | 'kill worker' | 'stop worker';

export interface ProcessStory {
  readonly listeners: number;
  readonly acts: readonly Act[];
  /** `delaySeconds` of the channel. */
  readonly delaySeconds?: number;
}

/** The log message about an ended worker that is not started again. */
const DRAINED = 'a worker from before the restart has ended';
const WATCHERS = 4;
/** Interval of pushes; longer than a quarter of a second, so that each gets a block. */
const PUSH_MS = 400;
/** Identifies a frame by its last bytes, since a first frame is muted in its side information. */
const keyOf = (frame: Buffer) => frame.subarray(-48).toString('base64');

/** @param isAlone without a fallback behind the encoder, so that all audio is the encoder's */
const yaml = (port: number, isAlone: boolean, delaySeconds: number) => `
addresses: [{ host: 127.0.0.1, port: ${port} }]
streams: { burstSeconds: 2 }
shutdown: { drainSeconds: 3600 }
sessions: { togetherSeconds: 0 }
stations:
  demo:
    channels:
      studio:
        delaySeconds: ${delaySeconds}
        pushTokens: [studio-token]
        sources: [{ type: encoder, password: demo-source, lingerSeconds: 60 }${isAlone ? '' : `, { type: file, path: ${DEMO_AUDIO} }`}]
`;

/** A listener, and its first worker. */
interface Listener {
  readonly player: Player;
  readonly pid: number;
}

class Story {
  readonly t: Test;
  readonly #random: Random;
  readonly #machine: Machine;
  readonly listeners: Listener[] = [];
  readonly #watchers: Watching[] = [];
  readonly #answered: string[] = [];
  readonly #dead = new Set<number>();
  #encoder: Feeder;
  #isOver = false;

  constructor(t: Test, random: Random, machine: Machine) {
    this.t = t;
    this.#random = random;
    this.#machine = machine;
    this.#encoder = new Feeder(t, machine.port, '/studio');
  }

  async begin(listeners: number): Promise<void> {
    this.t.equal(await this.#encoder.answered(), 200);
    this.#encoder.stream(this.t);
    for (let i = 0; i < WATCHERS; i++) {
      this.#watchers.push(
        await new Watching(this.t, `ws://127.0.0.1:${this.#machine.port}/metadata/channel/studio`).opened(),
      );
    }
    await this.#join(listeners);
  }

  /** Pushes until the story is over. */
  async push(): Promise<void> {
    for (let i = 1; !this.#isOver; i++) {
      const status = await this.#machine.push(`s${i}`, 'studio').catch(() => 0);
      if (status === 200) this.#answered.push(`s${i}`);
      // The push's worker may have been killed meanwhile.
      else if (status !== 0 || this.#dead.size === 0) this.t.fail(`push ${i}: ${status}, seed ${this.#random.seed}`);
      await pause(PUSH_MS);
    }
  }

  async act(act: Act): Promise<void> {
    const machine = this.#machine;
    const why = `${act}, seed ${this.#random.seed}`;
    await pause(this.#random.int(0, 1000));
    if (act === 'reload') {
      const before = machine.logged('"configuration reloaded"');
      this.#rewrite();
      machine.server.child.kill('SIGHUP');
      await until(
        () => machine.logged('"configuration reloaded"') > before,
        RESTARTED_MS,
        () => `${why}: ${machine.news}`,
      );
    } else if (act === 'restart') {
      const before = machine.logged('"restarted"');
      machine.server.child.kill('SIGUSR2');
      await until(
        () => machine.logged('"restarted"') > before,
        RESTARTED_MS,
        () => `${why}: ${machine.news}`,
      );
    } else {
      const [verb, role] = act.split(' ') as ['kill' | 'stop', 'hub' | 'worker'];
      const pids = machine.pidsOf(role);
      const pid = pids[this.#random.int(0, pids.length - 1)]!;
      this.#dead.add(pid);
      const isThere = () => machine.logged('"process ready"') + machine.logged(DRAINED);
      const before = isThere();
      process.kill(pid, verb === 'kill' ? 'SIGKILL' : 'SIGSTOP');
      await until(
        () => isThere() > before && !machine.children.some((child) => child.pid === pid),
        RESTARTED_MS,
        () => `${why}: ${machine.news}`,
      );
      if (role === 'hub') await this.#encoderAgain();
      await this.#again();
    }
    await this.#allPlay(why);
  }

  /** Adds or removes a channel, and renames the other one. */
  #rewrite(): void {
    const { config } = this.#machine;
    const text = readFileSync(config, 'utf8');
    const [come, named] = [
      `      come: { sources: [{ type: file, path: ${DEMO_AUDIO} }] }\n`,
      "        name: 'Night'\n",
    ];
    const gone = text.replace(come, '').replace(named, '');
    writeFileSync(config, gone === text ? `${text.replace('      studio:\n', (line) => line + named)}${come}` : gone);
  }

  /** Ends the pushes, and waits until their titles are heard. */
  async end(delaySeconds: number): Promise<void> {
    await pause(2 * PUSH_MS);
    this.#isOver = true;
    await pause(delaySeconds * 1000);
  }

  check(): void {
    const { seed } = this.#random;
    const isAnew = this.#machine.logged('begins a new one') > 0;
    this.t.ok(this.#answered.length > 3, `${this.#answered.length} pushes`);
    for (const { player, pid } of this.listeners) {
      if (player.closed && !this.#dead.has(pid) && !isAnew) this.t.fail(`a listener was cut, seed ${seed}`);
      const stray = strayBytes(player.audio);
      if (stray !== 0) this.t.fail(`${stray} bytes that are no frame, seed ${seed}`);
      const titles = player.titles.map(({ title }) => Number(title.slice(1)));
      const mayFollow = (title: number, before: number) => title > before || (isAnew && title === before);
      if (titles.some((title, i) => i > 0 && !mayFollow(title, titles[i - 1]!)))
        this.t.fail(`titles ${titles}, seed ${seed}`);
    }
    for (const watcher of this.#watchers) {
      const songs = watcher.songs.map((song) => Number(song.slice('now s'.length)));
      if (songs.some((song, i) => i > 0 && song <= songs[i - 1]!)) this.t.fail(`watched ${songs}, seed ${seed}`);
      const missing = this.#answered.filter(
        (song) => Number(song.slice(1)) > songs[0]! && !watcher.songs.includes(`now ${song}`),
      );
      if (watcher.code === 0 && missing.length > 0) this.t.fail(`not watched: ${missing}, seed ${seed}`);
      if (watcher.code !== 0 && this.#dead.size === 0)
        this.t.fail(`a watcher was closed: ${watcher.code}, seed ${seed}`);
    }
  }

  /** Asserts that listeners heard all that the encoder sent, and nothing else. */
  checkAudio(): void {
    const order = new Map(DEMO_FRAMES.map((frame, i) => [keyOf(frame), i]));
    this.t.equal(this.#encoder.closed, false, 'the encoder stays');
    for (const { player } of this.listeners) {
      const { audio } = player;
      const tag = audio.toString('latin1', 0, 3) === 'ID3' ? 10 + audio[8]! * 128 + audio[9]! : 0;
      const { frames } = framesIn(audio.subarray(tag));
      const places = frames.map((frame) => order.get(keyOf(frame)) ?? -1);
      const at = places.findIndex((place, i) => i > 0 && place !== (places[i - 1]! + 1) % DEMO_FRAMES.length);
      if (at >= 0)
        this.t.fail(
          `frame ${places[at]} behind ${places[at - 1]}, ${at} of ${places.length}, seed ${this.#random.seed}`,
        );
      const changed = frames.findIndex((frame, i) => i > 2 && !frame.equals(DEMO_FRAMES[places[i]!]!));
      if (at < 0 && changed >= 0) this.t.fail(`frame ${changed} was changed, seed ${this.#random.seed}`);
    }
  }

  /** Disconnects all clients. */
  leave(): void {
    for (const { player } of this.listeners) player.close();
    for (const { ws } of this.#watchers) ws.terminate();
  }

  /** Reconnects clients whose worker is gone. */
  async #again(): Promise<void> {
    await until(() => this.listeners.every(({ player, pid }) => player.closed || !this.#dead.has(pid)), RESTARTED_MS);
    const gone = this.listeners.filter(({ player, pid }) => player.closed && this.#dead.has(pid)).length;
    const there = this.listeners.filter(({ player }) => !player.closed).length;
    if (gone > 0) await this.#join(gone + there < 10 ? gone : Math.min(gone, 10));
  }

  async #encoderAgain(): Promise<void> {
    await this.#encoder.over();
    for (;;) {
      this.#encoder = new Feeder(this.t, this.#machine.port, '/studio');
      if ((await this.#encoder.answered().catch(() => 0)) === 200) break;
    }
    this.#encoder.stream(this.t);
  }

  async #join(count: number): Promise<void> {
    const players = Array.from(
      { length: count },
      (_, i) => new Player(this.#machine.port, '/studio', { keep: true, icy: i % 5 !== 0 }),
    );
    for (const player of players) {
      this.t.teardown(() => player.close());
      await player.until(({ audioBytes }) => audioBytes > 0);
    }
    const pids = this.#machine.ownersOf(players);
    for (const [i, player] of players.entries()) this.listeners.push({ player, pid: pids[i]! });
  }

  /** Waits until all connected clients receive more. */
  async #allPlay(why: string): Promise<void> {
    const before = this.listeners.map(({ player }) => player.audioBytes);
    await until(
      () => this.listeners.every(({ player }, i) => player.closed || player.audioBytes > before[i]! + 32_000),
      RESTARTED_MS,
      () => {
        const got = this.listeners.map(({ player }, i) => (player.closed ? 'closed' : player.audioBytes - before[i]!));
        return `${why}: encoder ${this.#encoder.closed ? 'closed' : 'open'}, ${got.join().slice(0, 200)} ${this.#machine.news}`;
      },
    );
  }
}

export async function processStory(
  t: Test,
  random: Random,
  { listeners, acts, delaySeconds = 0 }: ProcessStory,
): Promise<void> {
  const isQuiet = acts.every((act) => act === 'restart' || act === 'reload');
  const machine = await Machine.start(t, (port) => yaml(port, isQuiet, delaySeconds));
  const story = new Story(t, random, machine);
  await story.begin(listeners);
  const pushed = story.push();
  for (const act of acts) await story.act(act);
  await story.end(delaySeconds);
  await pushed;
  story.check();
  if (isQuiet) story.checkAudio();
  story.leave();
  // Old workers have no clients any more.
  await until(
    () => machine.pidsOf('worker').length === WORKERS,
    RESTARTED_MS,
    () => `${machine.pidsOf('worker').length} workers`,
  );
  t.equal(machine.pidsOf('hub').length, 1);
}
