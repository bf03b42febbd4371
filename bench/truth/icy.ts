/**
 * A listener without a player: ffmpeg decodes its audio, and each title's place in the audio is compared with the change of the sound: the place of
 * its ICY block, and the `position` in the listener feed. Without a sound card or player, their delays are not in the figures.
 */

import { WebSocket } from 'ws';
import { Player } from '../../test/kit/player.js';
import { findChanges } from './changes.js';
import { type Mistake, numberInOrder } from './figures.js';
import { numberOf, type ToneEncoder } from './tone-encoder.js';
import { decode, framesIn } from './tone-file.js';

const RATE = 24_000;
let readers = 0;

export interface IcyMistakes {
  /** ICY block − sound, in the audio. */
  readonly blocks: readonly Mistake[];
  /** `position` − sound, in the audio; empty without a feed. */
  readonly positions: readonly Mistake[];
}

export class IcyListener {
  readonly #player: Player;
  readonly #positions = new Map<number, number>();
  readonly #socket: WebSocket | undefined;

  /** @param options `hasFeed`: whether the server has a listener feed */
  constructor(options: { readonly port: number; readonly path: string; readonly hasFeed: boolean }) {
    const { port, path, hasFeed } = options;
    const metaid = `truth-${process.pid}-${readers++}`;
    if (hasFeed) {
      this.#socket = new WebSocket(`ws://127.0.0.1:${port}/metadata/listener/${metaid}?sync=wire`);
      this.#socket.on('error', () => undefined);
      this.#socket.on('message', (data) => {
        const record = JSON.parse(String(data));
        if (record.type === 'now') this.#positions.set(numberOf(record.song), Number(record.position));
      });
    }
    this.#player = new Player(port, hasFeed ? `${path}?metaid=${metaid}` : path, { keep: true });
  }

  get status(): number {
    return this.#player.status;
  }

  close(): void {
    this.#player.close();
    this.#socket?.close();
  }

  /** @param encoder of its channel */
  async mistakes(encoder: Pick<ToneEncoder, 'file' | 'enteredMs' | 'disturbed'>): Promise<IcyMistakes> {
    const { audio, titles } = this.#player;
    const frames = framesIn(audio);
    const pcm = await decode(Buffer.concat(frames.map(({ bytes }) => bytes)), RATE);
    const changes = findChanges(pcm, RATE, encoder.file.band).map((change) => ({
      ...change,
      ms: (change.at * 1000) / RATE,
    }));
    const inOrder = numberInOrder(changes, encoder.enteredMs);
    const heard = inOrder.filter(({ number }) => !encoder.disturbed.has(number));
    const blocks = new Map(titles.map(({ title, atByte }) => [numberOf(title), timeAt(frames, atByte)]));
    const against = (places: ReadonlyMap<number, number>): Mistake[] =>
      heard.flatMap(({ number, ms }) => {
        const placeMs = places.get(number);
        return placeMs === undefined ? [] : [{ number, ms, errorMs: placeMs - ms }];
      });
    return { blocks: against(blocks), positions: against(this.#positions) };
  }
}

/** The audio time at a byte, interpolated within a frame. */
function timeAt(frames: ReturnType<typeof framesIn>, byte: number): number {
  const index = frames.findIndex(({ at, bytes }) => at + bytes.length > byte);
  if (index === -1) return frames.at(-1)!.endMs;
  const { at, bytes, endMs } = frames[index]!;
  const beganMs = frames[index - 1]?.endMs ?? 0;
  return beganMs + (endMs - beganMs) * Math.max(0, (byte - at) / bytes.length);
}
