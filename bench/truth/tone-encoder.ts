/**
 * An encoder that plays a tone file into a server in real time, frame by frame, each at the end of its sound; and its playout system, which pushes
 * each title at the moment at which the frame with its tone enters the server, or at an offset from it.
 */

import net from 'node:net';
import { request } from 'undici';
import { Disturbance } from './disturbance.js';
import { nowMs } from './sound.js';
import { CODECS, type ToneFile } from './tone-file.js';
import { hertzOf } from './tones.js';

const EVERY_MS = 5;

/** The manner in which titles of a channel are pushed. */
export interface Pushing {
  /** Time after (negative: before) the frame with the tone enters. */
  readonly offsetMs: number;
  /** Whether pushes have a `time`: the moment at which that frame enters. */
  readonly withTime: boolean;
}

/** Sets a title. Rejects if it is refused. @param timeMs its start, unix milliseconds */
export type Push = (title: string, timeMs: number | undefined) => Promise<void>;

export function titleOf(band: number, number: number): string {
  return `Tone ${number} (${hertzOf(band, number)} Hz)`;
}

/** The number of a title; -1: not one of ours. */
export function numberOf(title: string): number {
  return Number(/Tone (\d+) \(/.exec(title)?.[1] ?? -1);
}

export class ToneEncoder {
  readonly file: ToneFile;
  /** Title number → when its frame entered the server, unix milliseconds. */
  readonly enteredMs: number[] = [];
  readonly faults: string[] = [];
  readonly #disturbance: Disturbance;
  readonly #socket: net.Socket;
  readonly #pushing: Pushing;
  readonly #push: Push;
  #startMs = 0;
  #frame = 0;
  #pushed = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param options `pid` of the server, `path` of the mount */
  constructor(options: {
    readonly pid: number;
    readonly port: number;
    readonly path: string;
    readonly password: string;
    readonly file: ToneFile;
    readonly pushing: Pushing;
    readonly push: Push;
  }) {
    const { port, path, password, file } = options;
    this.file = file;
    this.#disturbance = new Disturbance(options.pid);
    this.#pushing = options.pushing;
    this.#push = options.push;
    this.#socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('error', (error) => this.faults.push(`encoder of ${path}: ${error.message}`));
    this.#socket.once('data', (head: Buffer) => {
      if (/^HTTP\/1\.\d 200/.test(head.toString('latin1'))) this.#begin();
      else this.faults.push(`encoder of ${path}: ${head.toString('latin1').split('\r\n')[0]}`);
    });
    const login = Buffer.from(`source:${password}`).toString('base64');
    const head = `PUT ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic ${login}\r\nContent-Type: ${CODECS[file.codec].type}\r\n\r\n`;
    // Without Expect, Icecast answers an encoder once it has read the head.
    this.#socket.write(head);
  }

  /** Numbers of titles whose moment a busy machine delayed. */
  get disturbed(): ReadonlySet<number> {
    return this.#disturbance.numbers;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#socket.destroy();
  }

  #begin(): void {
    this.#startMs = nowMs();
    this.#timer = setInterval(() => this.#tick(), EVERY_MS);
  }

  #tick(): void {
    const { frames, firstFrames } = this.file;
    const moment = nowMs();
    const passedMs = moment - this.#startMs;
    this.#disturbance.tick(moment, EVERY_MS);
    for (; this.#frame < frames.length && frames[this.#frame]!.endMs <= passedMs; this.#frame++) {
      this.#socket.write(frames[this.#frame]!.bytes);
      if (firstFrames[this.enteredMs.length] !== this.#frame) continue;
      this.#disturbance.begin(this.enteredMs.length, moment);
      this.enteredMs.push(nowMs());
    }
    while (this.#pushed < firstFrames.length && this.#isDue(this.#pushed, passedMs)) this.#send(this.#pushed++);
  }

  #isDue(number: number, passedMs: number): boolean {
    const { offsetMs } = this.#pushing;
    const dueMs = this.file.frames[this.file.firstFrames[number]!]!.endMs + offsetMs;
    // If both are due, the frame goes first.
    return passedMs >= dueMs && (offsetMs < 0 || number < this.enteredMs.length);
  }

  #send(number: number): void {
    this.#disturbance.begin(number, nowMs());
    const { firstFrames, frames, band } = this.file;
    const startMs = this.enteredMs[number] ?? this.#startMs + frames[firstFrames[number]!]!.endMs;
    this.#push(titleOf(band, number), this.#pushing.withTime ? startMs : undefined).catch((error: Error) =>
      this.faults.push(`push of title ${number}: ${error.message}`),
    );
  }
}

/** Pushes to airsplice, with a new id for each. @param url with the token */
export function pushTo(url: string): Push {
  return async (song, timeMs) => {
    const time = timeMs === undefined ? {} : { time: new Date(timeMs).toISOString() };
    const body = JSON.stringify({ artist: '', song, duration: 0, id: song, ...time });
    const answer = await request(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${text}`);
  };
}

/** Sets titles of a mount of Icecast, as its encoders do. */
export function updateAt(origin: string, mount: string, password: string): Push {
  const authorization = `Basic ${Buffer.from(`source:${password}`).toString('base64')}`;
  return async (song) => {
    const query = new URLSearchParams({ mode: 'updinfo', mount, song });
    const answer = await request(`${origin}/admin/metadata?${query}`, { headers: { authorization } });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${text}`);
  };
}
