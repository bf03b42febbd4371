/**
 * The position of a framer of Ogg in its stream, as plain data, with which one in another process resumes. The members are explained in ogg.ts.
 */

import type { MeanBitrateState } from '../frames/mean-bitrate.js';
import type { OggPage } from './ogg-page.js';
import type { OggPagesState } from './ogg-pages.js';

/** The page whose packets are being handed on, and the position in it. */
export interface OggPageState extends OggPage {
  readonly lacing: number;
  readonly packetAt: number;
  readonly bodyAt: number;
  /** Samples that may be played of it; +∞: all. */
  readonly leftSamples: number;
  readonly isHead: boolean;
  /** Packets that were handed on since it began, and bytes that were skipped. */
  readonly frames: number;
  readonly skipped: number;
}

export interface OggFramerState {
  readonly format: 'ogg';
  readonly pages: OggPagesState;
  readonly page: OggPageState;
  /** The stream that is followed, and its header packets while they come. */
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
  /** A packet that goes on in the next page; null: none does. */
  readonly open: { readonly piece: Buffer; readonly bytes: number; readonly isLost: boolean } | null;
  readonly bitrateKbps: number;
  readonly mean: MeanBitrateState;
}
