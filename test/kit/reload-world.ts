/** The state of a run of reloads: the server, its clients, and the model of its channels. Pushes titles. */

import net from 'node:net';
import { join } from 'node:path';
import type { Test } from 'tap';
import { PEM } from './certificate.js';
import { freePorts } from './process.js';
import type { Random } from './random.js';
import { Receiver } from './receiver.js';
import type { ChannelAir } from './reload-air.js';
import { request, type StampedListener, type TitleWatcher } from './reload-clients.js';
import { type ChannelState, type ConfigState, channelsOf, hashed } from './reload-config.js';
import { ReloadState } from './reload-state.js';
import { type Subject, startSubject } from './reload-subject.js';
import { openUpstream, type StampedEncoder, writeStamped } from './stamped.js';
import { tempFolder } from './temp-folder.js';

const FILE_FRAMES = 1200;
const FILES = 3;
/** Number of a channel's titles kept, for the check of its history at the end. */
const TITLES_KEPT = 200;
/** Time-out for events whose speed depends on the machine. */
export const PATIENCE_MS = 20_000;

export interface PairsSize {
  readonly pairs: number;
  readonly listeners: number;
  readonly watchers: number;
  /** Number of pairs between two comparisons of all that was sent. */
  readonly drainEvery: number;
}

interface WorldParts {
  readonly state: ReloadState;
  readonly subject: Subject;
  readonly port: number;
  readonly hooks: readonly Receiver[];
  readonly sources: Map<number, string>;
  readonly lengths: ReadonlyMap<number, number>;
}

export class PairsWorld {
  done = 0;
  readonly t: Test;
  readonly size: PairsSize;
  readonly random: Random;
  readonly state: ReloadState;
  readonly subject: Subject;
  readonly port: number;
  readonly hooks: readonly Receiver[];
  /** Source's number → name. */
  readonly sources: Map<number, string>;
  /** File's number → frames. */
  readonly lengths: ReadonlyMap<number, number>;
  readonly air = new Map<string, ChannelAir>();
  readonly encoders = new Map<string, StampedEncoder>();
  /** Encoders that a plan has disconnected, until that is observed. */
  readonly cut: StampedEncoder[] = [];
  listeners: StampedListener[] = [];
  watchers: TitleWatcher[] = [];
  /** Numbers of accepted titles by channel, in order. */
  readonly accepted = new Map<string, number[]>();
  /** The number of the last title. */
  titles = 0;
  readonly counts = { refused: 0, ended: 0, cut: 0, switched: 0, closed: 0, accepted: 0 };

  static async begin(t: Test, size: PairsSize, random: Random): Promise<PairsWorld> {
    const sources = new Map<number, string>();
    const lengths = new Map<number, number>();
    const folder = tempFolder(t);
    const files = (['mp3', 'aac'] as const).map((codec) =>
      Array.from({ length: FILES }, (_, i) => {
        const path = join(folder, `${i}.${codec}`);
        const source = sources.size + 1;
        writeStamped(path, codec, source, FILE_FRAMES);
        sources.set(source, `file ${path}`);
        lengths.set(source, FILE_FRAMES);
        return path;
      }),
    );
    const upstream = await openUpstream(t, (path) => {
      const source = sources.size + 1;
      sources.set(source, `pull http://127.0.0.1:${upstream.port}${path}`);
      return source;
    });
    const hooks = [await Receiver.open(t), await Receiver.open(t)];
    for (const hook of hooks) hook.answer = (response) => response.writeHead(200, { 'icecast-auth-user': '1' }).end();
    const ports = [await freePorts(2), await freePorts(2), await freePorts(2), await freePorts(2)];
    const takenPort = await freePorts(2);
    const taken = net.createServer().listen(takenPort, '127.0.0.1');
    t.teardown(() => taken.close());
    const state = new ReloadState(random, {
      ports,
      takenPort,
      files: { mp3: files[0]!, aac: files[1]! },
      upstream: upstream.port,
      hooks: hooks.map(({ url }) => url),
      certificates: PEM,
    });
    const subject = await startSubject(t, state.yaml, ports[0]!);
    return new PairsWorld(t, size, random, { state, subject, port: ports[0]!, hooks, sources, lengths });
  }

  private constructor(t: Test, size: PairsSize, random: Random, parts: WorldParts) {
    this.t = t;
    this.size = size;
    this.random = random;
    this.state = parts.state;
    this.subject = parts.subject;
    this.port = parts.port;
    this.hooks = parts.hooks;
    this.sources = parts.sources;
    this.lengths = parts.lengths;
  }

  get config(): ConfigState {
    return this.state.config;
  }

  /** Drops all clients, so that only the server can still hold something. */
  forget(): void {
    this.listeners = [];
    this.watchers = [];
    this.encoders.clear();
    this.cut.length = 0;
    this.accepted.clear();
  }

  /** The number of the title that a channel accepted last. */
  lastTitle(key: string): number | undefined {
    return this.accepted.get(key)?.at(-1);
  }

  /** Whether a source of a channel would play. */
  isThere(key: string): (name: string) => boolean {
    return (name) => {
      if (name === 'encoder') return this.encoders.get(key)?.isTaken ?? false;
      return !name.endsWith('/dead');
    };
  }
}

/** The key of the station that a channel is in. */
export function stationOf({ stations }: ConfigState, key: string): string | undefined {
  return Object.keys(stations).find((name) => key in stations[name]!.channels);
}

/** Pushes to a random channel, which may be removed or lose its token meanwhile; an accepted title must not be lost. */
export async function pushAnywhere(world: PairsWorld, next: ConfigState): Promise<void> {
  const all = [...channelsOf(world.config)];
  const [key, channel] = all[world.random.int(0, all.length - 1)]!;
  // For a channel that is removed, added or moved, the stations that get the title depend on the moment.
  const isSure = stationOf(next, key) === stationOf(world.config, key);
  await push(world, key, channel, isSure, true);
}

export async function push(
  world: PairsWorld,
  key: string,
  channel: ChannelState,
  isSure = true,
  mayFail = false,
): Promise<void> {
  const token = world.state.tokens.get(key)!.find((each) => channel.pushTokens.includes(hashed(each)))!;
  const number = ++world.titles;
  const station = stationOf(world.config, key);
  const { status, body } = await request(world.port, `GET /metapush/${key}/${token}?song=song+${number} HTTP/1.1`);
  if (status !== 200) {
    if (mayFail && status === 403) return;
    throw new Error(`push to ${key}: ${status} ${body}`);
  }
  world.counts.accepted++;
  world.accepted.set(key, [...(world.accepted.get(key) ?? []).slice(-TITLES_KEPT), number]);
  for (const watcher of world.watchers) {
    const isIts = watcher.scope === 'channel' ? watcher.key === key : watcher.key === station;
    if (isIts) watcher.due.push({ number, isSure });
    else if (!isSure && watcher.scope === 'station') watcher.due.push({ number, isSure: false });
  }
}
