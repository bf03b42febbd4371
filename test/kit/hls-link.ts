/** A channel's HLS at a hub, and at a worker that copies it over a link without a socket; the clock stands still until a test moves it. */

import type { HlsOptions } from '../../src/config/hls-config.js';
import type { ChannelHlsParts } from '../../src/hls/channel-hls.js';
import { HlsChannels } from '../../src/hls/hls-channels.js';
import type { HlsFeeds, HlsSource } from '../../src/hls/hls-feed.js';
import { Rewinds } from '../../src/hls/rewind/rewinds.js';
import { HlsReceiver } from '../../src/link/hls/hls-receiver.js';
import { HlsSender } from '../../src/link/hls/hls-sender.js';
import { type BadMessage, LinkConnection } from '../../src/link/wire/link-connection.js';
import type { FakeClock } from './clock.js';
import { cutFeeds, HlsChannel, tapeName } from './hls-channel.js';
import { asStream, type LinkPipe, linkPipe } from './link-pipe.js';

export const HLS_OPTIONS: HlsOptions = {
  segmentSeconds: 4,
  window: 6,
  keep: 12,
  form: 'auto',
  rewindHours: 0,
  rewindBytes: 1e9,
};
const SILENCE_MS = 15_000;

/** Rewinds whose folder does not exist. */
export function noRewinds(clock: FakeClock): Rewinds {
  return new Rewinds({ folder: '/nonexistent', clock, onDamaged: (_, error) => Promise.reject(error) });
}

/** The copying side. */
export class HlsWorker {
  readonly receiver: HlsReceiver;
  /** Malformed messages. */
  readonly bad: BadMessage[] = [];
  readonly hls: HlsChannels;
  readonly source: HlsSource;
  pipe: LinkPipe = linkPipe();
  #isCutting = false;

  constructor(channel: HlsChannel) {
    this.source = {
      get audio() {
        return channel.audio;
      },
      hls: HLS_OPTIONS,
    };
    const { clock } = channel;
    this.receiver = new HlsReceiver(undefined, { clock, onBad: (error) => this.bad.push(error) });
    const cut = cutFeeds(clock, SILENCE_MS);
    const make: HlsFeeds['make'] = (source, options, window) =>
      this.#isCutting ? cut.make(source, options, window) : this.receiver.copy(source, window);
    const feeds = { make, isRemote: () => !this.#isCutting };
    this.hls = new HlsChannels({ clock, feeds, silenceMs: SILENCE_MS, rewinds: noRewinds(clock), tapeName });
  }

  get window() {
    return this.hls.of(this.source)!.window;
  }

  ask(): void {
    this.hls.ask(this.source);
  }

  /** Acts as a machine that starts or stops feeding the channel. */
  cut(isCutting: boolean): void {
    this.#isCutting = isCutting;
    this.hls.refeed(this.source.audio.key);
  }
}

export class HlsLink {
  readonly channel = new HlsChannel({ burstMs: 6000 });
  hub: HlsChannels;
  hls: HlsOptions | null = HLS_OPTIONS;
  readonly workers: readonly HlsWorker[];
  /** Why links were closed. */
  readonly broken: unknown[] = [];
  readonly #files: ChannelHlsParts['files'];

  constructor(workers = 1, files?: ChannelHlsParts['files'], rewinds?: Rewinds) {
    this.#files = files;
    this.hub = this.makeHub(rewinds);
    this.workers = Array.from({ length: workers }, () => new HlsWorker(this.channel));
    for (const worker of this.workers) this.connect(worker);
  }

  get worker(): HlsWorker {
    return this.workers[0]!;
  }

  get audio() {
    return this.channel.audio;
  }

  /** The hub's window. */
  get window() {
    return this.hub.of(this)!.window;
  }

  /** A new hub. */
  makeHub(rewinds = noRewinds(this.channel.clock)): HlsChannels {
    const { clock } = this.channel;
    const feeds = cutFeeds(clock, SILENCE_MS);
    return new HlsChannels({
      clock,
      feeds,
      silenceMs: SILENCE_MS,
      tapeName,
      rewinds,
      ...(this.#files && { files: this.#files }),
    });
  }

  connect(worker: HlsWorker, maxQueuedBytes = 1024 * 1024): void {
    worker.pipe = linkPipe();
    const onBroken = (error: unknown) => void this.broken.push(error);
    const isThere = (key: string) => key === this.audio.key;
    new HlsSender(new LinkConnection(asStream(worker.pipe.hub), onBroken, { maxQueuedBytes }), {
      askHls: (key) => (isThere(key) ? this.hub.ask(this) : null),
      hlsOf: (key) => (isThere(key) ? this.hub.of(this) : undefined),
    });
    worker.receiver.connect(new LinkConnection(asStream(worker.pipe.worker), onBroken));
  }

  /** Seconds pass, with or without audio; all messages are delivered. */
  pass(seconds: number, { isPlaying = true, isAsked = true } = {}): void {
    for (let i = 0; i < seconds; i++) {
      if (isPlaying) this.channel.play(1);
      else this.channel.clock.advance(1000);
      if (isAsked) this.worker.ask();
      this.flow();
      const nowMs = this.channel.clock.now();
      for (const { hls } of [{ hls: this.hub }, ...this.workers]) hls.tidy(nowMs);
      this.flow();
    }
  }

  flow(): void {
    for (const { pipe } of this.workers) while (pipe.worker.deliver(100_000) + pipe.hub.deliver(100_000) > 0);
  }
}
