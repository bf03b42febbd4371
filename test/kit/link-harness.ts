/** A channel at a hub, and a worker that takes it over a link without a socket; the clock stands still until a test moves it. */

import { ChannelAudio, type ChannelAudioOptions } from '../../src/audio/channel-audio.js';
import type { PlayableAudio } from '../../src/audio/playable-audio.js';
import { TapeNames } from '../../src/link/tapes/tape-names.js';
import { TapeReceiver } from '../../src/link/tapes/tape-receiver.js';
import { TapeSender } from '../../src/link/tapes/tape-sender.js';
import { LinkConnection } from '../../src/link/wire/link-connection.js';
import { FakeClock } from './clock.js';
import { frameOf } from './frame-of.js';
import { asStream, type LinkPipe, linkPipe } from './link-pipe.js';
import { viewOf } from './record.js';

export const FRAME_MS = 26;
export const FRAME_BYTES = 200;
/** Time until a sender has sent everything. */
export const SETTLE_MS = 400;

export class LinkHarness {
  readonly clock = new FakeClock();
  readonly audio: ChannelAudio;
  receiver: TapeReceiver;
  names = new TapeNames();
  pipe: LinkPipe = linkPipe();
  sender: TapeSender | null = null;
  /** The source of the channel's tape; `sender.move` announces another one. */
  served: PlayableAudio;
  /** Why links were closed. */
  readonly broken: unknown[] = [];
  #titles = 0;

  constructor(options: Partial<ChannelAudioOptions> = {}, lingerMs = 1000) {
    const { clock } = this;
    this.audio = new ChannelAudio({ key: 'demo', lagMs: 30_000, now: () => clock.now(), metaint: 500, ...options });
    this.served = this.audio;
    this.receiver = new TapeReceiver(clock, lingerMs);
  }

  get linked() {
    return this.receiver.audio('demo');
  }

  /** @param isPrompt as to another machine */
  connect(maxQueuedBytes = 1024 * 1024, isPrompt = false): this {
    this.pipe = linkPipe();
    const onBroken = (error: unknown) => void this.broken.push(error);
    const { clock, names, audio } = this;
    const parts = { clock, names, audioOf: (key: string) => (key === audio.key ? this.served : undefined), isPrompt };
    this.sender = new TapeSender(new LinkConnection(asStream(this.pipe.hub), onBroken, { maxQueuedBytes }), parts);
    this.receiver.connect(new LinkConnection(asStream(this.pipe.worker), onBroken));
    return this;
  }

  /** A listener connects to the worker. */
  enter(): this {
    if (this.linked.listeners++ === 0) this.linked.want(true);
    return this;
  }

  leave(): void {
    if (--this.linked.listeners === 0) this.linked.want(false);
  }

  /** Feeds audio in real time: ADTS frames, each filled with another byte value. */
  play(ms: number): this {
    for (let doneMs = 0; doneMs < ms; doneMs += FRAME_MS) {
      this.write();
      this.clock.advance(FRAME_MS);
    }
    return this;
  }

  write(): void {
    const frame = Buffer.alloc(FRAME_BYTES, this.clock.now() & 0xff);
    Buffer.from('fff15080191ffc', 'hex').copy(frame);
    this.audio.write(frameOf(frame, FRAME_MS, 64));
  }

  title(agoMs = 0) {
    const number = ++this.#titles;
    return this.audio.title(viewOf(`T${number}`, { id: `${number}`, version: number }), agoMs);
  }

  /** Delivers all pending messages. */
  settle(): this {
    this.flow();
    this.clock.advance(SETTLE_MS);
    return this.flow();
  }

  flow(): this {
    const { hub, worker } = this.pipe;
    while (worker.deliver(100_000) + hub.deliver(100_000) > 0);
    return this;
  }
}
