/** Options of HLS: `streams.hls` for all channels, overridden by a channel's own `hls`. checks.ts checks the combination. */

import type { z } from 'zod';
import type { Access } from './access-config.js';
import { choice, flag, section, whole } from './field.js';

/** The form of AAC: packed (bare frames), or fragmented MP4; `auto`: packed. MP3 is always packed, Opus and FLAC are always in MP4. */
const FORMS = ['auto', 'packed', 'fmp4'] as const;
export type FormChoice = (typeof FORMS)[number];

/** Maximum segments of a rewind, since players load its playlist repeatedly. */
export const MAX_REWIND_SEGMENTS = 43_200;
/** A player may still load a segment that left the playlist two or three requests ago. */
export const MIN_SPARE_SEGMENTS = 3;
export const HLS_DEFAULTS = {
  enabled: false,
  segmentSeconds: 4,
  window: 6,
  keep: 12,
  form: 'auto',
  rewindHours: 0,
  rewindBytes: 2_147_483_648,
} as const;

const members = {
  enabled: flag(),
  segmentSeconds: whole(2, 10),
  window: whole(3, 120),
  keep: whole(6, 240),
  form: choice(FORMS),
  // 0: no rewind.
  rewindHours: whole(0, 48),
  // Maximum total size of the segments of the rewind.
  rewindBytes: whole(1_000_000, 1_000_000_000_000),
};

export function hlsSchema() {
  const { enabled, segmentSeconds, window, keep, form, rewindHours, rewindBytes } = HLS_DEFAULTS;
  return section({
    enabled: members.enabled.default(enabled),
    segmentSeconds: members.segmentSeconds.default(segmentSeconds),
    window: members.window.default(window),
    keep: members.keep.default(keep),
    form: members.form.default(form),
    rewindHours: members.rewindHours.default(rewindHours),
    rewindBytes: members.rewindBytes.default(rewindBytes),
  });
}

/** A channel's own options; the others are those of `streams.hls`. */
export function channelHlsSchema() {
  return section(members).partial();
}

type AllHls = Readonly<z.output<ReturnType<typeof hlsSchema>>>;
type OwnHls = Readonly<z.output<ReturnType<typeof channelHlsSchema>>>;
/** The options in force for a channel that has HLS. */
export type HlsOptions = Omit<AllHls, 'enabled'>;

type OfChannel = { readonly access: Access; readonly hls?: OwnHls | undefined };
type AllChannels = {
  readonly streams: { readonly hls: AllHls };
  readonly stations: Readonly<Record<string, { readonly channels: Readonly<Record<string, OfChannel>> }>>;
};

/** The members of `limits` for HLS. */
export function hlsLimits() {
  return {
    hlsWaiting: whole(1, 1_000_000).default(1000),
    hlsWaitingPerAddress: whole(1, 1_000_000).default(250),
    rewindBytesInFlight: whole(1024, 1_073_741_824).default(67_108_864),
    rewindBytesInFlightPerAddress: whole(1024, 1_073_741_824).default(16_777_216),
  };
}

/** The options in force for a channel; null: it has no HLS. Only a channel that is open to all has a rewind. */
export function hlsOf(all: AllHls, { access, hls: own }: OfChannel): HlsOptions | null {
  if (!(own?.enabled ?? all.enabled)) return null;
  return {
    segmentSeconds: own?.segmentSeconds ?? all.segmentSeconds,
    window: own?.window ?? all.window,
    keep: own?.keep ?? all.keep,
    form: own?.form ?? all.form,
    rewindHours: access === 'open' ? (own?.rewindHours ?? all.rewindHours) : 0,
    rewindBytes: own?.rewindBytes ?? all.rewindBytes,
  };
}

/** Whether any channel has HLS. */
export function hasHls({ streams, stations }: AllChannels): boolean {
  const all = Object.values(stations).flatMap(({ channels }) => Object.values(channels));
  return all.some((channel) => hlsOf(streams.hls, channel) !== null);
}
