// @ts-check
/** Numbers, times and states in words for operators. */

import { serverNow } from './time.js';

/** @typedef {import('../../admin/channel-rows.js').ChannelReport} ChannelReport */
/** @typedef {import('../../admin/channel-rows.js').SourceReport} SourceReport */

const NUMBER = new Intl.NumberFormat('en');
const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });
const DATE = new Intl.DateTimeFormat('en-GB', { dateStyle: 'short' });

/** @param {number} value */
export function count(value) {
  return NUMBER.format(value);
}

/** "1 listener", "2 listeners". @param {number} value @param {string} noun */
export function counted(value, noun) {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** A moment: the time of day, with the date if it is not today. @param {number} atMs unix milliseconds */
export function moment(atMs) {
  return DATE.format(atMs) === DATE.format(serverNow()) ? CLOCK.format(atMs) : DAY.format(atMs);
}

/** How long ago, in its two largest units. @param {number} sinceMs unix milliseconds */
export function ago(sinceMs) {
  return lasting(Math.max(0, serverNow() - sinceMs));
}

/** @param {number} ms */
export function lasting(ms) {
  const seconds = Math.floor(ms / 1000);
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60,
  ];
  if (days > 0) return `${days} d ${hours} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  if (minutes > 0) return `${minutes} min ${seconds % 60} s`;
  return `${seconds} s`;
}

/** @param {number} bytes */
export function bytesOf(bytes) {
  if (bytes >= 1e9) return `${(bytes / 1e9).toFixed(1)} GB`;
  if (bytes >= 1e6) return `${(bytes / 1e6).toFixed(1)} MB`;
  return `${Math.round(bytes / 1e3)} kB`;
}

/** @param {number | null} ms */
export function lagOf(ms) {
  return ms === null ? '–' : `${(ms / 1000).toFixed(1)} s`;
}

/** "1 · encoder": its place (from 1) and kind. @param {{ kind: string | null, place: number | null }} source */
export function sourceName({ kind, place }) {
  return place === null || kind === null ? 'none' : `${place + 1} · ${kind}`;
}

/** The number of listeners, with the limit from half of it on. @param {ChannelReport} channel */
export function audienceOf({ listeners, maxListeners }) {
  return maxListeners === null || listeners * 2 < maxListeners
    ? count(listeners)
    : `${count(listeners)} of ${count(maxListeners)}`;
}

/**
 * The state of a channel in words, and its severity. @param {ChannelReport} channel @returns {{ word: string, level: 'good' | 'waiting' | 'bad' }}
 */
export function stateOf({ onAir, silentSinceMs, sources, pinned }) {
  const source = onAir === null ? undefined : sources[onAir];
  if (silentSinceMs !== null || source === undefined) return { word: 'no audio', level: 'bad' };
  if (source.troubles.includes('silent')) return { word: 'silence', level: 'bad' };
  if (pinned !== null && pinned === onAir) return { word: 'chosen by hand', level: 'waiting' };
  if (onAir !== 0) return { word: 'fallback', level: 'waiting' };
  if (source.troubles.length > 0)
    return { word: source.troubles.map((each) => EVENTS[each] ?? each).join(', '), level: 'waiting' };
  return { word: 'on air', level: 'good' };
}

/** The state of a channel's HLS in words. @param {ChannelReport['hls']} hls */
export function hlsOf(hls) {
  if (hls === null) return 'none';
  return hls === 'resting' ? 'no players' : `${hls}`;
}

/** Events of sources. */
export const EVENTS = /** @type {Readonly<Record<string, string>>} */ ({
  stalled: 'no audio arrives',
  unsteady: 'drops out repeatedly',
  'bitrate-off': 'bitrate differs from the configuration',
  silent: 'sends silence',
  format: 'format changed for listeners',
  codec: 'codec changed',
  'sample-rate': 'sample rate changed',
  channels: 'switched between mono and stereo',
  bitrate: 'bitrate changed',
  'content-type': 'Content-Type does not match the audio',
  'no-channels': 'AAC without a channel layout: new listeners cannot play it',
  'no-frames': 'no audio frames found',
  damaged: 'damaged audio frames',
  'broken-body': 'broken chunked encoding',
  takeover: 'replaced by another encoder',
});

/** The state of a source that is not on air. @param {SourceReport['kind']} kind @param {SourceReport['state']} state */
export function standing(kind, state) {
  if (state === 'up') return 'ready';
  if (state === 'starting') return 'connecting';
  return kind === 'encoder' ? 'not connected' : 'off, starts when needed';
}

/** Reasons why a source came on air. */
export const REASONS = /** @type {Readonly<Record<string, string>>} */ ({
  start: 'server started',
  'has bytes': 'audio arrived',
  stalled: 'the previous source stopped',
  demand: 'a listener connected',
  'not wanted': 'no listeners',
  reload: 'configuration reloaded',
});

/** Origins of titles. */
export const ORIGINS = /** @type {Readonly<Record<import('../../metadata/record.js').TitleSource, string>>} */ ({
  metapush: 'pushed',
  encoder: 'from the encoder',
  upstream: 'from the upstream',
  fallback: 'fallback title',
});

/** Endings of listeners' streams. */
export const ENDINGS = /** @type {Readonly<Record<string, string>>} */ ({
  left: 'closed the player',
  lagged: 'connection too slow',
  broken: 'connection failed',
  format: 'audio format changed',
  silence: 'channel had no audio',
  overtime: 'time limit reached',
  flood: 'sent too much data',
  removed: 'channel removed',
  operator: 'ended by an operator',
  shutdown: 'server stopped',
});
