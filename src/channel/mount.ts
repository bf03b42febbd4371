/**
 * A channel as clients see it: where listeners play it, and where an encoder feeds it and sends its titles. Values are read when they are
 * needed; the channel makes them (served.ts, channel.ts), HTTP uses them.
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

/** Which listeners a mount admits. */
export interface ListenPolicy {
  readonly access: Access;
  readonly maxListeners: number;
  /** +∞: no limit. */
  readonly maxListenMs: number;
  /** Where listeners are sent when there is no room; `{mount}` stands for the path without its first slash. */
  readonly overflowUrl: string | undefined;
}

/** A mount as a listener sees it. */
export interface Mount extends ListenPolicy {
  readonly path: string;
  readonly audio: PlayableAudio;
  readonly facts: HeadFacts;
  /** Whether there is audio, if only in the delay line. */
  readonly hasAudio: boolean;
  /** Whether waiting for audio makes sense. */
  readonly hopeful: boolean;
  /** The format that listeners get: a content type, or a codec of Ogg; null: unknown. */
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
  /** Constant time. @param sha256 of the password, made once for all channels, since an untrusted client chooses its length */
  hasPassword(sha256: Buffer): boolean;
  /** Its own user, or `source`. */
  hasUser(user: string): boolean;
  /** Whether this name and password may feed the channel; constant time. */
  authorizes(user: string, password: string): boolean;
  /** The charset of titles that name none and are not UTF-8. */
  readonly charset: string;
  /** Whether the channel accepts titles of encoders. */
  readonly takesTitles: boolean;
  /**
   * Resolves when the title is accepted or ignored; false: no encoder feeds the channel. Rejects if the hub cannot be reached.
   * @param cameMs when it arrived (link/facts/shared-time.ts: systemMs): a title that arrived before the last one is ignored
   */
  sendTitle(title: SourceTitle, cameMs: number): Promise<boolean>;
}

/** Where an encoder attaches to its channel, and the encoder that feeds it now. */
export interface EncoderSlot {
  readonly channelKey: string;
  /** Whether an encoder feeds it that another one with the password may not replace (`takeover` in the configuration). */
  readonly isBusy: boolean;
  /** What that encoder calls itself; "": it does not say, or there is none. */
  readonly agent: string;
  /** How long ago its last bytes arrived over the network, milliseconds. */
  readonly quietMs: number;
  /**
   * The channel owns the connection from now on; the encoder that fed it before is cut. @param head what the encoder says of itself
   * @param address of the client; proxies are already taken out @param onRefused called if its bytes are in no known format
   */
  attach(socket: Socket, first: Buffer, head: SentHeaders, address: string, onRefused: OnEncoderRefused): void;
}
