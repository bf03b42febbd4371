/**
 * An audio element that plays a mount or its HLS, with the titles of its own stream, each at the moment when it is heard.
 *
 *   stopped ─ play ─► connecting ─► playing ⇄ stalled, paused ─ pause ─► stopped
 *                        ▲              │ breaks off
 *                        └── retrying ◄─┴─► failed
 *
 * Only the audio element knows what is heard: it starts later than its first byte was written, and may stall. Each play has a stream
 * of its own, which ends with it; the medium (medium.ts) prepares it, and has its titles.
 */

import { Backoff } from './backoff.js';
import { addressOf, HAVE_FUTURE_DATA, onWake, rootOf } from './browser.js';
import { HlsMedium } from './hls-medium.js';
import type { Medium } from './medium.js';
import { PlayTitles } from './play-titles.js';
import { StreamMedium } from './stream-medium.js';
import { coversOf, SystemPlayer } from './system-player.js';
import type { Attachment, AttachOptions, AudioElement, ChannelRecord, PlayState } from './types.js';

/** Tries in a row for a stream that broke off. */
const MAX_TRIES = 5;
/** A shorter pause of the clock is not a stall: Firefox waits for a moment at each link of Ogg. */
const STALL_MS = 1000;
/** An element that has stalled for this long never resumes. */
const STUCK_MS = 20_000;
/** The same if it had audio to play: Firefox, after a change of the sample rate. */
const SILENT_MS = 2000;
const TICK_MS = 1000;
/** Longer timers fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** The states that the lock screen shows as playing. */
const PLAYING: ReadonlySet<PlayState> = new Set(['connecting', 'playing', 'stalled']);

/**
 * Takes over an audio element: sets `src` and `preload`, plays when asked to (also by its controls), reconnects, reports each title when it is heard.
 * @param mount the path to play, or its URL, whose origin is then the default of `server`. One that ends with `.m3u8` is played as HLS
 * @throws TypeError for an invalid URL, or if there is no server: a path outside of a page needs one
 */
export function attach(audio: AudioElement, mount: string | URL, options: AttachOptions = {}): Attachment {
  return new AttachedPlayer(audio, mount, options);
}

class AttachedPlayer implements Attachment {
  readonly #audio: AudioElement;
  readonly #options: AttachOptions;
  readonly #medium: Medium;
  readonly #system: SystemPlayer | null;
  readonly #backoff = new Backoff();
  readonly #events: Readonly<Record<string, () => void>>;
  readonly #stopWaking: () => void;
  #state: PlayState = 'stopped';
  #now: ChannelRecord | null = null;
  /** Null: it does not play. */
  #titles: PlayTitles | null = null;
  /** Timers: of the next try, of the end of a pause, of the check each second. */
  #tryTimer: ReturnType<typeof setTimeout> | undefined;
  #pauseTimer: ReturnType<typeof setTimeout> | undefined;
  #ticker: ReturnType<typeof setInterval> | undefined;
  #lastMs = 0;
  #movedAtMs = 0;
  /** When it was last seen without audio to play. */
  #emptyAtMs = 0;

  constructor(audio: AudioElement, mount: string | URL, options: AttachOptions) {
    const isWhole = mount instanceof URL || /^https?:\/\//i.test(mount);
    this.#audio = audio;
    this.#options = options;
    const root = rootOf(options.server ?? (isWhole ? new URL(mount).origin : undefined));
    const url = isWhole ? new URL(mount) : addressOf(root, mount as string);
    this.#medium = url.pathname.endsWith('.m3u8')
      ? new HlsMedium(audio, url, root, options)
      : new StreamMedium(audio, url, root, options);
    const actions = { play: () => void this.play().catch(() => undefined), pause: () => this.#pause() };
    const { mediaSession, artwork = coversOf } = options;
    const pictures = mediaSession === 'titles' ? () => [] : artwork;
    this.#system = mediaSession === false ? null : new SystemPlayer({ ...actions, stop: () => this.stop() }, pictures);
    const look = () => this.#look();
    this.#events = {
      play: () => this.#onPlay(),
      pause: () => this.#onPause(),
      error: () => this.#onBroken(),
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
    this.#medium.arm();
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

  /** Between two tries the element is already paused, and fires no event. */
  #pause(): void {
    if (this.#tryTimer === undefined) this.#audio.pause();
    else this.#end(false);
  }

  close(): void {
    for (const [name, listener] of Object.entries(this.#events)) this.#audio.removeEventListener(name, listener);
    this.#stopWaking();
    this.#clear();
    this.#medium.close();
    this.#state = 'stopped';
    this.#system?.release();
  }

  #onPlay(): void {
    if (this.#audio.paused) return;
    clearTimeout(this.#pauseTimer);
    if (this.#state === 'paused') this.#resume('stalled');
    else this.#start();
  }

  #start(): void {
    this.#clear();
    const onDue = () => this.#look();
    const places = this.#medium.begin({
      onNext: this.#options.onNext,
      onDue,
      onBroken: () => this.#onBroken(),
    });
    this.#titles = new PlayTitles(this.#audio, places, { onDue, onHeard: (record) => this.#onHeard(record) });
    this.#system?.claim();
    this.#resume('connecting');
  }

  /** The element was asked to play, or to play on. */
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
      // The end of a stream is a pause too.
      this.#end(ended);
      return;
    }
    clearInterval(this.#ticker);
    clearTimeout(this.#pauseTimer);
    this.#pauseTimer = setTimeout(() => this.#end(false), Math.min(keepPausedMs, MAX_TIMER_MS));
    this.#setState('paused');
  }

  /** A paused stream is not requested again. */
  #onBroken(): void {
    this.#end(this.#state !== 'paused');
  }

  /** @param isBroken the stream broke off; otherwise the listener has ended it */
  #end(isBroken: boolean): void {
    if (this.#titles === null && this.#tryTimer === undefined && this.#audio.paused) {
      if (!isBroken) this.#setState('stopped');
      return;
    }
    this.#clear();
    this.#medium.arm();
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

  /** A browser may forbid playing without the listener's action. */
  #again(): void {
    clearTimeout(this.#tryTimer);
    this.#tryTimer = undefined;
    this.play().catch((error: { readonly name?: string }) => {
      // It may have been closed meanwhile.
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
    // A clock that is set (in HLS: to the live edge) has not advanced.
    if (this.#titles === null || this.#audio.paused || this.#audio.seeking) return;
    if (this.#mediaMs !== this.#lastMs) this.#move();
    this.#titles?.look();
  }

  /** The element's clock has advanced. */
  #move(): void {
    this.#lastMs = this.#mediaMs;
    this.#movedAtMs = performance.now();
    this.#backoff.reset();
    // The last step of the clock may be seen after it has stalled.
    if (this.#canPlay || this.#state === 'connecting') this.#setState('playing');
  }

  #tick(): void {
    this.#look();
    const nowMs = performance.now();
    const hasBegun = this.#state !== 'connecting';
    if (!this.#canPlay || !hasBegun) this.#emptyAtMs = nowMs;
    const stoodMs = nowMs - this.#movedAtMs;
    const isSilent = nowMs - Math.max(this.#movedAtMs, this.#emptyAtMs) >= SILENT_MS;
    // `stalled` comes before the end, even if this tick is seconds late.
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
