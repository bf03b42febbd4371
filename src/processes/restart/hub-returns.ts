/**
 * What a new hub takes over from those before it: their tapes, from the processes that have them, before any source plays; and after a hub that has
 * handed over, encoders' connections, and sources that go on where they were.
 */

import net, { type Server, type Socket } from 'node:net';
import type { ChannelAudio } from '../../audio/channel-audio.js';
import { numberMarksFrom } from '../../audio/tape/mark.js';
import type { Clock } from '../../base/clock.js';
import type { Channel } from '../../channel/channel.js';
import type { TapeNames } from '../../link/tapes/tape-names.js';
import { type ReturnedTape, TapeReturns, type TapeReturnsParts } from '../../link/tapes/tape-returns.js';
import { takeOver } from '../../net/front/handover.js';
import { readConnection } from '../encoder-schema.js';
import { listen } from '../listen.js';
import type { SocketLetter } from '../messages.js';

/** How long a tape that goes on is kept for those who play it. */
const HOLD_MS = 2000;
/** Marks of the hub before this one that nobody was sent. */
const MARKS_UNSEEN = 1000;
/** Marks are numbered by the seconds since 2025 began. */
const MARKS_SINCE = 1_735_689_600;

export interface HubReturnsParts extends TapeReturnsParts {
  /** Channels whose tape is not taken, as hubs ended because of it. */
  readonly without: readonly string[];
  /** The tape of this channel is about to be put in place; null: all are. */
  onTakes(channel: string | null): void;
}

export class HubReturns {
  readonly #clock: Clock;
  readonly #path: string;
  readonly #tapes: TapeReturns;
  readonly #server: Server;
  readonly #held: ChannelAudio[] = [];
  /** Channels whose tape is what workers had of it: the hub before this one did not hand it over. */
  readonly unhanded = new Set<string>();

  readonly #parts: HubReturnsParts;

  /** @param path where tapes come */
  constructor(path: string, parts: HubReturnsParts) {
    this.#path = path;
    this.#parts = parts;
    this.#clock = parts.clock;
    const has = (channel: string) => parts.has(channel) && !parts.without.includes(channel);
    this.#tapes = new TapeReturns({ ...parts, has });
    this.#server = net.createServer((socket) => this.#tapes.take(socket));
  }

  listen(): Promise<void> {
    return listen(this.#server, this.#path);
  }

  /** Puts what comes back onto its channels. Before any title is put there. @param expected how many processes offer theirs @returns how many */
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
        onError(new Error(`the tape of channel ${key} cannot be continued: it begins a new one`, { cause: error }));
      }
    }
    onTakes(null);
    this.#server.close();
    this.#tapes.close();
    return this.#held.length;
  }

  #put(channel: Channel, { audio, name, fed }: ReturnedTape, names: TapeNames): void {
    names.set(channel.audio.adopt(audio, fed?.open), name);
    if (fed?.delayed != null) channel.audio.adoptDelayed(fed.delayed);
    if (fed !== null && fed.place !== null) channel.adopt(fed.place);
    if (fed === null) this.unhanded.add(channel.key);
    this.#held.push(channel.audio);
  }

  /** Until workers have said who plays them, tapes that go on are played: nobody replaces them. */
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
 * An encoder's connection of the hub before this one. After the sources have started. @returns why it cannot be read: the encoder comes again; null:
 * it can
 */
export function takeConnection(
  channels: ReadonlyMap<string, Channel>,
  letter: Pick<SocketLetter, 'text' | 'ahead'>,
  socket: Socket,
): string | null {
  takeOver(socket);
  const { value, bad } = readConnection(letter);
  const taker = value === null ? undefined : channels.get(value.channel);
  if (value === null || taker === undefined) socket.destroy();
  else taker.encoder.take(socket, value.ahead, value.place, value.aheadMs);
  return bad;
}

/** Marks of a later hub have higher numbers, also where nobody is left to say which were given: of each second there is a mark or two at most. */
function firstMark(clock: Clock): number {
  return Math.max(0, Math.floor(clock.wallMs() / 1000) - MARKS_SINCE);
}
