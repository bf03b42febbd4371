/**
 * `<airsplice-player channel="demo">`: the player of a channel as an element, for the server's own pages and any other page (src/client/README.md,
 * "The element"). Fires `change` after each change of `state` and `now`, which are in its `detail`.
 */

import { addressOf, rootOf } from '../browser.js';
import type { ChannelRecord, StartPlace } from '../types.js';
import { ChannelListening } from './channel-listening.js';
import type { ListeningState } from './listening-state.js';
import { isOwnCover, LatestCover, loadPicture } from './loaded-picture.js';
import { STYLE } from './player-style.js';
import { ENGLISH, textsOf } from './player-texts.js';
import { type PlayerSnapshot, PlayerView } from './player-view.js';

export type { ChannelRecord, ListeningState };

/** Where the module comes from: the default of `server`. */
const HOME = new URL('.', import.meta.url);
const TICK_MS = 1000;

/** The player of this page that was started last. */
let playing: AirsplicePlayer | null = null;

export class AirsplicePlayer extends HTMLElement {
  static readonly observedAttributes = ['channel', 'server', 'lang', 'query'];

  /** Origins of covers for the lock screen that the page's Content-Security-Policy allows; null: all. */
  static coverOrigins: readonly string[] | null = null;
  /** The root of the server if this is one of its own pages; null: it is another page. */
  static home: URL | null = null;

  readonly #view: PlayerView;
  readonly #theme = Object.assign(document.createElement('link'), { rel: 'stylesheet' });
  #listening: ChannelListening | null = null;
  #ticker: ReturnType<typeof setInterval> | undefined;
  #isHere = false;
  readonly #cover = new LatestCover();
  #logoUrl = '';
  #logo = '';
  #primed: readonly [ChannelRecord | null, ChannelRecord | null] = [null, null];

  constructor() {
    super();
    this.#view = new PlayerView(ENGLISH, {
      onPlay: () => this.play(),
      onStop: () => this.stop(),
      onLive: () => this.#listening?.goLive(),
    });
    const shadow = this.attachShadow({ mode: 'open' });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    shadow.adoptedStyleSheets = [sheet];
    shadow.append(this.#view.root);
  }

  /** The title that the listener hears; while nothing plays, the live one. Null: not known. */
  get now(): ChannelRecord | null {
    return this.#listening?.title ?? null;
  }

  /** The live title, whatever the listener hears. Null: not known. */
  get live(): ChannelRecord | null {
    return this.#listening?.live ?? null;
  }

  /** Whether it plays the channel's rewind (`playFrom`), not live. */
  get isRewound(): boolean {
    return this.#listening?.isRewound === true;
  }

  /** What the player shows its listener; each change fires `change`. */
  get state(): ListeningState {
    return this.#listening?.state ?? 'loading';
  }

  /** Whether it plays, or waits to. */
  get isOn(): boolean {
    return this.#listening?.isOn ?? false;
  }

  /** The channel's key: the attribute of this name. */
  get channel(): string {
    return this.getAttribute('channel') ?? '';
  }

  set channel(key: string) {
    if (key !== this.channel) this.setAttribute('channel', key);
  }

  /** Plays, as soon as there is audio. Call it in a user gesture, such as a click: browsers forbid it otherwise. Stops other players of the page. */
  play(): void {
    this.#listening?.play();
  }

  /** Stops playing, and waiting for audio. */
  stop(): void {
    this.#listening?.stop();
  }

  /** Plays the channel's rewind from there on, if it has one; `stop` ends that. Call it in a user gesture. */
  playFrom(startAt: StartPlace): void {
    this.#listening?.playFrom(startAt);
  }

  /** Takes the titles that the page was served with, to show until newer ones arrive. */
  prime(now: ChannelRecord | null, next: ChannelRecord | null): void {
    this.#primed = [now, next];
    this.#listening?.prime(now, next);
    this.#show();
  }

  connectedCallback(): void {
    this.#isHere = true;
    this.#begin();
    clearInterval(this.#ticker);
    this.#ticker = setInterval(() => {
      const snapshot = this.#snapshot;
      if (snapshot !== null) this.#view.showTimes(snapshot);
    }, TICK_MS);
  }

  disconnectedCallback(): void {
    this.#isHere = false;
    clearInterval(this.#ticker);
    this.#end();
  }

  attributeChangedCallback(name: string, before: string | null, after: string | null): void {
    // Attributes of an upgraded element are reported before connectedCallback, which begins.
    if (!this.#isHere || before === after) return;
    if (name === 'lang') this.#loadTexts();
    else {
      this.#primed = [null, null];
      this.#begin();
    }
  }

  get #root(): URL {
    const server = this.getAttribute('server');
    return server === null ? (AirsplicePlayer.home ?? HOME) : rootOf(new URL(server, document.baseURI));
  }

  #begin(): void {
    this.#end();
    const { channel } = this;
    if (channel === '') return;
    const root = this.#root;
    const isHome = root.href === AirsplicePlayer.home?.href;
    this.#view.frameRoot = isHome ? root : null;
    this.#view.setLogo('', channel);
    // The station's colours, which the server's own pages have already.
    this.#theme.remove();
    this.#theme.href = addressOf(root, 'web/theme.css').href;
    if (!isHome) this.shadowRoot!.prepend(this.#theme);
    this.#listening = new ChannelListening({
      audio: this.#view.audio,
      root,
      channel,
      query: this.getAttribute('query') ?? '',
      artwork: (record) => this.#artwork(record),
      onChange: () => this.#show(),
      onPlay: () => {
        if (playing !== this) playing?.stop();
        playing = this;
      },
    });
    this.#listening.prime(...this.#primed);
    this.#loadTexts();
    this.#show();
  }

  #end(): void {
    if (playing === this) playing = null;
    this.#listening?.close();
    this.#listening = null;
  }

  #loadTexts(): void {
    const language = this.getAttribute('lang') || document.documentElement.lang || 'en';
    void textsOf(this.#root, language).then((texts) => {
      this.#view.setTexts(texts);
      this.#show();
    });
  }

  get #snapshot(): PlayerSnapshot | null {
    const listening = this.#listening;
    if (listening === null) return null;
    const { state, isOn, title, next, live, isLive, isRewound, liveSeconds, lagSeconds, elapsedSeconds, facts } =
      listening;
    const times = { liveSeconds, lagSeconds, elapsedSeconds };
    const name = facts?.name ?? title?.channel ?? '';
    return { state, isOn, name, logo: this.#logo, title, next, live, isLive, isRewound, ...times };
  }

  #show(): void {
    const snapshot = this.#snapshot;
    if (snapshot === null) return;
    this.#takeLogo();
    this.#view.setLogo(this.#logo, this.channel);
    this.#view.show(snapshot);
    this.dispatchEvent(new CustomEvent('change', { detail: { state: snapshot.state, now: snapshot.title } }));
  }

  /** On the server's own pages the logo is loaded by `fetch`: their policy allows no image from the server, as a cover could name any of its URLs. */
  #takeLogo(): void {
    const path = this.#listening?.facts?.logo ?? '';
    if (path === this.#logoUrl) return;
    this.#logoUrl = path;
    this.#logo = '';
    if (path === '') return;
    const url = addressOf(this.#root, path);
    if (this.#view.frameRoot === null) this.#logo = url.href;
    else
      void loadPicture(url).then((logo) => {
        if (this.#logoUrl !== path) return;
        this.#logo = logo;
        this.#show();
      });
  }

  /** On the server's own pages a cover from a channel's folder is loaded in the same way as the logo. */
  #artwork(record: ChannelRecord): readonly string[] | Promise<readonly string[]> {
    const origins = AirsplicePlayer.coverOrigins;
    const isAllowed = (url: string) => origins === null || (URL.canParse(url) && origins.includes(new URL(url).origin));
    const { cover, images } = record;
    const all = [cover, images.large, images.medium, images.small].filter((url) => url !== '');
    const covers = all.filter(isAllowed);
    if (covers.length > 0) return covers;
    const own = origins === null ? undefined : all.find((url) => isOwnCover(url, this.#root));
    const loaded = own === undefined ? '' : this.#cover.load(own);
    const orLogo = (picture: string) => [picture, this.#logo].filter((each) => each !== '').slice(0, 1);
    return typeof loaded === 'string' ? orLogo(loaded) : loaded.then(orLogo);
  }
}
