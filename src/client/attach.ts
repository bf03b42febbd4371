/**
 * An audio element that plays a mount, and the titles of the very stream that it plays, each at the moment when it is heard.
 *
 *   stopped ─ play ─► connecting ─► playing ⇄ stalled, paused ─ pause ─► stopped
 *                        ▲              │ breaks off
 *                        └── retrying ◄─┴─► failed
 *
 * Only the audio element knows what is heard: it starts later than its first byte was written, and may stand still. Each play has a stream
 * and a metaid of its own, which end with it: live radio cannot wait.
 */

import { Backoff } from './backoff.js';
import { type AudioElement, addressOf, HAVE_FUTURE_DATA, makeMetaid, onWake, rootOf } from './browser.js';
import type { ChannelRecord } from './channel-record.js';
import type { ServerOptions } from './follow.js';
import { PlayTitles } from './play-titles.js';
import { SystemPlayer } from './system-player.js';

/** `retrying`: it broke off and is asked for again by itself; `failed`: not any more, it is the listener's turn. */
export type PlayState = 'stopped' | 'connecting' | 'playing' | 'stalled' | 'paused' | 'retrying' | 'failed';

export interface AttachOptions extends ServerOptions {
  /** A title begins to be heard. After a new connection the one in force comes again. */
  readonly onNow?: ((record: ChannelRecord) => void) | undefined;
  /** What follows, as soon as it is known; null: nothing. */
  readonly onNext?: ((record: ChannelRecord | null) => void) | undefined;
  readonly onState?: ((state: PlayState) => void) | undefined;
  /** Whether the server gets to know where the player is. Default true. */
  readonly reports?: boolean | undefined;
  /** Whether the lock screen and the media keys are for this player; `titles`: without covers. Default true. */
  readonly mediaSession?: boolean | 'titles' | undefined;
  /** For how long a pause keeps the stream, milliseconds. Default 0: it ends at once, and the next play begins at the live edge. */
  readonly keepPausedMs?: number | undefined;
}

export interface Attachment {
  readonly state: PlayState;
  /** What is heard; null while nothing plays, or before its first title. */
  readonly now: ChannelRecord | null;
  /** As the element's own: it may be rejected. */
  play(): Promise<void>;
  /** Ends the stream, and does not try again. */
  stop(): void;
  /** Leaves the element, silent; no handler is called any more. Idempotent. */
  close(): void;
}

/** How often a stream that broke off is asked for again in a row. */
const MAX_TRIES = 5;
/** A clock that stands still for less has not stalled: Firefox waits for a moment at each link of Ogg. */
const STALL_MS = 1000;
/** An element that has stood still as long as this never goes on. */
const STUCK_MS = 20_000;
/** The same of one that has had something to play: Firefox, behind a change of the sample rate. */
const SILENT_MS = 2000;
const TICK_MS = 1000;
/** As the lock screen has it. */
const PLAYING: ReadonlySet<PlayState> = new Set(['connecting', 'playing', 'stalled']);

/**
 * Takes an audio element over: sets its `src` and `preload`, plays when it is asked to (by its controls, too), comes back when the stream breaks off.
 * @param mount the path that is played, or its whole URL; then `server` is by default that URL's origin
 * @throws TypeError for what is not a URL
 */
export function attach(audio: AudioElement, mount: string | URL, options: AttachOptions = {}): Attachment {
  return new AttachedPlayer(audio, mount, options);
}

class AttachedPlayer implements Attachment {
  readonly #audio: AudioElement;
  readonly #options: AttachOptions;
  readonly #root: URL;
  readonly #mount: URL;
  readonly #system: SystemPlayer | null;
  readonly #backoff = new Backoff();
  readonly #events: Readonly<Record<string, () => void>>;
  readonly #stopWaking: () => void;
  #state: PlayState = 'stopped';
  #now: ChannelRecord | null = null;
  #metaid = '';
  /** Null: nothing plays. */
  #titles: PlayTitles | null = null;
  /** Of the next try; of the end of a pause; of what is looked at every second. */
  #tryTimer: ReturnType<typeof setTimeout> | undefined;
  #pauseTimer: ReturnType<typeof setTimeout> | undefined;
  #ticker: ReturnType<typeof setInterval> | undefined;
  #lastMs = 0;
  #movedAtMs = 0;
  /** When it last had nothing to play, as it was seen. */
  #emptyAtMs = 0;

  constructor(audio: AudioElement, mount: string | URL, options: AttachOptions) {
    const isWhole = mount instanceof URL || /^https?:\/\//i.test(mount);
    this.#audio = audio;
    this.#options = options;
    this.#root = rootOf(options.server ?? (isWhole ? new URL(mount).origin : undefined));
    this.#mount = isWhole ? new URL(mount) : addressOf(this.#root, mount as string);
    const actions = { play: () => void this.play().catch(() => undefined), pause: () => audio.pause() };
    const { mediaSession } = options;
    const hasCovers = mediaSession !== 'titles';
    this.#system = mediaSession === false ? null : new SystemPlayer({ ...actions, stop: () => this.stop() }, hasCovers);
    const look = () => this.#look();
    this.#events = {
      play: () => this.#onPlay(),
      pause: () => this.#onPause(),
      // Of what was paused nothing is asked for again.
      error: () => this.#end(this.#state !== 'paused'),
      playing: look,
      timeupdate: look,
      ratechange: look,
    };
    for (const [name, listener] of Object.entries(this.#events)) audio.addEventListener(name, listener);
    this.#stopWaking = onWake(
      () => this.#hurry(),
      () => this.#look(),
    );
    audio.preload = 'none';
    this.#arm();
  }

  get state(): PlayState {
    return this.#state;
  }

  get now(): ChannelRecord | null {
    return this.#now;
  }

  play(): Promise<void> {
    return this.#audio.play();
  }

  stop(): void {
    this.#end(false);
  }

  close(): void {
    for (const [name, listener] of Object.entries(this.#events)) this.#audio.removeEventListener(name, listener);
    this.#stopWaking();
    if (this.#titles !== null) this.#arm();
    this.#clear();
    this.#state = 'stopped';
    this.#system?.release();
  }

  /** Ready to be played with a metaid of its own. */
  #arm(): void {
    this.#metaid = makeMetaid();
    const url = new URL(this.#mount);
    url.searchParams.set('metaid', this.#metaid);
    this.#audio.src = url.href;
  }

  #onPlay(): void {
    if (this.#audio.paused) return;
    clearTimeout(this.#pauseTimer);
    if (this.#state === 'paused') this.#resume('stalled');
    else this.#start();
  }

  #start(): void {
    this.#clear();
    const { server, transport, WebSocket, reports = true, onNext } = this.#options;
    this.#titles = new PlayTitles(this.#audio, {
      server,
      transport,
      WebSocket,
      reports,
      onNext,
      root: this.#root,
      metaid: this.#metaid,
      onDue: () => this.#look(),
      onHeard: (record) => this.#onHeard(record),
    });
    this.#system?.claim();
    this.#resume('connecting');
  }

  /** The element is asked to go on from where it is. */
  #resume(state: PlayState): void {
    this.#lastMs = this.#mediaMs;
    this.#movedAtMs = this.#emptyAtMs = performance.now();
    clearInterval(this.#ticker);
    this.#ticker = setInterval(() => this.#tick(), TICK_MS);
    this.#setState(state);
  }

  #onPause(): void {
    const { paused, ended } = this.#audio;
    const { keepPausedMs = 0 } = this.#options;
    if (!paused || this.#titles === null) return;
    if (ended || keepPausedMs === 0) {
      // The end of a stream pauses too.
      this.#end(ended);
      return;
    }
    clearInterval(this.#ticker);
    clearTimeout(this.#pauseTimer);
    this.#pauseTimer = setTimeout(() => this.#end(false), keepPausedMs);
    this.#setState('paused');
  }

  /** @param isBroken not by the listener's wish */
  #end(isBroken: boolean): void {
    if (this.#titles === null && this.#tryTimer === undefined && this.#audio.paused) return;
    this.#clear();
    // Another address ends the download. No `load()`: after one, Firefox loads the next address at once, a listener that hears nothing.
    this.#arm();
    this.#system?.show(null);
    if (isBroken && this.#backoff.tries < MAX_TRIES) {
      this.#tryTimer = setTimeout(() => this.#again(), this.#backoff.next());
      this.#setState('retrying');
    } else {
      this.#backoff.reset();
      this.#setState(isBroken ? 'failed' : 'stopped');
    }
  }

  #clear(): void {
    for (const timer of [this.#tryTimer, this.#pauseTimer]) clearTimeout(timer);
    clearInterval(this.#ticker);
    this.#tryTimer = undefined;
    this.#titles?.close();
    this.#titles = null;
    this.#now = null;
  }

  #hurry(): void {
    if (this.#tryTimer !== undefined) this.#again();
  }

  /** A browser may not let a page begin to play by itself; then it is the listener's turn. */
  #again(): void {
    clearTimeout(this.#tryTimer);
    this.#tryTimer = undefined;
    this.play().catch((error: { readonly name?: string }) => {
      // Closed meanwhile, it calls no handler.
      if (error.name === 'NotAllowedError' && this.#state === 'retrying') this.#setState('failed');
    });
  }

  get #mediaMs(): number {
    return this.#audio.currentTime * 1000;
  }

  get #canPlay(): boolean {
    return this.#audio.readyState >= HAVE_FUTURE_DATA;
  }

  #onHeard(record: ChannelRecord): void {
    this.#now = record;
    this.#system?.show(record);
    this.#options.onNow?.(record);
  }

  #look(): void {
    if (this.#titles === null || this.#audio.paused) return;
    if (this.#mediaMs !== this.#lastMs) this.#move();
    this.#titles?.look();
  }

  /** The element's clock has moved. */
  #move(): void {
    this.#lastMs = this.#mediaMs;
    this.#movedAtMs = performance.now();
    this.#backoff.reset();
    // A last step of the clock may be seen when it stands still already.
    if (this.#canPlay || this.#state === 'connecting') this.#setState('playing');
  }

  #tick(): void {
    this.#look();
    const nowMs = performance.now();
    const hasBegun = this.#state !== 'connecting';
    if (!this.#canPlay || !hasBegun) this.#emptyAtMs = nowMs;
    const stoodMs = nowMs - this.#movedAtMs;
    const isSilent = nowMs - Math.max(this.#movedAtMs, this.#emptyAtMs) >= SILENT_MS;
    // It stalls before it ends, also where this tick is seconds late.
    if (hasBegun && stoodMs >= STALL_MS && this.#state !== 'stalled') this.#setState('stalled');
    else if (isSilent || stoodMs > STUCK_MS) {
      this.#end(true);
      return;
    }
    this.#titles?.report(nowMs);
  }

  #setState(state: PlayState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#system?.setPlaying(PLAYING.has(state));
    this.#options.onState?.(state);
  }
}
