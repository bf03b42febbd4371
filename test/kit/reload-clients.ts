/**
 * All that is connected while configurations change: listeners that check each byte, watchers that know which titles are due, and a plain request.
 */

import { X509Certificate } from 'node:crypto';
import net from 'node:net';
import tls from 'node:tls';
import type { Test } from 'tap';
import { Events } from './events.js';
import { Player } from './player.js';
import { type StampedCodec, StampedReader } from './stamped.js';
import { Watching } from './wire.js';

/** A listener of a channel. */
export class StampedListener {
  readonly key: string;
  readonly player: Player;
  readonly reader: StampedReader;
  /** The plan has ended its channel. */
  isEnded = false;
  /** Audio bytes when the drain began. */
  bytesBefore = 0;
  /** Runs that were there at the last drain; 0: it has seen none. */
  runsBefore = 0;

  constructor(
    port: number,
    key: string,
    path: string,
    codec: StampedCodec,
    lengths: ReadonlyMap<number, number>,
    icy: boolean,
  ) {
    this.key = key;
    this.reader = new StampedReader(codec, lengths);
    this.player = new Player(port, path, { icy, onAudio: (bytes) => this.reader.feed(bytes) });
  }

  get isHere(): boolean {
    return this.player.status === 200 && this.reader.runs.length > 0;
  }
}

/** A reader of titles, of a channel or a station, by WebSocket or SSE. Titles have numbers. */
export class TitleWatcher {
  readonly scope: 'channel' | 'station';
  readonly key: string;
  /** The plan has ended what it watches. */
  isEnded = false;
  /** Titles that were accepted since it came, in order; of the optional ones it depends on the moment. */
  readonly due: { readonly number: number; readonly isSure: boolean }[] = [];
  readonly #after: number;
  readonly #socket: Watching | Events;

  /** @param after the number of the last title before it came */
  constructor(t: Test, port: number, scope: 'channel' | 'station', key: string, after: number, isEvents: boolean) {
    this.scope = scope;
    this.key = key;
    this.#after = after;
    const path = `${scope}/${key}`;
    this.#socket = isEvents ? new Events(t, port, path) : new Watching(t, `ws://127.0.0.1:${port}/metadata/${path}`);
  }

  async opened(): Promise<void> {
    await this.#socket.opened();
  }

  /** 1001 stands for the end of an event stream too. */
  get code(): number {
    if (this.#socket instanceof Watching) return this.#socket.code;
    return this.#socket.wire.closed ? 1001 : 0;
  }

  close(): void {
    if (this.#socket instanceof Watching) this.#socket.ws.terminate();
    else this.#socket.close();
  }

  /** The titles that it was sent and that were pushed since it came. */
  get numbers(): number[] {
    const records =
      this.#socket instanceof Watching ? this.#socket.records : this.#socket.seen.map(({ record }) => record);
    return records.map(({ song }) => numberOf(song)).filter((number) => number > this.#after);
  }

  /** What is wrong with what it was sent; '': nothing. */
  get fault(): string {
    const got = this.numbers;
    let at = 0;
    for (const { number, isSure } of this.due) {
      if (got[at] === number) at++;
      else if (isSure) return `${this.scope} ${this.key}: ${got[at]} where ${number} was due`;
    }
    return at === got.length ? '' : `${this.scope} ${this.key}: ${got[at]} comes out of turn`;
  }
}

/** A title's number; 0: it is none of ours. */
export function numberOf(song: string): number {
  return Number(/^song (\d+)$/.exec(song)?.[1] ?? 0);
}

export interface PlainAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** A request on a connection of its own. @param head without its blank line @param isWhole until the end; else the head is enough */
export function request(port: number, head: string, isWhole = true): Promise<PlainAnswer> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
    let got = '';
    const done = () => {
      const end = got.indexOf('\r\n\r\n');
      const [first = '', ...lines] = got.slice(0, end).split('\r\n');
      const headers = new Map(
        lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
      );
      socket.destroy();
      resolve({ status: Number(first.split(' ')[1]), headers, body: got.slice(end + 4) });
    };
    socket.setEncoding('utf8').on('data', (text: string) => {
      got += text;
      if (!isWhole && got.includes('\r\n\r\n')) done();
    });
    socket.on('error', reject);
    socket.on('end', done);
    socket.write(`${head}\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  });
}

/** The fingerprint of the certificate that is shown at a port. */
export function certificateAt(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

export const fingerprintOf = (pem: Buffer) => new X509Certificate(pem).fingerprint256;
