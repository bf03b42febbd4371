/** What conditions are found in: how the server is at one moment, as plain data. Gathered by app/hub/alert-facts.ts. */

/** Of a source that is on air. */
export interface OnAirFacts {
  readonly kind: string;
  /** Kb/s; null: it is as it should be. */
  readonly offKbps: number | null;
}

export interface ChannelCondition {
  readonly key: string;
  readonly station: string;
  /** Time without audio where some is expected; 0: there is audio, or none is expected. */
  readonly missingMs: number;
  readonly isSilence: boolean;
  /** What the first of its sources is, where that should be on air and is not; null: it is. */
  readonly lost: string | null;
  /** The machine that feeds it, if no audio comes from there; '': it comes, or the channel is fed here. */
  readonly lostOwner: string;
  readonly onAir: OnAirFacts | null;
  /** Time since the last title was over; a title without a known end is over as soon as it takes effect. */
  readonly titleAgeMs: number;
  /** A title is missed after this time without one; 0: never. */
  readonly maxTitleAgeMs: number;
}

export interface CertificateFacts {
  /** Of the address, as it is configured: host and port. */
  readonly address: string;
  /** Unix milliseconds; null: there is none, since it could not be had. */
  readonly expiresMs: number | null;
  /** From its first moment to its last. */
  readonly lifeMs: number;
  /** The server gets it by itself, and why it did not; null: it did, or has not tried. */
  readonly isOwn: boolean;
  readonly problem: string | null;
}

export interface LimitFacts {
  /** By its option: of `limits`, or of the channel. */
  readonly limit: string;
  /** Undefined: it is one of the server. */
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
  /** Channels whose segments of HLS cannot be written: why. */
  readonly hlsFaults: ReadonlyMap<string, string>;
  /** The slowest save of the last minute, those under way included, milliseconds. */
  readonly slowestSaveMs: number;
  /** Of the disk with the data folder, bytes; null: not known. */
  readonly freeBytes: number | null;
  readonly certificates: readonly CertificateFacts[];
  readonly limits: readonly LimitFacts[];
  /** What has ended and was started again lately: how often, by kind of process. */
  readonly died: Readonly<Record<string, number>>;
}
