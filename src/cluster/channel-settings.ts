/**
 * What a channel must have alike at all machines, and what it has at each: a tape that goes on elsewhere with another delay, or another list of sources, is
 * no error, but nobody means it. Each machine says what it has over its bridges (session-bridge.ts), when they begin and where that has changed; what differs is
 * named once, and in the report for as long as it does (app/cluster.ts).
 */

import { z } from 'zod';
import { mustJson } from '../metadata/record-schema.js';

/** A machine that only serves has no sources of its own: null. */
export interface ChannelSettings {
  readonly delaySeconds: number;
  /** Null: as the bitrate has it. */
  readonly metaint: number | null;
  /** Their types, in order. */
  readonly sources: readonly string[] | null;
}

/** One of them, at two machines. */
export interface Difference {
  readonly channel: string;
  readonly option: string;
  readonly node: string;
  readonly here: string;
  readonly there: string;
}

const MAX_SOURCES = 100;

const settingsSchema = z.looseObject({
  delaySeconds: z.number().min(0).max(3600),
  metaint: z.int().min(1).max(65_535).nullable(),
  sources: z
    .array(z.string().regex(/^[a-z]{1,20}$/))
    .max(MAX_SOURCES)
    .nullable(),
});

/** One machine. */
export interface OtherSettings {
  readonly node: string;
  /** What was said to it of us, by channel, and as of which change here. */
  readonly said: Map<string, string>;
  turn: number;
}

export interface SettingsParts {
  channels(): Iterable<readonly [channel: string, settings: ChannelSettings]>;
  /** It is new, or another one than before. */
  onDiffers(difference: Difference): void;
}

export class ClusterSettings {
  readonly #parts: SettingsParts;
  #own: ReadonlyMap<string, ChannelSettings> = new Map();
  #turn = 0;
  /** By machine, by channel; a machine that is away keeps what it has said. */
  readonly #theirs = new Map<string, Map<string, ChannelSettings>>();
  /** What was named, so that it is not named again. */
  #named: ReadonlySet<string> = new Set();

  constructor(parts: SettingsParts) {
    this.#parts = parts;
    this.refresh();
  }

  /** The configuration has changed in place. */
  refresh(): void {
    this.#own = new Map(this.#parts.channels());
    this.#turn++;
    for (const theirs of this.#theirs.values())
      for (const channel of theirs.keys()) if (!this.#own.has(channel)) theirs.delete(channel);
    this.#name();
  }

  /** Another machine is there. */
  enter(node: string): OtherSettings {
    return { node, said: new Map(), turn: 0 };
  }

  /** What has changed here since it was said to that one. */
  news(other: OtherSettings): (readonly [channel: string, text: string])[] {
    if (other.turn === this.#turn) return [];
    other.turn = this.#turn;
    const news: (readonly [string, string])[] = [];
    for (const [channel, settings] of this.#own) {
      const text = JSON.stringify(settings);
      if (text === other.said.get(channel)) continue;
      other.said.set(channel, text);
      news.push([channel, text]);
    }
    return news;
  }

  /** What that one has of a channel that is here, too. @throws CheckError where it is nothing of the kind */
  hear({ node }: OtherSettings, channel: string, text: string): void {
    const settings = mustJson<ChannelSettings>(settingsSchema, text);
    if (!this.#own.has(channel)) return;
    let theirs = this.#theirs.get(node);
    if (theirs === undefined) this.#theirs.set(node, (theirs = new Map()));
    theirs.set(channel, settings);
    this.#name();
  }

  /** All that differ now, by machine and channel. */
  get differences(): readonly Difference[] {
    const found: Difference[] = [];
    for (const [node, theirs] of this.#theirs) {
      for (const [channel, there] of theirs) {
        const here = this.#own.get(channel);
        if (here !== undefined) found.push(...differencesOf(channel, node, here, there));
      }
    }
    return found;
  }

  #name(): void {
    const { differences } = this;
    const before = this.#named;
    this.#named = new Set(differences.map((one) => JSON.stringify(one)));
    for (const one of differences) if (!before.has(JSON.stringify(one))) this.#parts.onDiffers(one);
  }
}

function differencesOf(channel: string, node: string, here: ChannelSettings, there: ChannelSettings): Difference[] {
  const found: Difference[] = [];
  const look = (option: string, own: string, theirs: string) => {
    if (own !== theirs) found.push({ channel, option, node, here: own, there: theirs });
  };
  look('delaySeconds', `${here.delaySeconds}`, `${there.delaySeconds}`);
  look('metaint', `${here.metaint ?? 'auto'}`, `${there.metaint ?? 'auto'}`);
  if (here.sources !== null && there.sources !== null) look('sources', here.sources.join(' '), there.sources.join(' '));
  return found;
}
