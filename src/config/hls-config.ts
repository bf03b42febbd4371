/** Whether and how a channel is served as HLS: `streams.hls` for all, over it what a channel says itself. What both come to is held by checks.ts. */

import { choice, flag, section, whole } from './field.js';

/** Of AAC: with its own frames, or in fragments of MP4. MP3 is packed, Opus and FLAC are in MP4, whatever it says; `auto`: AAC is packed. */
const FORMS = ['auto', 'packed', 'fmp4'] as const;
export type FormChoice = (typeof FORMS)[number];

/** Seconds and segments. */
export interface HlsOptions {
  readonly segmentSeconds: number;
  readonly window: number;
  readonly keep: number;
  readonly form: FormChoice;
}

/** A player may still load what left the list two or three requests ago. */
export const MIN_SPARE_SEGMENTS = 3;
export const HLS_DEFAULTS = { enabled: false, segmentSeconds: 4, window: 6, keep: 12, form: 'auto' } as const;

const members = {
  enabled: flag(),
  segmentSeconds: whole(2, 10),
  window: whole(3, 120),
  keep: whole(6, 240),
  form: choice(FORMS),
};

export function hlsSchema() {
  const { enabled, segmentSeconds, window, keep, form } = HLS_DEFAULTS;
  return section({
    enabled: members.enabled.default(enabled),
    segmentSeconds: members.segmentSeconds.default(segmentSeconds),
    window: members.window.default(window),
    keep: members.keep.default(keep),
    form: members.form.default(form),
  });
}

/** Of a channel: what it leaves out is as for all. */
export function channelHlsSchema() {
  return section({
    enabled: members.enabled.optional(),
    segmentSeconds: members.segmentSeconds.optional(),
    window: members.window.optional(),
    keep: members.keep.optional(),
    form: members.form.optional(),
  });
}

type AllHls = HlsOptions & { readonly enabled: boolean };
type OwnHls = { readonly [member in keyof AllHls]?: AllHls[member] | undefined };

/** Of a channel: `streams.hls`, and what it says itself. Null: it has none. */
export function hlsOf(all: AllHls, { hls: own }: { readonly hls?: OwnHls | undefined }): HlsOptions | null {
  if (!(own?.enabled ?? all.enabled)) return null;
  return {
    segmentSeconds: own?.segmentSeconds ?? all.segmentSeconds,
    window: own?.window ?? all.window,
    keep: own?.keep ?? all.keep,
    form: own?.form ?? all.form,
  };
}
