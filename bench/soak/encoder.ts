/**
 * An encoder of the soak: sends a file in real time, over and over; disconnects now and then, politely or by a reset, and reconnects. A refusal, or
 * a connection that the server ends, is a fault. Owned by bench/soak/life.ts.
 */

import { connect, type Socket } from 'node:net';

const TICK_MS = 250;
const AWAY_MS = 1_000;

export interface Sound {
  /** Whole frames. */
  readonly bytes: Buffer;
  readonly bytesPerSecond: number;
  /** The request's header. */
  readonly contentType: string;
}

export interface EncoderPlan {
  readonly port: number;
  readonly channel: string;
  readonly password: string;
  readonly sound: Sound;
  /** How long a connection lasts. */
  readonly staySeconds: number;
  onFault(text: string): void;
}

export class Encoder {
  /** Number of accepted connections. */
  connections = 0;
  readonly #plan: EncoderPlan;
  #socket: Socket | undefined;
  #timer: NodeJS.Timeout | undefined;
  #startMs = 0;
  #sentBytes = 0;
  #isStopped = false;

  constructor(plan: EncoderPlan) {
    this.#plan = plan;
    this.#connect();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#socket?.end();
  }

  #connect(): void {
    const { port, channel, password, sound, onFault } = this.#plan;
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    this.#socket = socket;
    const fault = (text: string) => {
      if (socket !== this.#socket || this.#isStopped) return;
      onFault(`encoder of ${channel}: ${text}`);
      this.#leave(false);
    };
    socket.on('error', (error) => fault(error.message));
    socket.on('close', () => fault('the server has closed'));
    socket.once('data', (head: Buffer) => {
      const status = head.toString('latin1').split('\r\n')[0]!;
      if (/^HTTP\/1\.\d 200/.test(status)) this.#begin();
      else fault(status);
    });
    const login = Buffer.from(`source:${password}`).toString('base64');
    socket.write(
      `PUT /${channel} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic ${login}\r\nContent-Type: ${sound.contentType}\r\n\r\n`,
    );
  }

  #begin(): void {
    this.connections++;
    this.#startMs = performance.now();
    this.#sentBytes = 0;
    this.#timer = setInterval(() => this.#send(), TICK_MS);
  }

  #send(): void {
    const { sound, staySeconds } = this.#plan;
    const seconds = (performance.now() - this.#startMs) / 1000;
    if (seconds > staySeconds) {
      this.#leave(this.connections % 2 === 0);
      return;
    }
    const due = Math.floor(seconds * sound.bytesPerSecond);
    while (this.#sentBytes < due) {
      const at = this.#sentBytes % sound.bytes.length;
      const piece = sound.bytes.subarray(at, Math.min(at + due - this.#sentBytes, sound.bytes.length));
      this.#socket!.write(piece);
      this.#sentBytes += piece.length;
    }
  }

  /** Disconnects, and reconnects later. */
  #leave(isAbrupt: boolean): void {
    clearTimeout(this.#timer);
    const socket = this.#socket!;
    this.#socket = undefined;
    if (isAbrupt) socket.resetAndDestroy();
    else socket.end();
    if (!this.#isStopped) this.#timer = setTimeout(() => this.#connect(), AWAY_MS);
  }
}
