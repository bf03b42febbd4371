/**
 * Settings of a channel that should be equal on every machine. A difference (another delay, another list of sources) stops nothing, but is most
 * likely a mistake. Each machine sends its own settings over its bridges (session-bridge.ts), at first and when they change. A difference is logged
 * once, and reported while it lasts (app/hub/hub-cluster.ts).
 */

import * as z from 'zod';
import { MAX_HOLD_SECONDS } from '../../config/push-limits.js';
import type { Plain } from '../../metadata/record-schema.js';

/** One setting that differs between this machine and another. */
export interface Difference {
  readonly channel: string;
  readonly option: string;
  readonly node: string;
  readonly here: string;
  readonly there: string;
}

/** Of one channel: a configuration has at most 16. */
const MAX_SOURCES = 100;

export const settingsSchema = z.looseObject({
  delaySeconds: z.number().min(0).max(3600),
  /** Null: it follows the bitrate. */
  metaint: z.int().min(1).max(65_535).nullable(),
  /** How far ahead pushes are held: the same push would be held at one machine, and shown at once at another. */
  holdSeconds: z.number().min(0).max(MAX_HOLD_SECONDS),
  /** Their types, in order; null: this machine serves only (cluster.sources: false). */
  sources: z
    .array(z.string().regex(/^[a-z]{1,20}$/))
    .max(MAX_SOURCES)
    .nullable(),
});
export type ChannelSettings = Plain<z.output<typeof settingsSchema>>;

/** Another machine, over one bridge. */
export interface OtherSettings {
  readonly node: string;
  /** This machine's settings as it was last sent them, by channel. */
  readonly said: Map<string, string>;
  /** The number of the last change here (#turn) that it was sent. */
  turn: number;
}

export interface SettingsParts {
  channels(): Iterable<readonly [channel: string, settings: ChannelSettings]>;
  /** A new difference. */
  onDiffers(difference: Difference): void;
}

export class ClusterSettings {
  readonly #parts: SettingsParts;
  #own: ReadonlyMap<string, ChannelSettings> = new Map();
  #turn = 0;
  /** By machine, by channel. They stay when a machine is lost, until it is forgotten. */
  readonly #theirs = new Map<string, Map<string, ChannelSettings>>();
  /** Differences that were logged, so that none is logged again. */
  #named: ReadonlySet<string> = new Set();

  constructor(parts: SettingsParts) {
    this.#parts = parts;
    this.refresh();
  }

  /** A reload has changed the configuration. */
  refresh(): void {
    this.#own = new Map(this.#parts.channels());
    this.#turn++;
    for (const theirs of this.#theirs.values())
      for (const channel of theirs.keys()) if (!this.#own.has(channel)) theirs.delete(channel);
    this.#name();
  }

  /** A bridge to another machine begins. */
  enter(node: string): OtherSettings {
    return { node, said: new Map(), turn: 0 };
  }

  /** The settings that have changed since the other machine was sent them. */
  news(other: OtherSettings): readonly (readonly [channel: string, settings: ChannelSettings])[] {
    if (other.turn === this.#turn) return [];
    other.turn = this.#turn;
    const news: [string, ChannelSettings][] = [];
    for (const [channel, settings] of this.#own) {
      const text = JSON.stringify(settings);
      if (text === other.said.get(channel)) continue;
      other.said.set(channel, text);
      news.push([channel, settings]);
    }
    return news;
  }

  /** The other machine's settings, by channel; those of channels that are not here are ignored. */
  hear({ node }: OtherSettings, said: readonly (readonly [channel: string, settings: ChannelSettings])[]): void {
    let theirs = this.#theirs.get(node);
    if (theirs === undefined) this.#theirs.set(node, (theirs = new Map()));
    for (const [channel, settings] of said) if (this.#own.has(channel)) theirs.set(channel, settings);
    this.#name();
  }

  /** The machine has not been here for a day: it was removed, or has another name. */
  forget(node: string): void {
    if (this.#theirs.delete(node)) this.#name();
  }

  /** All present differences, by machine and channel. */
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
  look('holdSeconds', `${here.holdSeconds}`, `${there.holdSeconds}`);
  look('metaint', `${here.metaint ?? 'auto'}`, `${there.metaint ?? 'auto'}`);
  if (here.sources !== null && there.sources !== null) look('sources', here.sources.join(' '), there.sources.join(' '));
  return found;
}
