/**
 * The parts of a browser that are used; all but the audio element may be missing (Node, old browsers, pages without TLS).
 */

import type { SocketConstructor } from './types.js';

/** A value of an element's `readyState`. */
export const HAVE_FUTURE_DATA = 3;

export interface SystemMetadata {
  readonly title: string;
  readonly artist: string;
  readonly album: string;
  readonly artwork: readonly { readonly src: string }[];
}

/** Media Session (W3C): the lock screen and media keys. */
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

/** Calls back when the network is back, or the page visible again. @returns a function that stops it */
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

/** 128 random bits, as pages without TLS have no `crypto.randomUUID`. */
export function makeMetaid(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * The root of a server with a trailing slash, which may be below a path of a proxy.
 * @param server default: that of the page
 * @throws TypeError for an invalid URL, or without one outside of a page
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
