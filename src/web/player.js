// @ts-check
/**
 * A channel's player: its stream, or its HLS where the browser prefers that or cannot play the stream.
 *
 *   stream ⇄ HLS     to the other one where a play breaks off before anything was heard, once in each play; the next begins with what played last
 *
 * A browser prefers HLS whose own player knows the dates of its titles: Safari. For any other one hls.js is loaded when it is needed.
 */

import { attach } from '../client.js';

/** @typedef {import('../client/client.js').Attachment} Attachment */
/** @typedef {import('../client/client.js').AttachOptions} AttachOptions */
/** @typedef {import('../client/client.js').HlsConstructor} HlsConstructor */
/** @typedef {import('../client/client.js').PlayState} PlayState */

const HLS_TYPE = 'application/vnd.apple.mpegurl';

/** @type {Promise<HlsConstructor> | null} */
let library = null;

/** @returns {Promise<HlsConstructor>} */
function loadHls() {
  const url = './hls.js';
  library ??= import(url).then((module) => /** @type {typeof import('hls.js')} */ (module).default);
  library.catch(() => {
    library = null;
  });
  return library;
}

export class ChannelPlayer {
  #audio;
  #paths;
  #options;
  /** @type {Attachment} */
  #attachment;
  #isHls;
  /** Whether this play may go on with the other one. */
  #maySwitch = true;

  /**
   * @param {HTMLAudioElement} audio @param {{ mount: string, hls: string }} paths `hls` "": there is none
   * @param {AttachOptions & { onState: (state: PlayState) => void }} options
   */
  constructor(audio, paths, options) {
    this.#audio = audio;
    this.#paths = paths;
    this.#options = options;
    this.#isHls = paths.hls !== '' && hasDates(audio);
    this.#attachment = this.#attach(undefined);
  }

  /** The title heard now. */
  get now() {
    return this.#attachment.now;
  }

  stop() {
    this.#attachment.stop();
  }

  /** @param {HlsConstructor | undefined} Hls @returns {Attachment} */
  #attach(Hls) {
    const { mount, hls } = this.#paths;
    const onState = (/** @type {PlayState} */ state) => this.#onState(state);
    return attach(this.#audio, this.#isHls ? hls : mount, { ...this.#options, Hls, onState });
  }

  /** @param {PlayState} state */
  #onState(state) {
    if (state === 'retrying' && this.#maySwitch && this.#paths.hls !== '') {
      void this.#switch();
      return;
    }
    if (state === 'playing') this.#maySwitch = false;
    if (state === 'stopped' || state === 'failed') this.#maySwitch = true;
    this.#options.onState(state);
  }

  async #switch() {
    this.#maySwitch = false;
    const attachment = this.#attachment;
    const Hls = this.#isHls || hasDates(this.#audio) ? undefined : await loadHls().catch(() => null);
    // It was stopped meanwhile, or plays after all.
    if (attachment.state !== 'retrying' && attachment.state !== 'connecting') return;
    // Then the stream is tried again, as any is.
    if (Hls === null) return;
    attachment.close();
    this.#isHls = !this.#isHls;
    this.#attachment = this.#attach(Hls);
    // A browser may forbid playing without the listener's action. All else is a state of the attachment.
    this.#attachment.play().catch(({ name }) => name === 'NotAllowedError' && this.#onState('failed'));
  }
}

/** @param {HTMLAudioElement} audio */
function hasDates(audio) {
  return 'getStartDate' in audio && audio.canPlayType(HLS_TYPE) !== '';
}
