/**
 * Plays a channel's stream, or its HLS if the browser prefers that or cannot play the stream.
 *
 *   rewind ⇄ live    by the listener
 *   stream ⇄ HLS     if a play breaks off before anything was heard, once in each play; the next play begins with the one that played last
 *
 * A browser prefers HLS if its own player knows the dates of titles: Safari. Any other needs hls.js for it, which is then loaded from the server.
 */

import { attach } from '../attach.js';
import { addressOf } from '../browser.js';
import type { Attachment, AttachOptions, ChannelRecord, HlsConstructor, PlayState, StartPlace } from '../types.js';

const HLS_TYPE = 'application/vnd.apple.mpegurl';

export interface ChannelPaths {
  /** May have a query. */
  readonly mount: string;
  /** "": there is none. */
  readonly hls: string;
}

export interface ChannelPlayerOptions extends AttachOptions {
  readonly onState: (state: PlayState) => void;
}

/** By URL. A failed load is forgotten, so that the next one tries again. */
const libraries = new Map<string, Promise<HlsConstructor>>();

function loadHls(url: string): Promise<HlsConstructor> {
  let library = libraries.get(url);
  if (library === undefined) {
    library = import(url).then((module: { readonly default: HlsConstructor }) => module.default);
    libraries.set(url, library);
    library.catch(() => libraries.delete(url));
  }
  return library;
}

export class ChannelPlayer {
  readonly #audio: HTMLAudioElement;
  readonly #root: URL;
  readonly #paths: ChannelPaths;
  readonly #options: ChannelPlayerOptions;
  #attachment: Attachment;
  #isHls: boolean;
  /** For the live playlist; undefined: not loaded, or not needed. */
  #Hls: HlsConstructor | undefined;
  #isRewound = false;
  /** Counts what was asked for: a rewind needs time to begin, and may be out of date by then. */
  #turn = 0;
  /** Whether this play may still switch between stream and HLS. */
  #maySwitch = true;

  /** @param root of the server */
  constructor(audio: HTMLAudioElement, root: URL, paths: ChannelPaths, options: ChannelPlayerOptions) {
    this.#audio = audio;
    this.#root = root;
    this.#paths = paths;
    this.#options = options;
    this.#isHls = paths.hls !== '' && hasDates(audio);
    this.#attachment = this.#attach();
  }

  /** The title heard now. */
  get now(): ChannelRecord | null {
    return this.#attachment.now;
  }

  get state(): PlayState {
    return this.#attachment.state;
  }

  play(): Promise<void> {
    return this.#attachment.play();
  }

  get isRewound(): boolean {
    return this.#isRewound;
  }

  /** Plays the channel's rewind from there on, until `live`. Rejects as `play` does. @param path of the rewind */
  async rewind(path: string, startAt: StartPlace): Promise<void> {
    const turn = ++this.#turn;
    this.#attachment.close();
    this.#isRewound = true;
    this.#options.onState('connecting');
    const Hls = hasDates(this.#audio) ? undefined : await this.#load().catch(() => null);
    if (turn !== this.#turn) return;
    if (Hls === null) {
      this.live();
      this.#options.onState('failed');
      return;
    }
    const options = { ...this.#options, server: this.#root, Hls, startAt };
    this.#attachment = attach(this.#audio, addressOf(this.#root, path), options);
    await this.#attachment.play();
  }

  /** Ends a rewind, if there is one: the next play is live. */
  live(): void {
    if (!this.#isRewound) return;
    this.#turn++;
    this.#isRewound = false;
    this.#attachment.close();
    this.#attachment = this.#attach();
    this.#options.onState('stopped');
  }

  stop(): void {
    this.#attachment.stop();
  }

  close(): void {
    this.#turn++;
    this.#attachment.close();
  }

  #load(): Promise<HlsConstructor> {
    return loadHls(addressOf(this.#root, 'web/hls.js').href);
  }

  #attach(): Attachment {
    const { mount, hls } = this.#paths;
    const onState = (state: PlayState) => this.#onState(state);
    const url = addressOf(this.#root, this.#isHls ? hls : mount);
    return attach(this.#audio, url, { ...this.#options, server: this.#root, Hls: this.#Hls, onState });
  }

  #onState(state: PlayState): void {
    if (state === 'retrying' && this.#maySwitch && this.#paths.hls !== '') {
      void this.#switch();
      return;
    }
    if (state === 'playing') this.#maySwitch = false;
    if (state === 'stopped' || state === 'failed') this.#maySwitch = true;
    this.#options.onState(state);
  }

  async #switch(): Promise<void> {
    this.#maySwitch = false;
    const attachment = this.#attachment;
    const Hls = this.#isHls || hasDates(this.#audio) ? undefined : await this.#load().catch(() => null);
    // It was stopped meanwhile, or plays after all.
    if (attachment.state !== 'retrying' && attachment.state !== 'connecting') return;
    // Without hls.js the stream is retried as usual.
    if (Hls === null) {
      this.#options.onState(attachment.state);
      return;
    }
    attachment.close();
    this.#isHls = !this.#isHls;
    this.#Hls = Hls;
    this.#attachment = this.#attach();
    // The browser may require a user gesture. Other failures are states of the attachment.
    this.#attachment
      .play()
      .catch(({ name }: { name?: string }) => name === 'NotAllowedError' && this.#onState('failed'));
  }
}

function hasDates(audio: HTMLAudioElement): boolean {
  return 'getStartDate' in audio && audio.canPlayType(HLS_TYPE) !== '';
}
