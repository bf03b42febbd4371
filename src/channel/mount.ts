/**
 * A channel as the outside meets it: where listeners play it, and where an encoder feeds it and sends its titles. Values that are read
 * when they are needed; the channel makes them (served.ts, channel.ts), HTTP takes them.
 */

import type { Socket } from 'node:net';
import type { PlayableAudio } from '../audio/playable-audio.js';
import type { Access } from '../config/access-config.js';
import type { HlsOptions } from '../config/hls-config.js';
import type { HeadFacts } from '../listener/cursor/stream-head.js';
import type { SentHeaders } from '../net/front/request-head.js';
import type { OnEncoderRefused } from '../source/encoder-connection.js';
import type { SourceTitle } from '../source/source.js';

/** The tally of all processes' listeners, by channel. */
export const LISTENERS_OF_CHANNELS = 'listeners of channels';

/** Which listeners a mount takes. */
export interface ListenPolicy {
  readonly access: Access;
  readonly maxListeners: number;
  /** +∞: without a limit. */
  readonly maxListenMs: number;
  /** Where listeners are sent when there is no room; `{mount}` stands for the path without its first slash. */
  readonly overflowUrl: string | undefined;
}

/** A mount as a listener meets it. */
export interface Mount extends ListenPolicy {
  readonly path: string;
  readonly audio: PlayableAudio;
  readonly facts: HeadFacts;
  /** Whether there is audio, if only in the delay line, and whether waiting for some makes sense. */
  readonly hasAudio: boolean;
  readonly hopeful: boolean;
  /** What listeners are sent: a content type, or a codec of Ogg; null: nothing is known of it. */
  readonly sends: string | null;
  /** Null: it is not served as HLS. */
  readonly hls: HlsOptions | null;
  /** Whether an encoder can feed it. */
  readonly takesEncoder: boolean;
  /** Whether a listener would wake a source. */
  readonly onDemand: boolean;
}

/** A channel as its encoder logs in: whose audio it may feed and whose titles it may send. */
export interface EncoderMount {
  readonly channelKey: string;
  /** Constant time. @param sha256 of the password, taken once for all channels: a client that is not trusted chooses how long it is */
  hasPassword(sha256: Buffer): boolean;
  /** Its own user, or `source`. */
  hasUser(user: string): boolean;
  /** Whether this name and password may feed the channel; constant time. */
  authorizes(user: string, password: string): boolean;
  /** Of titles that name none and are not UTF-8. */
  readonly charset: string;
  /** Whether the channel takes encoders' titles at all. */
  readonly takesTitles: boolean;
  /**
   * Resolves when the title is accepted or ignored: false where no encoder feeds the channel. Rejects where nobody could be asked.
   * @param cameMs when it came (link/facts/shared-time.ts: systemMs): one that came before the last is ignored
   */
  sendTitle(title: SourceTitle, cameMs: number): Promise<boolean>;
}

/** Where a channel's encoder feeds it, and which one does now. */
export interface EncoderPlace {
  readonly channelKey: string;
  /** An encoder feeds it that may not be replaced by one that knows the password (`takeover` in the configuration). */
  readonly isBusy: boolean;
  /** What that encoder calls itself; "": it does not say, or none is there. */
  readonly agent: string;
  /** How long ago bytes of it came over the network last, milliseconds. */
  readonly quietMs: number;
  /**
   * From here on the connection is the channel's; the encoder that fed it before is cut. @param head what the encoder says of itself
   * @param address of the client; proxies are already taken out @param onRefused where what it sends is none of ours
   */
  attach(socket: Socket, first: Buffer, head: SentHeaders, address: string, onRefused: OnEncoderRefused): void;
}
