/**
 * What a new hub takes over from previous ones: their tapes, from the processes that have them, before any source plays; and after a handover,
 * encoders' connections, and sources that continue where they were.
 */

import type { Socket } from 'node:net';
import type { ChannelAudio } from '../../audio/channel-audio.js';
import { numberMarksFrom } from '../../audio/tape/mark.js';
import type { Clock } from '../../base/clock.js';
import type { Channel } from '../../channel/channel.js';
import type { TapeNames } from '../../link/tapes/tape-names.js';
import { type ReturnedTape, TapeReturns, type TapeReturnsParts } from '../../link/tapes/tape-returns.js';
import { attach } from '../../net/front/handover.js';
import { readConnection } from '../encoder-schema.js';
import type { SocketLetter } from '../messages.js';

/** How long a continued tape counts as played until workers report their listeners. */
const HOLD_MS = 2000;
/** Allows for marks that the previous hub numbered and sent to no process. */
const MARKS_UNSEEN = 1000;
/** Marks are numbered by the seconds since the start of 2025 (Unix time). */
const MARKS_SINCE = 1_735_689_600;

export interface HubReturnsParts extends TapeReturnsParts {
  /** Channels whose tapes are not taken back, since they ended hubs before (suspect-tapes.ts). */
  readonly without: readonly string[];
  /** Called before the tape of each channel is put in place, and with null once all are. */
  onTakes(channel: string | null): void;
}

export class HubReturns {
  readonly #clock: Clock;
  readonly #tapes: TapeReturns;
  readonly #held: ChannelAudio[] = [];
  /** Channels whose tape was not handed over: it is what workers had of it. */
  readonly unhanded = new Set<string>();
  readonly #parts: HubReturnsParts;

  constructor(parts: HubReturnsParts) {
    this.#parts = parts;
    this.#clock = parts.clock;
    const has = (channel: string) => parts.has(channel) && !parts.without.includes(channel);
    this.#tapes = new TapeReturns({ ...parts, has });
  }

  /** Takes the connection of a process that offers tapes. */
  take(socket: Socket): void {
    this.#tapes.take(socket);
  }

  /**
   * Continues the offered tapes on their channels; called before any title is added there.
   * @param expected the number of processes that offer tapes @returns the number of tapes that continue
   */
  async collect(expected: number, channels: ReadonlyMap<string, Channel>, names: TapeNames): Promise<number> {
    const tapes = await this.#tapes.collect(expected);
    numberMarksFrom(Math.max(firstMark(this.#clock), this.#tapes.lastMark + MARKS_UNSEEN));
    const { onTakes, onError } = this.#parts;
    for (const [key, tape] of tapes) {
      onTakes(key);
      const channel = channels.get(key)!;
      try {
        this.#put(channel, tape, names);
      } catch (error) {
        channel.audio.leave();
        onError(
          new Error(`the tape of channel ${key} cannot be continued: the channel begins a new one`, { cause: error }),
        );
      }
    }
    for (const [key, position] of this.#tapes.positions) if (!tapes.has(key)) channels.get(key)!.adopt(position, false);
    onTakes(null);
    this.#tapes.close();
    return this.#held.length;
  }

  #put(channel: Channel, { audio, name, fed }: ReturnedTape, names: TapeNames): void {
    names.set(channel.audio.adopt(audio, fed?.open), name);
    if (fed?.delayed != null) channel.audio.adoptDelayed(fed.delayed);
    if (fed !== null && fed.position !== null) channel.adopt(fed.position);
    if (fed === null) this.unhanded.add(channel.key);
    this.#held.push(channel.audio);
  }

  /** Counts a listener of each continued tape until workers have reported theirs, so that no tape is replaced before. */
  hold(): void {
    const count = (by: 1 | -1) => {
      for (const audio of this.#held) {
        audio.listeners += by;
        audio.playing += by;
        if (audio.listeners === (by > 0 ? 1 : 0)) audio.want(by > 0);
      }
    };
    count(1);
    this.#clock.alarm(this.#clock.now() + HOLD_MS, { onAlarm: () => count(-1) });
  }
}

/**
 * Takes over an encoder's connection from the previous hub; called after the sources have started.
 * @returns why the message is invalid (the encoder must connect again), or null
 */
export function takeConnection(
  channels: ReadonlyMap<string, Channel>,
  letter: Pick<SocketLetter, 'text' | 'ahead'>,
  socket: Socket,
): string | null {
  attach(socket);
  const { value, bad } = readConnection(letter);
  const taker = value === null ? undefined : channels.get(value.channel);
  if (value === null || taker === undefined) socket.destroy();
  else taker.encoder.take(socket, value.ahead, value.position, value.aheadMs);
  return bad;
}

/** Returns a number above all earlier marks, even if no process knows them: hubs number at most a mark or two per second. */
function firstMark(clock: Clock): number {
  return Math.max(0, Math.floor(clock.wallMs() / 1000) - MARKS_SINCE);
}
