/** The state of the server at one moment, in which conditions are found, as plain data. Gathered by app/hub/alert-facts.ts. */

/** A source that is on air. */
export interface OnAirFacts {
  readonly kind: string;
  /** The measured bitrate, kb/s, if it is wrong; null: it is right. */
  readonly offKbps: number | null;
}

export interface ChannelCondition {
  readonly key: string;
  readonly station: string;
  /** Time without audio although it is expected; 0: there is audio, or none is expected. */
  readonly missingMs: number;
  readonly isSilence: boolean;
  /** The kind of its first source, if that should be on air and is not; null: it is. */
  readonly lost: string | null;
  /** The machine that feeds the channel, if no audio comes from there; '': it comes, or the channel is fed here. */
  readonly lostOwner: string;
  readonly onAir: OnAirFacts | null;
  /** Time since the last title was over; a title without a known end is over as soon as it takes effect. */
  readonly titleAgeMs: number;
  /** A title is missed after this time without one; 0: never. */
  readonly maxTitleAgeMs: number;
}

export interface CertificateFacts {
  /** The configured address: host and port. */
  readonly address: string;
  /** Unix milliseconds; null: there is no certificate. */
  readonly expiresMs: number | null;
  /** The duration of its validity. */
  readonly lifeMs: number;
  /** Whether it comes by ACME, and why the last order failed; null: it did not, or there was none. */
  readonly isOwn: boolean;
  readonly problem: string | null;
}

export interface LimitFacts {
  /** The name of its option: of `limits`, or of the channel. */
  readonly limit: string;
  /** Undefined: it is a limit of the server. */
  readonly channel?: string;
  readonly count: number;
  readonly most: number;
}

export interface AlertFacts {
  /** Unix milliseconds. */
  readonly wallMs: number;
  readonly channels: readonly ChannelCondition[];
  /** How far this machine's clock is ahead of the cluster's, milliseconds; 0 without a cluster. */
  readonly skewMs: number;
  /** Why the store cannot be used. */
  readonly storeFault: string | null;
  /** Why segments of HLS cannot be written, by channel. */
  readonly hlsFaults: ReadonlyMap<string, string>;
  /** The slowest save of the last minute, including those under way, milliseconds. */
  readonly slowestSaveMs: number;
  /** Free bytes on the disk with the data folder; null: not known. */
  readonly freeBytes: number | null;
  readonly certificates: readonly CertificateFacts[];
  readonly limits: readonly LimitFacts[];
  /** How often processes have died and were started again lately, by kind of process. */
  readonly died: Readonly<Record<string, number>>;
}
