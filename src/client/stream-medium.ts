/** An endless stream as an element plays it: each play has a metaid of its own, whose feed brings its titles. */

import { makeMetaid } from './browser.js';
import type { Medium, MediumHandlers } from './medium.js';
import type { HeardPlaces } from './play-titles.js';
import { StreamTitles } from './stream-titles.js';
import type { AttachOptions, AudioElement } from './types.js';

export class StreamMedium implements Medium {
  readonly #audio: AudioElement;
  readonly #mount: URL;
  readonly #root: URL;
  readonly #options: AttachOptions;
  #metaid = '';
  #hasBegun = false;

  /** @param root of the server that has the feed */
  constructor(audio: AudioElement, mount: URL, root: URL, options: AttachOptions) {
    this.#audio = audio;
    this.#mount = mount;
    this.#root = root;
    this.#options = options;
  }

  arm(): void {
    this.#hasBegun = false;
    this.#metaid = makeMetaid();
    const url = new URL(this.#mount);
    url.searchParams.set('metaid', this.#metaid);
    // A new `src` ends the download. No `load()`: after it Firefox would request the new one at once.
    this.#audio.src = url.href;
  }

  begin({ onDue, onNext }: MediumHandlers): HeardPlaces {
    this.#hasBegun = true;
    const { server, transport, WebSocket, reports = true } = this.#options;
    const own = { root: this.#root, metaid: this.#metaid };
    return new StreamTitles(this.#audio, { ...own, server, transport, WebSocket, reports, onNext, onDue });
  }

  close(): void {
    if (this.#hasBegun) this.arm();
  }
}
