/**
 * A player for tests: a bare socket, with ICY read by icecast-metadata-js (an independent reader). It keeps the audio, and each title with the
 * place of its block in the audio and the time of its arrival.
 */

import net from 'node:net';
import tls from 'node:tls';
import { IcecastMetadataReader } from 'icecast-metadata-js';
import { until } from './until.js';

export interface SeenTitle {
  readonly title: string;
  /** Number of audio bytes before the block. */
  readonly atByte: number;
  readonly atMs: number;
}

export class Player {
  readonly socket: net.Socket;
  status = 0;
  statusLine = '';
  readonly headers = new Map<string, string>();
  readonly titles: SeenTitle[] = [];
  audioBytes = 0;
  closed = false;
  firstByteMs = 0;
  /** All bytes after the head, unchanged. */
  body = Buffer.alloc(0);
  readonly #keep: boolean;
  readonly #onAudio: ((bytes: Uint8Array) => void) | undefined;
  #audio: Buffer[] = [];
  #head = '';
  #headDone = false;
  #reader: IcecastMetadataReader | null = null;

  /** @param options `onAudio` gets the audio as it arrives; `keep`: keeps all of it */
  constructor(
    port: number,
    path: string,
    options: {
      icy?: boolean;
      keep?: boolean;
      method?: string;
      headers?: string;
      agent?: string;
      ca?: Buffer;
      onAudio?: (bytes: Uint8Array) => void;
    } = {},
  ) {
    this.#keep = options.keep ?? false;
    this.#onAudio = options.onAudio;
    const icy = (options.icy ?? true) ? 'Icy-MetaData: 1\r\n' : '';
    const to = { host: '127.0.0.1', port };
    this.socket = options.ca === undefined ? net.connect(to) : tls.connect({ ...to, ca: options.ca });
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      this.closed = true;
    });
    this.socket.on('data', (chunk: Buffer) => this.#read(chunk));
    this.socket.write(
      `${options.method ?? 'GET'} ${path} HTTP/1.1\r\nHost: x\r\nUser-Agent: ${options.agent ?? 'test'}\r\n${icy}${options.headers ?? ''}\r\n`,
    );
  }

  get audio(): Buffer {
    return Buffer.concat(this.#audio);
  }

  /** The audio from this byte on; copies only that part. */
  audioFrom(from: number): Buffer {
    let first = this.#audio.length;
    let at = this.audioBytes;
    while (at > from) at -= this.#audio[--first]!.length;
    return Buffer.concat(this.#audio.slice(first)).subarray(from - at);
  }

  get metaint(): number {
    return Number(this.headers.get('icy-metaint') ?? 0);
  }

  /** Waits until `ready` returns true, at most `ms`, or until the connection ends. */
  async until(ready: (player: Player) => boolean, ms = 10_000): Promise<void> {
    const describe = () =>
      `player: status ${this.status}, ${this.audioBytes} bytes, ${this.titles.map((x) => x.title)}`;
    const isReady = () => {
      const wasClosed = this.closed;
      if (ready(this)) return true;
      if (wasClosed) throw new Error(`its connection has ended. ${describe()}`);
      return false;
    };
    await until(isReady, ms, describe);
  }

  close(): void {
    this.socket.destroy();
  }

  #read(chunk: Buffer): void {
    if (this.#headDone) {
      this.#take(chunk);
      return;
    }
    this.#head += chunk.toString('latin1');
    const end = this.#head.indexOf('\r\n\r\n');
    if (end < 0) return;
    this.#headDone = true;
    const [first, ...lines] = this.#head.slice(0, end).split('\r\n');
    this.statusLine = first!;
    this.status = Number(first!.split(' ')[1]);
    for (const line of lines) {
      const colon = line.indexOf(':');
      const value = Buffer.from(line.slice(colon + 1).trim(), 'latin1').toString('utf8');
      this.headers.set(line.slice(0, colon).toLowerCase(), value);
    }
    if (this.metaint > 0)
      this.#reader = new IcecastMetadataReader({ icyMetaInt: this.metaint, metadataTypes: ['icy'] });
    this.#take(Buffer.from(this.#head.slice(end + 4), 'latin1'));
  }

  #take(chunk: Buffer): void {
    if (chunk.length === 0) return;
    if (this.firstByteMs === 0) this.firstByteMs = performance.now();
    if (this.status !== 200) this.body = Buffer.concat([this.body, chunk]);
    if (this.#reader === null) {
      this.#add(chunk);
      return;
    }
    for (const item of this.#reader.iterator(chunk)) {
      if (item.stream !== undefined) this.#add(item.stream);
      else if (item.metadata !== undefined) {
        this.titles.push({
          title: item.metadata['StreamTitle'] ?? '',
          atByte: this.audioBytes,
          atMs: performance.now(),
        });
      }
    }
  }

  #add(bytes: Uint8Array): void {
    this.audioBytes += bytes.length;
    if (this.#keep) this.#audio.push(Buffer.from(bytes));
    this.#onAudio?.(bytes);
  }
}
