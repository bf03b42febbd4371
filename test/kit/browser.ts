/**
 * Actions in any browser (Chromium by Playwright, Firefox by firefox.ts). Functions given to `evaluate` run in the page, without access to this
 * module.
 */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';

// biome-ignore-start lint/suspicious/noExplicitAny: browser objects, for which Node has no types

export interface Tab {
  goto(url: string): Promise<unknown>;
  /** Calls the function in the page, with argument and result as JSON. Rejects with its error. */
  evaluate<A, R>(call: (argument: A) => R | Promise<R>, argument: A): Promise<R>;
}

/**
 * Plays a stream in a new audio element until `currentTime` moves, and ends it. Rejects if it has an error or does not move.
 * @returns milliseconds from the call
 */
export function start(tab: Tab, url: string, maxMs = 20_000): Promise<number> {
  return tab.evaluate(
    async ({ url, maxMs }) => {
      const audio = new (globalThis as any).Audio();
      const askedMs = performance.now();
      audio.muted = true;
      audio.src = url;
      audio.play().catch(() => undefined);
      let movedMs = 0;
      let beganAt = 0;
      // In Ogg `currentTime` may begin at the position of the first page (Chromium).
      while (audio.currentTime === beganAt && audio.error === null && movedMs < maxMs) {
        if (audio.readyState < 3) beganAt = audio.currentTime;
        await new Promise((done) => setTimeout(done, 5));
        movedMs = performance.now() - askedMs;
      }
      const { error, readyState } = audio;
      audio.removeAttribute('src');
      audio.load();
      if (error !== null) throw new Error(`error ${error.code}: ${error.message}`);
      if (movedMs >= maxMs || readyState < 3) throw new Error(`readyState ${readyState} after ${movedMs} ms`);
      return movedMs;
    },
    { url, maxMs },
  );
}

/** Plays a stream until the page is left; `heard` returns its position. */
export function play(tab: Tab, url: string): Promise<void> {
  return tab.evaluate((src) => {
    const players = ((globalThis as any).players ??= {});
    players[src] = new (globalThis as any).Audio(src);
    players[src].muted = true;
    return players[src].play();
  }, url);
}

/** The position of `play`, and its error. */
export function heard(tab: Tab, url: string): Promise<{ seconds: number; error: string | null }> {
  return tab.evaluate((src) => {
    const { currentTime, error } = (globalThis as any).players[src];
    return { seconds: currentTime, error: error && `${error.code}: ${error.message}` };
  }, url);
}

/** The part of a stream with ICY that a page has read so far. */
export interface Read {
  readonly metaint: number;
  /** `icy-name` and `x-channelkey`. */
  readonly headers: readonly (string | null)[];
  readonly titles: readonly string[];
  readonly audioBytes: number;
}

/** Fetches a stream with ICY and splits it; `readSoFar` returns the result so far. */
export function fetchIcy(tab: Tab, url: string): Promise<void> {
  return tab.evaluate(async (url) => {
    const response = await fetch(url, { headers: { 'Icy-MetaData': '1' } });
    const metaint = Number(response.headers.get('icy-metaint'));
    const headers = ['icy-name', 'x-channelkey'].map((name) => response.headers.get(name));
    const reader = response.body!.getReader();
    const icy = { metaint, headers, titles: [] as string[], audio: [] as Uint8Array[], audioBytes: 0, reader };
    (globalThis as any).icy = icy;
    // Anonymous, since the tests' compiler adds a call to named functions that the page lacks.
    void (async () => {
      for (let bytes = new Uint8Array(); ; ) {
        const { value, done } = await reader.read();
        if (done) return;
        const more = new Uint8Array(bytes.length + value.length);
        more.set(bytes);
        more.set(value, bytes.length);
        bytes = more;
        while (bytes.length > metaint && bytes.length > metaint + bytes[metaint]! * 16) {
          const end = metaint + 1 + bytes[metaint]! * 16;
          const text = new TextDecoder().decode(bytes.subarray(metaint + 1, end)).replace(/\0+$/, '');
          if (text !== '') icy.titles.push(text);
          icy.audio.push(bytes.slice(0, metaint));
          icy.audioBytes += metaint;
          bytes = bytes.slice(end);
        }
      }
    })();
  }, url);
}

export function readSoFar(tab: Tab): Promise<Read> {
  return tab.evaluate(() => {
    const { metaint, headers, titles, audioBytes } = (globalThis as any).icy;
    return { metaint, headers, titles, audioBytes };
  }, null);
}

/**
 * Ends `fetchIcy` and decodes the audio between its blocks. @returns the seconds by `decodeAudioData`, and those in a MediaSource's buffer;
 * null: it does not support the type
 */
export function decodeRead(tab: Tab, type: string): Promise<{ decoded: number; buffered: number | null }> {
  return tab.evaluate(async (type) => {
    const { reader, audio } = (globalThis as any).icy;
    await reader.cancel();
    const bytes = await new (globalThis as any).Blob(audio).arrayBuffer();
    const { MediaSource, OfflineAudioContext } = globalThis as any;
    let buffered: number | null = null;
    if (MediaSource.isTypeSupported(type)) {
      const media = new MediaSource();
      const element = new (globalThis as any).Audio(URL.createObjectURL(media));
      await new Promise((done) => media.addEventListener('sourceopen', done, { once: true }));
      const buffer = media.addSourceBuffer(type);
      const ended = new Promise((done) => buffer.addEventListener('updateend', done, { once: true }));
      buffer.appendBuffer(bytes);
      await ended;
      if (element.error !== null) throw new Error(element.error.message);
      buffered = buffer.buffered.length === 1 ? buffer.buffered.end(0) - buffer.buffered.start(0) : 0;
    }
    const { duration } = await new OfflineAudioContext(2, 1, 44_100).decodeAudioData(bytes);
    return { decoded: duration, buffered };
  }, type);
}

// biome-ignore-end lint/suspicious/noExplicitAny: as above

/** Starts another origin, with a page at `/`; `more` answers other paths. @returns its URL */
export async function otherOrigin(t: Test, more: Parameters<typeof createServer>[1] = undefined): Promise<string> {
  const server: Server = createServer((request, response) => {
    if (request.url === '/') {
      response.setHeader('Content-Type', 'text/html');
      response.end('<!doctype html><title>another origin</title>');
    } else if (more !== undefined) more(request, response);
    else response.writeHead(404).end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}
