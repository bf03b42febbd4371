/**
 * The cases of the experiment and their goals. A channel has its own encoder and one listener in the browser, at the same time as all the others of
 * its scene; a browser opens at most six connections to one server. Pure data; scene.ts runs it.
 */

import type { Goal } from './figures.js';
import type { PlayerName } from './players.js';
import type { ChannelOptions } from './servers.js';
import type { Pushing } from './tone-encoder.js';
import type { CodecName } from './tone-file.js';

/** Programs required for the experiment. */
export const NEEDED = ['ffmpeg', 'pulseaudio', 'parec', 'chromium', 'python3'] as const;

/** A repeated disturbance of a listener: it lasts for a part of each period. */
export interface Trouble {
  readonly kind: 'stall' | 'pause';
  readonly everyMs: number;
  readonly forMs: number;
}

export interface ChannelPlan {
  readonly name: string;
  readonly codec: CodecName;
  readonly burstSeconds: number;
  readonly pushing: Pushing;
  /** The case is skipped if the server does not know them. */
  readonly options?: ChannelOptions;
  /** Its listener in the browser; undefined: none. */
  readonly browser?: {
    readonly wire?: Goal;
    readonly audio?: Goal;
    readonly trouble?: Trouble;
    readonly linkKbits?: number;
    /** Whether to read the channel's feed too, as apps without a metaid do. */
    readonly channelFeed?: true;
  };
  /** Its listener in the browser that plays HLS by hls.js; undefined: none. */
  readonly hls?: {
    readonly form?: 'fmp4';
    /** Default: 2. */
    readonly segmentSeconds?: number;
    /** Goal by the dates of the playlist. */
    readonly date?: Goal;
    /** Goal by ID3. */
    readonly cue?: Goal;
    /** Goal from the push until the title is displayed. */
    readonly untilDisplayed?: Goal;
  };
  /** A listener without a player; undefined: none. */
  readonly icy?: { readonly group: string; readonly goal?: Goal };
  /** Players of other projects. */
  readonly players?: readonly { readonly name: PlayerName; readonly goal?: Goal }[];
  /** Whether the server is Icecast. */
  readonly isIcecast?: true;
}

export interface Scene {
  readonly name: string;
  readonly channels: readonly ChannelPlan[];
}

const CLOCK: Goal = { medianMs: 20, p95Ms: 60 };
const PUNCTUAL: Goal = { medianMs: 60, p95Ms: 60 };
const REAL_TIME: Goal = { medianMs: 60, p95Ms: 150 };
const AFTER_TROUBLE: Goal = { medianMs: 250, p95Ms: 250 };
const ICY: Goal = { medianMs: 130, p95Ms: 260 };
const ICY_DELAYED: Goal = { medianMs: 70, p95Ms: 130 };
/** Goals of HLS with segments of 2 s, also for late pushes; ID3 in tags and in MP4 events. */
const DATE: Goal = { medianMs: 60, p95Ms: 60 };
const CUE: Goal = { medianMs: 80, p95Ms: 80 };
const EVENT: Goal = { medianMs: 30, p95Ms: 30 };
const UNTIL_DISPLAYED: Goal = { medianMs: 7000, p95Ms: 7000 };
const READS: Goal = { medianMs: 600, p95Ms: 600 };

const PROMPT: Pushing = { offsetMs: 0, withTime: false };
const late = (seconds: number): Pushing => ({ offsetMs: seconds * 1000, withTime: true });
const BOTH = { wire: CLOCK, audio: REAL_TIME };

const plan = (name: string, more: Partial<ChannelPlan>): ChannelPlan => ({
  name,
  codec: 'cbr',
  burstSeconds: 5,
  pushing: PROMPT,
  ...more,
});

const ICY_GROUP = 'ICY, 128k CBR';

const CODECS: Scene = {
  name: 'codecs and bursts',
  channels: [
    plan('CBR', { browser: { ...BOTH, channelFeed: true }, icy: { group: ICY_GROUP, goal: ICY } }),
    plan('VBR', { codec: 'vbr', browser: BOTH, icy: { group: 'ICY, VBR' } }),
    plan('AAC', { codec: 'aac', browser: BOTH, icy: { group: 'ICY, AAC' } }),
    plan('Opus', { codec: 'opus', browser: BOTH }),
    // The player starts with the first 32 KiB, which take 2 s, so it is not in real time at first.
    plan('CBR, burst 0 s', { burstSeconds: 0, browser: { wire: CLOCK }, icy: { group: ICY_GROUP, goal: ICY } }),
    plan('CBR, burst 2 s', { burstSeconds: 2, browser: BOTH, icy: { group: ICY_GROUP, goal: ICY } }),
    plan('CBR, burst 10 s', { burstSeconds: 10, browser: BOTH, icy: { group: ICY_GROUP, goal: ICY } }),
  ],
};

const stall = (seconds: number): Trouble => ({ kind: 'stall', everyMs: 20_000, forMs: seconds * 1000 });
const TROUBLE: Scene = {
  name: 'links, pauses and pushes',
  channels: [
    plan('stalls of 4 s', { browser: { wire: CLOCK, audio: AFTER_TROUBLE, trouble: stall(4) } }),
    plan('stalls of 8 s', { browser: { wire: CLOCK, audio: AFTER_TROUBLE, trouble: stall(8) } }),
    plan('pauses of 3 s', { browser: { wire: CLOCK, trouble: { kind: 'pause', everyMs: 20_000, forMs: 3000 } } }),
    plan('300 kb/s link', { browser: { wire: CLOCK, audio: AFTER_TROUBLE, linkKbits: 300 } }),
    plan('pushed 2 s late', { pushing: late(2), browser: { wire: PUNCTUAL } }),
    plan('pushed 4 s late', { pushing: late(4), browser: { wire: PUNCTUAL } }),
    plan('pushed 3 s early, held', { pushing: late(-3), browser: { wire: PUNCTUAL } }),
    plan('encoder 3 s late, offset', {
      pushing: { offsetMs: -3000, withTime: false },
      options: { titleOffsetMs: 3000 },
      browser: { wire: PUNCTUAL },
    }),
  ],
};

const PLAYERS: Scene = {
  name: 'players and ICY',
  channels: [
    plan('CBR', {
      icy: { group: ICY_GROUP, goal: ICY },
      players: [{ name: 'mpv' }, { name: 'VLC', goal: READS }, { name: 'ffplay', goal: READS }],
    }),
    // Several channels, for more places of titles between blocks; the median of a few is random.
    ...[1, 2, 3, 4].map((n) => plan(`CBR ${n}`, { icy: { group: ICY_GROUP, goal: ICY } })),
    plan('with a delay of 4 s', {
      options: { delaySeconds: 4 },
      icy: { group: 'ICY, 128k CBR, delay 4 s', goal: ICY_DELAYED },
    }),
    plan('Icecast', { isIcecast: true, players: [{ name: 'mpv' }], icy: { group: 'ICY, 128k CBR, Icecast 2' } }),
  ],
};

const HLS: Scene = {
  name: 'HLS',
  channels: [
    plan('MP3 as HLS', { hls: { date: DATE, untilDisplayed: UNTIL_DISPLAYED } }),
    // Segments longer than any title, so that each title begins one: by ID3, one in a segment's first second would be early (src/hls/README.md).
    plan('MP3 as HLS, 3 s', { hls: { segmentSeconds: 3, date: DATE, cue: CUE } }),
    plan('VBR as HLS, 3 s', { codec: 'vbr', hls: { segmentSeconds: 3, date: DATE, cue: CUE } }),
    plan('AAC as HLS, 3 s', { codec: 'aac', hls: { segmentSeconds: 3, date: DATE, cue: CUE } }),
    plan('AAC in fMP4', {
      codec: 'aac',
      hls: { form: 'fmp4', date: DATE, cue: EVENT, untilDisplayed: UNTIL_DISPLAYED },
    }),
    plan('Opus in fMP4', { codec: 'opus', hls: { date: DATE, cue: EVENT, untilDisplayed: UNTIL_DISPLAYED } }),
    // Not by ID3, since tags in existing segments cannot be corrected.
    plan('pushed 2 s late, as HLS', { pushing: late(2), hls: { date: DATE } }),
    plan('pushed 4 s late, as HLS', { pushing: late(4), hls: { date: DATE } }),
  ],
};

export const SCENES: readonly Scene[] = [CODECS, TROUBLE, PLAYERS, HLS];

/** The scene of test/long/truth.test.ts: the exact place of a title by wire and clock, in ICY, and for late pushes. */
export const SHORT: Scene = {
  name: 'short form',
  channels: [
    plan('CBR', { browser: { wire: CLOCK }, icy: { group: ICY_GROUP, goal: ICY } }),
    plan('VBR', { codec: 'vbr', browser: { wire: CLOCK }, icy: { group: 'ICY, VBR' } }),
    plan('AAC', { codec: 'aac', browser: { wire: CLOCK }, icy: { group: 'ICY, AAC' } }),
    plan('pushed 2 s late', { pushing: late(2), browser: { wire: PUNCTUAL } }),
    plan('pushed 4 s late', { pushing: late(4), browser: { wire: PUNCTUAL } }),
    plan('CBR, burst 0 s', { burstSeconds: 0, icy: { group: ICY_GROUP, goal: ICY } }),
    plan('CBR, burst 2 s', { burstSeconds: 2, icy: { group: ICY_GROUP, goal: ICY } }),
  ],
};
