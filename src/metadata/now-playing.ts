/**
 * What is on the air and what follows: the state machine of one channel, as pure functions. Time and new ids are passed in, the
 * new state is handed back; whoever calls commits it before anybody sees it.
 *
 *   metapush now ─┐                      ┌─► now   replaced by the last one accepted
 *   encoder,      ├─► version + 1 ──────►┤
 *   upstream      │   (silenced while    └─► next  replaced by the last pushed, spent by its own now, dropped when stale
 *   metapush next ┘    a pushed now holds)
 *
 * Invariant: versions rise by one with every record; a next never becomes now by itself. Owner of the rules: contract.md, "Push".
 */

import type { PushInput } from './push-input.js';
import { DEFAULT_SEPARATOR, type Track, type TrackRecord, titleLine } from './record.js';
import type { ChannelState } from './state.js';

/** Where and when something is accepted. */
export interface Moment {
  /** The channel key. */
  readonly channel: string;
  /** Unix milliseconds. */
  readonly wallMs: number;
  /** A fresh UUID, asked for only where the sender gave no id. */
  readonly newId: () => string;
}

/** A title without more, as encoders and upstreams send it; clean (text.ts). Both parts empty: it clears. */
export interface PlainTitle {
  readonly artist: string;
  readonly song: string;
  readonly source: 'encoder' | 'upstream';
}

export interface TitleRules {
  /** How long a pushed now without a duration keeps other titles out. */
  readonly pushHoldSeconds: number;
  /** How much longer than its duration a pushed now does. */
  readonly graceSeconds: number;
}

export interface Accepted {
  readonly state: ChannelState;
  readonly record: TrackRecord;
}

/** After its start a next that was pushed with one is of no more use than this long. */
const NEXT_KEPT_MS = 60_000;

/** A push takes effect. A now that starts in the future is applied at once and carries the moment of arrival. */
export function acceptPush(state: ChannelState, input: PushInput, at: Moment): Accepted {
  const arrivalSeconds = Math.floor(at.wallMs / 1000);
  const pushedSeconds = input.timeSeconds ?? arrivalSeconds;
  const record = makeRecord(state, at, {
    id: input.id ?? at.newId(),
    type: input.type,
    artist: input.artist,
    song: input.song,
    separator: input.separator ?? DEFAULT_SEPARATOR,
    durationSeconds: input.durationSeconds ?? 0,
    etype: input.etype ?? 0,
    isrc: input.isrc ?? '',
    cover: input.cover ?? '',
    album: input.album ?? '',
    timezone: input.timezone ?? 'UTC',
    images: input.images ?? null,
    extdata: input.extdata ?? null,
    source: 'metapush',
    startSeconds: input.type === 'now' ? Math.min(pushedSeconds, arrivalSeconds) : pushedSeconds,
  });
  if (input.type === 'now') return withNow(state, record);
  const nextHasTime = input.timeSeconds !== undefined;
  return { state: { ...state, version: record.version, next: record, nowsSinceNext: 0, nextHasTime }, record };
}

/**
 * A title from the stream itself takes effect, or null: nothing changes. That is so when it is in force already, while a pushed
 * now holds, and when an empty title comes from another source than the title in force.
 */
export function acceptTitle(state: ChannelState, title: PlainTitle, at: Moment, rules: TitleRules): Accepted | null {
  const { now } = state;
  const line = titleLine({ ...title, separator: DEFAULT_SEPARATOR });
  if (now === null ? line === '' : !replaces(title.source, line, now, at.wallMs, rules)) return null;
  const record = makeRecord(state, at, {
    id: at.newId(),
    type: 'now',
    artist: title.artist,
    song: title.song,
    separator: DEFAULT_SEPARATOR,
    durationSeconds: 0,
    etype: 0,
    isrc: '',
    cover: '',
    album: '',
    timezone: 'UTC',
    images: null,
    extdata: null,
    source: title.source,
    startSeconds: Math.floor(at.wallMs / 1000),
  });
  return withNow(state, record);
}

/** The following track as readers see it at this moment: null when there is none, or its start (if pushed with one) + 60 s has passed. */
export function currentNext(state: ChannelState, wallMs: number): TrackRecord | null {
  const { next } = state;
  if (next === null) return null;
  return state.nextHasTime && wallMs >= next.startSeconds * 1000 + NEXT_KEPT_MS ? null : next;
}

function replaces(source: string, line: string, now: TrackRecord, wallMs: number, rules: TitleRules): boolean {
  if (now.source === source) return titleLine(now) !== line;
  if (line === '') return false;
  if (now.source !== 'metapush') return true;
  const heldSeconds = now.durationSeconds > 0 ? now.durationSeconds + rules.graceSeconds : rules.pushHoldSeconds;
  return wallMs >= now.effectAtMs + heldSeconds * 1000;
}

function makeRecord(state: ChannelState, at: Moment, track: Track): TrackRecord {
  return { ...track, channel: at.channel, version: state.version + 1, effectAtMs: at.wallMs };
}

/** The next is spent by a now with its id, or with its artist and song; the second other now drops it. */
function withNow(state: ChannelState, record: TrackRecord): Accepted {
  const next = currentNext(state, record.effectAtMs);
  const nowsSinceNext = state.nowsSinceNext + 1;
  const kept = next !== null && !isSameTrack(next, record) && nowsSinceNext < 2;
  const following = kept
    ? { next, nowsSinceNext, nextHasTime: state.nextHasTime }
    : { next: null, nowsSinceNext: 0, nextHasTime: false };
  return { state: { version: record.version, now: record, ...following }, record };
}

function isSameTrack(one: TrackRecord, other: TrackRecord): boolean {
  return one.id === other.id || (one.artist === other.artist && one.song === other.song);
}
