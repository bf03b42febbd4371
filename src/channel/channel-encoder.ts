/** The encoder of one channel, as those see it who connect it, end it, move it, and send its titles. Owned by the channel. */

import type { Socket } from 'node:net';
import type { Log } from '../base/log.js';
import type { ChannelConfig } from '../config/schema.js';
import type { ConnectionPlace } from '../source/encoder-connection.js';
import { EncoderSource } from '../source/encoder-source.js';
import type { Source, SourceTitle } from '../source/source.js';
import type { Switch } from '../source/switch.js';
import { encoderOf } from './make-input.js';
import type { EncoderPlace } from './mount.js';
import type { ChannelLive } from './served.js';

export interface ChannelEncoderParts {
  /** The channel's. */
  readonly key: string;
  readonly config: ChannelConfig;
  readonly log: Log;
  readonly switch: Switch;
  /** What the channel plays. */
  readonly live: Pick<ChannelLive, 'sends'>;
  /** Another machine feeds the channel, as it says; null: its sources here do. */
  elsewhere(): Pick<ChannelLive, 'onAir'> | null;
  /** A title of the encoder, which is not its connection's. */
  onTitle(title: SourceTitle, source: Source): Promise<void>;
}

export class ChannelEncoder {
  /** Undefined: the channel takes no encoder. */
  place: EncoderPlace | undefined;
  readonly #parts: ChannelEncoderParts;

  constructor(parts: ChannelEncoderParts) {
    this.#parts = parts;
    this.refresh();
  }

  /** The channel has other sources now. */
  refresh(): void {
    const { source } = this;
    this.place = source === undefined ? undefined : placeOf(this.#parts.key, source);
  }

  get source(): EncoderSource | undefined {
    return this.#parts.switch.sources.find((candidate) => candidate instanceof EncoderSource);
  }

  /** Whether it is there, with audio or not yet. */
  get isConnected(): boolean {
    return this.source?.state === 'up';
  }

  /** Adopts the connection of an encoder from another process. After the channel's start. */
  take(socket: Socket, ahead: Buffer, place: ConnectionPlace, aheadMs: number): void {
    const { source } = this;
    if (source === undefined) socket.destroy();
    else source.adopt(socket, ahead, place, aheadMs);
  }

  /** Ends its connection. False: none is there. */
  end(): boolean {
    return this.source?.end() ?? false;
  }

  /** From its next frame on it feeds another channel, on the same connection. Returns why it cannot; null: it does. */
  moveTo(there: ChannelEncoder): string | null {
    const [source, other] = [this.source, there.source];
    if (source?.state !== 'up') return 'No encoder is connected.';
    if (other === undefined) return 'That channel takes no encoder.';
    if (other.state === 'up') return 'An encoder is connected there already.';
    const { key: to, live } = there.#parts;
    const { sends, connectionId: connection } = source;
    if (sends === undefined) return 'It is not known yet what the encoder sends.';
    if (live.sends !== null && live.sends !== sends)
      return `The encoder sends ${sends}, and that channel plays ${live.sends}.`;
    if (!source.moveTo(other, 'moved by an operator')) return 'The encoder is about to end.';
    this.#parts.log.info({ channel: this.#parts.key, to, connection }, 'encoder moved');
    return null;
  }

  /** As EncoderMount has it. */
  async sendTitle(title: SourceTitle): Promise<boolean> {
    const { config, switch: sources, elsewhere, onTitle } = this.#parts;
    const { source } = this;
    const encoder = encoderOf(config);
    if (source === undefined || encoder === undefined) return false;
    const isTaken = config.titlesFrom.includes('encoder');
    const far = elsewhere();
    // An encoder of another machine has no connection here: its title may come anywhere.
    const isFed = far === null ? source.state === 'up' : far.onAir === config.sources.indexOf(encoder);
    if (!isFed && !encoder.titlesWhileAway) return false;
    if (isTaken && far === null) await sources.title(source, title);
    else if (isTaken) await onTitle(title, source);
    return true;
  }
}

function placeOf(channelKey: string, source: EncoderSource): EncoderPlace {
  return {
    channelKey,
    get isBusy() {
      return source.busy;
    },
    get agent() {
      return source.agent;
    },
    get quietMs() {
      return source.quietMs;
    },
    attach: (...encoder) => source.attach(...encoder),
  };
}
