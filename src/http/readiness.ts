/**
 * `/readyz?channels`: which channels have audio, for monitors and load balancers. A server is ready when every channel that should have audio has it:
 *
 *   /readyz?channels                 all of them          ?channels=jazz,rock   these
 *   …&silentSeconds=15               a channel may be without audio for less than this: the client decides what is an outage
 *
 * Digital silence counts as audio; `sound` shows it. Invariant: a row is rendered at most once a second, however many clients ask.
 */

import type { Clock } from '../base/clock.js';
import { invalidField, Refusal } from '../base/refusal.js';
import { parameter } from '../base/request-target.js';
import type { ServedChannel } from '../channel/served.js';

/** A channel with its station and the kinds of its sources. */
export interface ReadinessChannel {
  readonly station: string;
  /** The kinds of its sources, in their order. */
  readonly kinds: readonly string[];
  readonly channel: Pick<ServedChannel, 'key' | 'live'>;
}

export interface ReadinessAnswer {
  readonly isReady: boolean;
  /** JSON. */
  readonly body: string;
}

interface Row {
  readonly missingMs: number;
  readonly members: object;
}

const FRESH_MS = 1000;
const MAX_SECONDS = 86_400;

export class Readiness {
  readonly #channels: () => readonly ReadinessChannel[];
  readonly #clock: Pick<Clock, 'now'>;
  #rows: ReadonlyMap<string, Row> = new Map();
  #untilMs = Number.NEGATIVE_INFINITY;

  constructor(channels: () => readonly ReadinessChannel[], clock: Pick<Clock, 'now'>) {
    this.#channels = channels;
    this.#clock = clock;
  }

  /**
   * @param target path and query as requested @param isServing the result of `/readyz` without a query
   * @returns null: the target does not ask for channels @throws Refusal not-found, invalid
   */
  of(target: string, isServing: boolean): ReadinessAnswer | null {
    const asked = parameter(target, 'channels');
    if (asked === null) return null;
    const toleratedMs = silentSecondsOf(target) * 1000;
    const rows = this.#fresh();
    const keys = asked === '' ? [...rows.keys()] : [...new Set(asked.split(','))];
    const listed = keys.map((key) => {
      const row = rows.get(key);
      if (row === undefined) throw new Refusal('not-found', 'There is no channel with this key.');
      return { isReady: row.missingMs === 0 || row.missingMs < toleratedMs, row };
    });
    const isReady = isServing && listed.every((each) => each.isReady);
    const channels = listed.map((each) => ({ ready: each.isReady, ...each.row.members }));
    return { isReady, body: `${JSON.stringify({ ready: isReady, serving: isServing, channels })}\n` };
  }

  #fresh(): ReadonlyMap<string, Row> {
    const nowMs = this.#clock.now();
    if (nowMs < this.#untilMs) return this.#rows;
    this.#untilMs = nowMs + FRESH_MS;
    this.#rows = new Map(this.#channels().map((each) => [each.channel.key, rowOf(each, nowMs)]));
    return this.#rows;
  }
}

function rowOf({ station, kinds, channel: { key, live } }: ReadinessChannel, nowMs: number): Row {
  const { silentSinceMs, missingSinceMs, onAir } = live;
  const hasAudio = silentSinceMs === Number.POSITIVE_INFINITY;
  // At least 1: audio may be missing since this very moment.
  const missingMs = missingSinceMs === Number.POSITIVE_INFINITY ? 0 : Math.max(1, nowMs - missingSinceMs);
  const members = {
    channelkey: key,
    stationkey: station,
    expected: hasAudio || missingMs > 0,
    audio: hasAudio,
    sound: hasAudio && !live.isSilence,
    silentSeconds: Math.floor(missingMs / 1000),
    source: onAir === null ? null : (kinds[onAir] ?? null),
  };
  return { missingMs, members };
}

function silentSecondsOf(target: string): number {
  const text = parameter(target, 'silentSeconds');
  if (text === null) return 0;
  if (/^\d{1,5}$/.test(text) && Number(text) <= MAX_SECONDS) return Number(text);
  throw invalidField('silentSeconds', `must be a whole number from 0 to ${MAX_SECONDS}`);
}
