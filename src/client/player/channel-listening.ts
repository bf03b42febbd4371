/**
 * One listener at one channel: what it hears, what is live meanwhile, and why nothing plays, if that is so.
 *
 *   play ─► connecting ─► playing ⇄ stalled
 *              │ breaks off: why?  HEAD of the mount
 *              └─► members, codec: it is over    full, off air, away: it waits, and plays as soon as that is possible
 *
 * Invariant: the state is never `ready` while the server reports no audio, or does not answer.
 */

import { addressOf } from '../browser.js';
import type { ArtworkOf, ChannelRecord, PlayState, StartPlace } from '../types.js';
import { type ChannelDirectory, type DirectoryChannel, directoryOf } from './channel-directory.js';
import { ChannelPlayer } from './channel-player.js';
import type { ListeningState } from './listening-state.js';
import { LiveTitles } from './live-titles.js';
import { canPlay, type SilenceReason, whySilent } from './silence-reason.js';
import { isSamePlay, isSameTitle, progressOf } from './title-facts.js';

const FULL_RETRY_MS = 15_000;
const PLAYING: readonly PlayState[] = ['connecting', 'playing', 'stalled'];

export interface ChannelListeningOptions {
  readonly audio: HTMLAudioElement;
  readonly root: URL;
  readonly channel: string;
  /** The query of the stream's URL: a signature, or data for a hook; "": none. */
  readonly query: string;
  /** Pictures of a title for the lock screen. */
  readonly artwork: ArtworkOf;
  readonly onChange: () => void;
  /** The listener has started it. */
  readonly onPlay: () => void;
}

export class ChannelListening {
  readonly channel: string;
  readonly #options: ChannelListeningOptions;
  readonly #directory: ChannelDirectory;
  readonly #unsubscribe: () => void;
  readonly #titles: LiveTitles;
  #player: ChannelPlayer | null = null;
  #play: PlayState = 'stopped';
  /** The listener wants to hear it: it has pressed play, and not stop. */
  #wants = false;
  #reason: SilenceReason | null = null;
  #ownNext: ChannelRecord | null = null;
  /** The title heard; until the first one of a play is known, the one that was live when it began. */
  #heard: ChannelRecord | null = null;
  /** The audio's clock when the title began to be heard, seconds; NaN: it had begun before. */
  #heardAt = Number.NaN;
  /** The next title is the first one of this play. */
  #isFirst = true;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  /** Whether, by the directory's last answer, there is audio that this browser can play. */
  #isThere = false;

  constructor(options: ChannelListeningOptions) {
    const { root, channel, onChange } = options;
    this.channel = channel;
    this.#options = options;
    this.#directory = directoryOf(root);
    this.#titles = new LiveTitles({ root, channel, onChange, onLost: () => this.#directory.check() });
    this.#unsubscribe = this.#directory.subscribe({
      channel,
      pace: () => (this.#isWaiting ? 'waiting' : this.#isHearing ? 'hearing' : 'looking'),
      onChange: () => this.#onDirectory(),
    });
    this.#attach();
  }

  get facts(): DirectoryChannel | undefined {
    return this.#directory.get(this.channel);
  }

  get state(): ListeningState {
    const { facts } = this;
    if (this.#play === 'playing' || this.#play === 'stalled') return this.#play;
    if (this.#directory.isAway) return 'away';
    if (facts === undefined) return this.#titles.isMissing ? 'missing' : 'loading';
    if (this.#reason === 'members' || this.#reason === 'codec') return this.#reason;
    if (!facts.onAir) return 'offAir';
    if (this.#reason !== null) return this.#reason;
    if (!canPlay(this.#options.audio, facts)) return 'codec';
    if (this.#play === 'stopped' || this.#play === 'paused') return this.#wants ? 'connecting' : 'ready';
    return this.#play;
  }

  /** Whether the button stops: it plays, or waits to. */
  get isOn(): boolean {
    return this.#wants;
  }

  /** The title that this listener hears; while nothing plays, the live one. */
  get title(): ChannelRecord | null {
    return this.#isHearing ? this.#heard : this.#titles.now;
  }

  get live(): ChannelRecord | null {
    return this.#titles.now;
  }

  get isLive(): boolean {
    return isSameTitle(this.title, this.#titles.now);
  }

  get next(): ChannelRecord | null {
    return (this.#isHearing && this.#ownNext) || (this.isRewound ? null : this.#titles.next);
  }

  /** How long the live title has been in force, seconds; NaN: not known. */
  get liveSeconds(): number {
    return this.#titles.seconds;
  }

  /** How far playback is behind the received audio, seconds; 0 in a rewind. */
  get lagSeconds(): number {
    if (this.isRewound) return 0;
    const { buffered, currentTime } = this.#options.audio;
    return buffered.length === 0 ? 0 : Math.max(0, buffered.end(buffered.length - 1) - currentTime);
  }

  /** How much of the title has been played, seconds; NaN: not known, or it is over. */
  get elapsedSeconds(): number {
    const title = this.title;
    if (title === null || !(title.durationSeconds > 0)) return Number.NaN;
    const lag = this.#isHearing ? this.lagSeconds : 0;
    const heard = this.#isHearing ? this.#options.audio.currentTime - this.#heardAt : Number.NaN;
    const since = Number.isNaN(heard) ? (this.#directory.serverMs - title.startMs) / 1000 - lag : heard;
    return progressOf(title.durationSeconds, since);
  }

  /** Takes the titles that the page was served with. */
  prime(now: ChannelRecord | null, next: ChannelRecord | null): void {
    this.#titles.prime(now, next);
  }

  play(): void {
    this.#wants = true;
    this.#reason = null;
    if (this.#player === null) this.#directory.check();
    this.#start();
    this.#options.onPlay();
    this.#options.onChange();
  }

  /** Whether it plays the channel's rewind. */
  get isRewound(): boolean {
    return this.#player?.isRewound === true;
  }

  /** Plays the channel's rewind from there on, if it has one. Called in a user gesture, as browsers require. */
  playFrom(startAt: StartPlace): void {
    const rewind = this.facts?.rewind;
    if (!rewind || this.#player === null) return;
    this.#rest();
    this.#wants = true;
    this.#options.onPlay();
    this.#player.rewind(rewind.path, startAt).catch(this.#onRefused);
  }

  /** Plays live again after a rewind. Called in a user gesture. */
  goLive(): void {
    this.#player?.live();
    this.play();
  }

  stop(): void {
    this.#wants = false;
    this.#rest();
    this.#player?.stop();
    this.#player?.live();
    this.#options.onChange();
  }

  close(): void {
    this.#wants = false;
    this.#rest();
    this.#unsubscribe();
    this.#titles.close();
    this.#player?.close();
    this.#player = null;
  }

  get #isHearing(): boolean {
    return PLAYING.includes(this.#play);
  }

  get #isWaiting(): boolean {
    return this.#wants && !this.#isHearing;
  }

  #rest(): void {
    clearTimeout(this.#retryTimer);
    this.#reason = null;
  }

  #attach(): void {
    const facts = this.facts;
    if (this.#player !== null || facts === undefined) return;
    const { audio, root, artwork } = this.#options;
    this.#player = new ChannelPlayer(
      audio,
      root,
      { mount: this.#pathOf(facts), hls: facts.hls },
      {
        artwork,
        onNow: (record) => this.#onHeard(record),
        onNext: (record) => {
          this.#ownNext = record;
          this.#options.onChange();
        },
        onState: (state) => this.#onPlay(state),
      },
    );
  }

  #start(): void {
    clearTimeout(this.#retryTimer);
    this.#player?.play().catch(this.#onRefused);
  }

  /** The browser requires a user gesture. Other failures are reported as states. */
  readonly #onRefused = ({ name }: { readonly name?: string }) => name === 'NotAllowedError' && this.stop();

  #onDirectory(): void {
    this.#attach();
    const facts = this.facts;
    if (facts?.onAir === false && this.#reason === 'full') this.#rest();
    const wasThere = this.#isThere;
    this.#isThere = facts?.onAir === true && !this.#directory.isAway && canPlay(this.#options.audio, facts);
    const mayPlay = this.#isWaiting && this.#reason === null && this.#isThere;
    // If there was audio before, the attachment retries by itself, at its own pace, until it has failed.
    if (mayPlay && (!wasThere || this.#play === 'stopped')) this.#start();
    else if (mayPlay && this.#play === 'failed') this.#wants = false;
    this.#options.onChange();
  }

  #onHeard(record: ChannelRecord): void {
    if (this.#isFirst || this.#heard === null || !isSamePlay(this.#heard, record)) {
      const isAtJoin = this.#isFirst && !this.isRewound && (record.positionMs === null || record.positionMs === 0);
      this.#heardAt = isAtJoin ? Number.NaN : this.#options.audio.currentTime;
    }
    this.#isFirst = false;
    this.#heard = record;
    this.#options.onChange();
  }

  #onPlay(state: PlayState): void {
    const before = this.#play;
    this.#play = state;
    if (state === 'connecting' && !this.#wants) {
      this.#wants = true; // by the media keys
      this.#options.onPlay();
    }
    if (state === 'connecting' && before !== 'connecting') {
      this.#isFirst = true;
      this.#heard = this.isRewound ? null : this.#titles.now;
      this.#ownNext = null;
      this.#heardAt = Number.NaN;
    }
    if (state === 'playing') this.#reason = null;
    // By the media keys, or by the listener.
    if (state === 'stopped' && this.#reason === null) this.#wants = false;
    if (state === 'retrying' || state === 'failed') void this.#diagnose();
    this.#directory.hurry();
    this.#options.onChange();
  }

  async #diagnose(): Promise<void> {
    const facts = this.facts;
    this.#directory.check();
    if (facts === undefined) return;
    const reason = await whySilent(addressOf(this.#options.root, this.#pathOf(facts)), this.#options.audio);
    if (reason === null || !this.#isWaiting || (reason === 'full' && this.facts?.onAir === false)) return;
    if (reason === 'full') this.#wait();
    else if (reason === 'members' || facts.hls === '') this.#giveUp(reason);
  }

  #giveUp(reason: SilenceReason): void {
    this.#reason = reason;
    this.#wants = false;
    this.#player?.stop();
    this.#options.onChange();
  }

  /** Waits for a place on a full server. */
  #wait(): void {
    this.#reason = 'full';
    this.#player?.stop();
    clearTimeout(this.#retryTimer);
    this.#retryTimer = setTimeout(() => this.#start(), FULL_RETRY_MS * (0.5 + Math.random()));
    this.#options.onChange();
  }

  #pathOf({ mount }: DirectoryChannel): string {
    const { query } = this.#options;
    return query === '' ? mount : `${mount}?${query}`;
  }
}
