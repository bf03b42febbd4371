/**
 * The types of pages and apps: all declarations that are shipped, besides those of the two functions. Browser types are written down here
 * instead of taken from the compiler's DOM types, so that programs without those can use them too.
 */

export interface RecordImages {
  readonly small: string;
  readonly medium: string;
  readonly large: string;
}

/** A push, the source that plays, the channel's own title; `""`: unknown. */
export type RecordSource = 'metapush' | 'encoder' | 'upstream' | 'fallback' | '';

/** Texts are not trusted: show them as text, never as HTML. Unknown ones are `""`. */
export interface ChannelRecord {
  /** In force, or what follows. */
  readonly type: 'now' | 'next';
  /** The line that players show: artist and song, or one of them. `""`: between songs. */
  readonly title: string;
  readonly artist: string;
  readonly song: string;
  readonly album: string;
  /** An http or https URL. */
  readonly cover: string;
  /** Also http or https URLs. */
  readonly images: RecordImages;
  /** 0: unknown. */
  readonly durationSeconds: number;
  /** The start of the track, unix milliseconds. */
  readonly startMs: number;
  /** The kind of content: 0 unknown, 101 to 105 jingle, promo, advert, news, article, 1001 to 1008 music. */
  readonly etype: number;
  readonly id: string;
  readonly isrc: string;
  readonly channelkey: string;
  /** The channel's display name. */
  readonly channel: string;
  /** The station's key. */
  readonly station: string;
  /** Where the title comes from. */
  readonly source: RecordSource;
  /** For a listener the connection that plays, a UUID; else `""`. */
  readonly session: string;
  /** For a listener milliseconds of audio between the session's first byte and the title's place; else null. */
  readonly positionMs: number | null;
  /** For a listener the path that is played; else `""`. */
  readonly mount: string;
  /** Additional data of the push, unchanged; null: none. */
  readonly extdata: unknown;
}

export interface RecordHandlers {
  /** @param isNews it took effect while this connection was open, not before */
  onNow?: ((record: ChannelRecord, isNews: boolean) => void) | undefined;
  /** @param record null: the next was played, skipped or dropped */
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
  /** The date at `currentTime` 0 of HLS (HTML, "Offsets into the media resource"); Safari has it. */
  getStartDate?(): Date;
  play(): Promise<void>;
  pause(): void;
  addEventListener(type: string, listener: () => void): void;
  removeEventListener(type: string, listener: () => void): void;
}

/** The part of an `Hls` of hls.js 1 that is used. */
export interface HlsPlayer {
  /** Of what is played; null: not known yet. */
  readonly playingDate: Date | null;
  /** Takes the element. What hls.js declares here are types of the DOM. */
  attachMedia(audio: never): void;
  loadSource(url: string): void;
  /** @param startPosition on the element's clock, seconds */
  startLoad(startPosition?: number): void;
  on(event: string, listener: (event: string, data: unknown) => void): void;
  destroy(): void;
}

/** When a request that has failed is made again. */
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

/** What an `Hls` is configured with (hls.js, "Fine Tuning"); a class that extends it may change that. */
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

export type FollowState = 'connecting' | 'connected' | 'reconnecting' | 'missing' | 'closed';

/** How to reach a server. */
export interface ServerOptions {
  /** The server's root, for example `https://radio.example/`. Default: that of the page; required outside of a page. */
  readonly server?: string | URL | undefined;
  /** Default: WebSocket if there is a constructor. */
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

/** `retrying`: the stream broke off, and is requested again; `failed`: no longer, the listener has to press play. */
export type PlayState = 'stopped' | 'connecting' | 'playing' | 'stalled' | 'paused' | 'retrying' | 'failed';

export interface StartPlace {
  /** Unix milliseconds. Of what is older than the playlist: its beginning. */
  readonly dateMs: number;
  /** `id` of a record: with the title that it begins with, where the playlist has that near this date. */
  readonly record?: string | undefined;
}

/** URLs of pictures for a title; of a promise: once they are loaded. */
export type ArtworkOf = (record: ChannelRecord) => readonly string[] | Promise<readonly string[]>;

export interface AttachOptions extends ServerOptions {
  /** hls.js, for playlists (`….m3u8`). Without it, and where it is not supported, the browser's own player plays them. */
  readonly Hls?: HlsConstructor | undefined;
  /** A title begins to be heard. After a new connection the present one is reported again. */
  readonly onNow?: ((record: ChannelRecord) => void) | undefined;
  /** The next title, as soon as it is known (in HLS from the playlist on, some seconds ahead); null: none. */
  readonly onNext?: ((record: ChannelRecord | null) => void) | undefined;
  readonly onState?: ((state: PlayState) => void) | undefined;
  /** Of a rewind (`….m3u8`): where it begins to play, in place of its end. A later play goes on where this one was. */
  readonly startAt?: StartPlace | undefined;
  /** Whether the position of the player is reported to the server. Default true. */
  readonly reports?: boolean | undefined;
  /** Whether to use the lock screen and the media keys; `titles`: without covers. Default true. */
  readonly mediaSession?: boolean | 'titles' | undefined;
  /** URLs of pictures for the lock screen, which loads them by the page's policy. Default: the covers of the record. */
  readonly artwork?: ArtworkOf | undefined;
  /** How long a pause keeps the stream, milliseconds. Default 0: it ends at once, and the next play begins at the live edge. */
  readonly keepPausedMs?: number | undefined;
}

export interface Attachment {
  readonly state: PlayState;
  /** The title heard now; null: nothing plays, or no title yet. */
  readonly now: ChannelRecord | null;
  /** As the element's own, which may reject. */
  play(): Promise<void>;
  /** Ends the stream without a retry. */
  stop(): void;
  /** Releases the element, silent; no handler is called afterwards. Idempotent. */
  close(): void;
}
