/**
 * The position of an Ogg framer in its stream, as plain data, with which a framer in another process resumes. ogg.ts explains the members.
 */

import type { MeanBitrateState } from '../frames/mean-bitrate.js';
import type { OggPage } from './ogg-page.js';
import type { OggPagesState } from './ogg-pages.js';

/** The page whose packets are being handed on, and the position in it. */
export interface OggPageState extends OggPage {
  readonly lacing: number;
  readonly packetAt: number;
  readonly bodyAt: number;
  /** Samples of it that may still be played; +∞: all. */
  readonly leftSamples: number;
  readonly isHead: boolean;
  /** Packets handed on and bytes skipped since it began. */
  readonly frames: number;
  readonly skipped: number;
}

export interface OggFramerState {
  readonly format: 'ogg';
  readonly pages: OggPagesState;
  readonly page: OggPageState;
  /** The followed stream, and its header packets while they arrive. */
  readonly stream: {
    readonly serial: number;
    readonly sequence: number;
    readonly granule: number;
    readonly fresh: boolean;
    readonly isFilled: boolean;
    readonly packetMs: number;
    readonly pageMs: number;
    readonly headers: readonly Buffer[] | null;
    readonly headerBytes: number;
  };
  /** Header packets of the latest link, as listeners get them; null: there was none. */
  readonly link: readonly Buffer[] | null;
  /** See PacketClock. */
  readonly lastSize: number;
  /** A packet that continues in the next page; null: none. */
  readonly open: { readonly piece: Buffer; readonly bytes: number; readonly isLost: boolean } | null;
  readonly bitrateKbps: number;
  readonly mean: MeanBitrateState;
}
