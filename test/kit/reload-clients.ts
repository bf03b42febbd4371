/**
 * Clients during changes of the configuration: listeners that check each byte, watchers that know the due titles, and a plain request.
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
  /** Whether a plan has ended its channel. */
  isEnded = false;
  /** Number of audio bytes when the drain began. */
  bytesBefore = 0;
  /** Number of runs at the last drain; 0: there was none yet. */
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

/** A watcher of a channel or a station, by WebSocket or SSE. Titles are numbers. */
export class TitleWatcher {
  readonly scope: 'channel' | 'station';
  readonly key: string;
  /** Whether a plan has ended its channel or station. */
  isEnded = false;
  /** Titles accepted since it connected, in order; those not `isSure` are optional, since they depend on the moment. */
  readonly due: { readonly number: number; readonly isSure: boolean }[] = [];
  readonly #after: number;
  readonly #socket: Watching | Events;

  /** @param after the number of the last title before it connected */
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

  /** Its close code; 1001 also means the end of an event stream. */
  get code(): number {
    if (this.#socket instanceof Watching) return this.#socket.code;
    return this.#socket.wire.closed ? 1001 : 0;
  }

  close(): void {
    if (this.#socket instanceof Watching) this.#socket.ws.terminate();
    else this.#socket.close();
  }

  /** The received titles that were pushed since it connected. */
  get numbers(): number[] {
    const records =
      this.#socket instanceof Watching ? this.#socket.records : this.#socket.seen.map(({ record }) => record);
    return records.map(({ song }) => numberOf(song)).filter((number) => number > this.#after);
  }

  /** The fault of the received titles; '': none. */
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

/** A title's number; 0: another title. */
export function numberOf(song: string): number {
  return Number(/^song (\d+)$/.exec(song)?.[1] ?? 0);
}

export interface PlainAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Sends a request on a new connection. @param head without its blank line @param isWhole reads the whole answer; else only its head */
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

/** The fingerprint of the certificate that a port presents. */
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
