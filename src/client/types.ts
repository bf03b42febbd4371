/**
 * The types for pages and apps: all shipped declarations except the functions `attach` and `follow` and the element. Browser types are declared
 * here, so that programs without the DOM library can use them too.
 */

/** A cover in three sizes: http or https URLs, or `""`. */
export interface RecordImages {
  readonly small: string;
  readonly medium: string;
  readonly large: string;
}

/** Where a title comes from: a push, the encoder, the pulled stream, the channel's fallback title. `""`: unknown. */
export type RecordSource = 'metapush' | 'encoder' | 'upstream' | 'fallback' | '';

/** Texts are not trusted: show them as text, never as HTML. Unknown ones are `""`. */
export interface ChannelRecord {
  /** `now`: in force; `next`: the one that follows. */
  readonly type: 'now' | 'next';
  /** The line that players show: artist and song, or one of them. `""`: between songs. */
  readonly title: string;
  readonly artist: string;
  readonly song: string;
  readonly album: string;
  /** An http or https URL, or `""`. */
  readonly cover: string;
  /** The cover in several sizes. */
  readonly images: RecordImages;
  /** The length of the track; 0: unknown. */
  readonly durationSeconds: number;
  /** The start of the track, unix milliseconds. */
  readonly startMs: number;
  /** The kind of content: 0 unknown, 101 to 105 jingle, promo, advert, news, article, 1001 to 1008 music. */
  readonly etype: number;
  /** The id that the push gave to the track, else a UUID. */
  readonly id: string;
  /** The International Standard Recording Code; `""`: unknown. */
  readonly isrc: string;
  /** The channel's key, as in URLs. */
  readonly channelkey: string;
  /** The channel's display name. */
  readonly channel: string;
  /** The station's key. */
  readonly station: string;
  /** Where the title comes from. */
  readonly source: RecordSource;
  /** In the feed of a listener: the connection that plays, a UUID. Else `""`. */
  readonly session: string;
  /** In the feed of a listener: milliseconds of audio between the session's first byte and the title's place. Else null. */
  readonly positionMs: number | null;
  /** In the feed of a listener: the path that is played. Else `""`. */
  readonly mount: string;
  /** Additional data of the push, unchanged; null: none. */
  readonly extdata: unknown;
}

export interface RecordHandlers {
  /** A record is in force. @param isNews whether it took effect while this connection was open, not before */
  onNow?: ((record: ChannelRecord, isNews: boolean) => void) | undefined;
  /** The record that follows is known. @param record null: it was played, skipped or dropped @param channelkey its channel */
  onNext?: ((record: ChannelRecord | null, channelkey: string) => void) | undefined;
}

/** The part of an `HTMLAudioElement` that is used. */
export interface AudioElement {
  src: string;
  preload: string;
  /** Seconds. */
  currentTime: number;
  readonly playbackRate: number;
  readonly readyState: number;
  readonly paused: boolean;
  readonly ended: boolean;
  readonly seeking?: boolean;
  readonly buffered: { readonly length: number; end(index: number): number };
  /** In HLS the date at `currentTime` 0 (HTML, "Offsets into the media resource"); only Safari has it. */
  getStartDate?(): Date;
  play(): Promise<void>;
  pause(): void;
  addEventListener(type: string, listener: () => void): void;
  removeEventListener(type: string, listener: () => void): void;
}

/** The part of an `Hls` of hls.js 1 that is used. */
export interface HlsPlayer {
  /** The date of the audio that plays; null: not known yet. */
  readonly playingDate: Date | null;
  /** Takes the audio element; `never`, as hls.js declares a DOM type here. */
  attachMedia(audio: never): void;
  loadSource(url: string): void;
  /** @param startPosition on the element's clock, seconds */
  startLoad(startPosition?: number): void;
  on(event: string, listener: (event: string, data: unknown) => void): void;
  destroy(): void;
}

/** How hls.js repeats failed requests. */
export interface HlsRetry {
  readonly maxNumRetry: number;
  readonly retryDelayMs: number;
  readonly maxRetryDelayMs: number;
  /** @param response `code` 0: no answer @param isRetried what hls.js would do */
  readonly shouldRetry?: (
    config: unknown,
    retries: number,
    isTimeout: boolean,
    response: { readonly code?: number } | undefined,
    isRetried: boolean,
  ) => boolean;
}

export interface HlsLoadPolicy {
  readonly default: {
    readonly maxTimeToFirstByteMs: number;
    readonly maxLoadTimeMs: number;
    readonly timeoutRetry: HlsRetry;
    readonly errorRetry: HlsRetry;
  };
}

/** The configuration that `attach` gives to an `Hls` (hls.js, "Fine Tuning"); a class that extends it may change that. */
export interface HlsSettings {
  readonly liveSyncDurationCount: number;
  readonly backBufferLength: number;
  readonly enableDateRangeMetadataCues: boolean;
  readonly enableEmsgMetadataCues: boolean;
  readonly enableID3MetadataCues: boolean;
  readonly playlistLoadPolicy: HlsLoadPolicy;
  readonly fragLoadPolicy: HlsLoadPolicy;
}

/** `Hls` of hls.js: the whole or the light build. */
export interface HlsConstructor {
  readonly Events: { readonly LEVEL_UPDATED: string; readonly ERROR: string };
  new (config: HlsSettings): HlsPlayer;
  isSupported(): boolean;
}

/** The part of a WebSocket's events that is used: `data` of a message, `code` of a close. */
export interface SocketEvent {
  readonly type: string;
  readonly data?: unknown;
  readonly code?: number;
}

/** The part of a `WebSocket` that is used: the browser's, Node's or that of the package ws. */
export interface Socket {
  readonly readyState: number;
  send(text: string): void;
  close(): void;
  addEventListener(type: 'open' | 'message' | 'close' | 'error', listener: (event: SocketEvent) => void): void;
}

export type SocketConstructor = new (url: string) => Socket;

/** `missing`: the server knows no such channel, station or listener; it is asked again, slowly. `closed`: by `close()`. */
export type FollowState = 'connecting' | 'connected' | 'reconnecting' | 'missing' | 'closed';

/** How to reach a server. */
export interface ServerOptions {
  /** The server's root, for example `https://radio.example/`. Default: that of the page; required outside of a page. */
  readonly server?: string | URL | undefined;
  /** How titles arrive. Default: WebSocket if there is a constructor, else server-sent events. */
  readonly transport?: 'websocket' | 'sse' | undefined;
  /** Default: the browser's, or Node's (from 22 on). That of the package ws works too. */
  readonly WebSocket?: SocketConstructor | undefined;
}

export type FollowTarget =
  | { readonly channel: string }
  | { readonly station: string }
  /** A metaid. `sync`: titles come when they are heard (`audio`, default) or when they are written, with their position (`wire`). */
  | { readonly listener: string; readonly sync?: 'audio' | 'wire' };

export interface FollowHandlers extends RecordHandlers {
  onState?: ((state: FollowState) => void) | undefined;
}

export type FollowOptions = ServerOptions & FollowTarget & FollowHandlers;

export interface Following {
  readonly state: FollowState;
  /** Stops following; afterwards only `onState('closed')` is called. Idempotent. */
  close(): void;
}

/** `paused`: the stream is kept (`keepPausedMs`); `retrying`: it broke off, and is requested again; `failed`: not until the next play. */
export type PlayState = 'stopped' | 'connecting' | 'playing' | 'stalled' | 'paused' | 'retrying' | 'failed';

/** Where to begin in a rewind. */
export interface StartPlace {
  /** A date, unix milliseconds. If it is before the playlist, play begins with the playlist. */
  readonly dateMs: number;
  /** The `id` of a record: play begins with that title instead, if the playlist has it within ten minutes of the date. */
  readonly record?: string | undefined;
}

/** URLs of pictures for a title, or a promise of them; until it resolves the title is shown without pictures. */
export type ArtworkOf = (record: ChannelRecord) => readonly string[] | Promise<readonly string[]>;

export interface AttachOptions extends ServerOptions {
  /** hls.js, for playlists (`….m3u8`). Without it, or if the browser does not support it, the browser's own player plays them. */
  readonly Hls?: HlsConstructor | undefined;
  /** A title begins to be heard. After a new connection the present one is reported again. */
  readonly onNow?: ((record: ChannelRecord) => void) | undefined;
  /** The next title, as soon as it is known (in HLS from the playlist on, some seconds ahead); null: none. */
  readonly onNext?: ((record: ChannelRecord | null) => void) | undefined;
  readonly onState?: ((state: PlayState) => void) | undefined;
  /** For a rewind (`….m3u8`): where play begins, instead of at the live edge. A later play continues where the last one was. */
  readonly startAt?: StartPlace | undefined;
  /** Whether the position of the player is reported to the server. Default true. */
  readonly reports?: boolean | undefined;
  /** Whether to use the lock screen and the media keys; `titles`: without covers. Default true. */
  readonly mediaSession?: boolean | 'titles' | undefined;
  /** URLs of pictures for the lock screen; the page's Content-Security-Policy must allow them. Default: the covers of the record. */
  readonly artwork?: ArtworkOf | undefined;
  /** How long a pause keeps the stream, milliseconds. Default 0: it ends at once, and the next play begins at the live edge. */
  readonly keepPausedMs?: number | undefined;
}

export interface Attachment {
  readonly state: PlayState;
  /** The title heard now; null: nothing plays, or no title yet. */
  readonly now: ChannelRecord | null;
  /** The element's own `play()`: rejects if the browser does not let the page play. */
  play(): Promise<void>;
  /** Ends the stream without a retry. */
  stop(): void;
  /** Stops, and releases the element; no handler is called afterwards. Idempotent. */
  close(): void;
}
