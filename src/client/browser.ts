/**
 * What this module uses of a browser; all but the audio element may be missing (Node, old browsers, pages without TLS). Written down here
 * instead of taken from the compiler's DOM types, so that programs without those can use the module's types too.
 */

/** What is used of an `HTMLAudioElement`. */
export interface AudioElement {
  src: string;
  preload: string;
  /** Seconds. */
  readonly currentTime: number;
  readonly playbackRate: number;
  readonly readyState: number;
  readonly paused: boolean;
  readonly ended: boolean;
  readonly buffered: { readonly length: number; end(index: number): number };
  play(): Promise<void>;
  pause(): void;
  addEventListener(type: string, listener: () => void): void;
  removeEventListener(type: string, listener: () => void): void;
}

/** Of an element's `readyState`. */
export const HAVE_FUTURE_DATA = 3;

/** What is used of the events of a WebSocket: `data` of a message, `code` of a close. */
export interface SocketEvent {
  readonly type: string;
  readonly data?: unknown;
  readonly code?: number;
}

/** What is used of a `WebSocket`, the browser's, Node's or that of the package ws. */
export interface Socket {
  readonly readyState: number;
  send(text: string): void;
  close(): void;
  addEventListener(type: 'open' | 'message' | 'close' | 'error', listener: (event: SocketEvent) => void): void;
}

export type SocketConstructor = new (url: string) => Socket;

export interface SystemMetadata {
  readonly title: string;
  readonly artist: string;
  readonly album: string;
  readonly artwork: readonly { readonly src: string }[];
}

/** Media Session (W3C): the lock screen, media keys. */
export interface SystemSession {
  metadata: unknown;
  playbackState: 'none' | 'paused' | 'playing';
  setActionHandler(action: 'play' | 'pause' | 'stop', handler: (() => void) | null): void;
}

interface Globals {
  readonly WebSocket?: SocketConstructor;
  readonly MediaMetadata?: new (metadata: SystemMetadata) => object;
  readonly navigator?: { readonly mediaSession?: SystemSession };
  readonly document?: Listenable & { readonly baseURI: string; readonly visibilityState: string };
  addEventListener?(type: string, listener: () => void): void;
  removeEventListener?(type: string, listener: () => void): void;
}

interface Listenable {
  addEventListener(type: string, listener: () => void): void;
  removeEventListener(type: string, listener: () => void): void;
}

export const browser = globalThis as unknown as Globals;

/** Calls when there is reason to hope again: the network is back, or the page is seen again. @returns ends it */
export function onWake(onOnline: () => void, onVisible: () => void): () => void {
  const { document } = browser;
  const onVisibility = () => {
    if (document?.visibilityState === 'visible') onVisible();
  };
  browser.addEventListener?.('online', onOnline);
  document?.addEventListener('visibilitychange', onVisibility);
  return () => {
    browser.removeEventListener?.('online', onOnline);
    document?.removeEventListener('visibilitychange', onVisibility);
  };
}

/** 128 random bits. Pages without TLS have no `crypto.randomUUID`. */
export function makeMetaid(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * The root of a server, with a slash at its end: it may stand below a path of a proxy.
 * @param server as the caller named it; default: where the page is
 * @throws TypeError when it is not a URL, or none is named outside of a page
 */
export function rootOf(server: string | URL | undefined): URL {
  const page = browser.document?.baseURI;
  if (server === undefined && page === undefined) throw new TypeError('server: outside of a page, name it');
  const root = new URL(server ?? '.', page);
  if (!root.pathname.endsWith('/')) root.pathname += '/';
  root.search = '';
  root.hash = '';
  return root;
}

/** An address on that server. @param path with or without its leading slash */
export function addressOf(root: URL, path: string): URL {
  return new URL(`./${path.replace(/^\/+/, '')}`, root);
}
