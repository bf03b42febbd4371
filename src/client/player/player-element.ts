/**
 * `<airsplice-player channel="demo">`: the player of a channel as an element, which the pages of the server are made of and any other page may use
 * (src/client/README.md, "The element").
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

/** Of all on this page, the one that was asked to play last. */
let playing: AirsplicePlayer | null = null;

export class AirsplicePlayer extends HTMLElement {
  static readonly observedAttributes = ['channel', 'server', 'lang', 'query'];

  /** Origins of covers that the page lets in; null: all. For the lock screen. */
  static coverOrigins: readonly string[] | null = null;
  /** The root of the server whose page this is; null: it is a page of others. */
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

  /** What the listener hears; while nothing plays: what is live. Null: not known. */
  get now(): ChannelRecord | null {
    return this.#listening?.title ?? null;
  }

  /** What is live meanwhile. Null: not known. */
  get live(): ChannelRecord | null {
    return this.#listening?.live ?? null;
  }

  /** Whether it plays what was played before. */
  get isRewound(): boolean {
    return this.#listening?.isRewound === true;
  }

  get state(): ListeningState {
    return this.#listening?.state ?? 'loading';
  }

  /** Whether it plays, or waits to. */
  get isOn(): boolean {
    return this.#listening?.isOn ?? false;
  }

  get channel(): string {
    return this.getAttribute('channel') ?? '';
  }

  set channel(key: string) {
    if (key !== this.channel) this.setAttribute('channel', key);
  }

  /** To be called by a listener's action: browsers let no page play otherwise. */
  play(): void {
    this.#listening?.play();
  }

  stop(): void {
    this.#listening?.stop();
  }

  /** Plays what was played before, from there on, where the channel has a rewind. To be called by a listener's action. */
  playFrom(startAt: StartPlace): void {
    this.#listening?.playFrom(startAt);
  }

  /** Titles that a page came with. */
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
    // An element that is upgraded is connected already, and begins when that is said.
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
    this.#view.frameOf = isHome ? (url) => addressOf(root, `web/cover?url=${encodeURIComponent(url)}`).href : null;
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

  /** On a page of the server it is loaded by `fetch`: the policy there lets in no image of the server itself, which a cover might lead to. */
  #takeLogo(): void {
    const path = this.#listening?.facts?.logo ?? '';
    if (path === this.#logoUrl) return;
    this.#logoUrl = path;
    this.#logo = '';
    if (path === '') return;
    const url = addressOf(this.#root, path);
    if (this.#view.frameOf === null) this.#logo = url.href;
    else
      void loadPicture(url).then((logo) => {
        if (this.#logoUrl !== path) return;
        this.#logo = logo;
        this.#show();
      });
  }

  /** On a page of the server a cover of its own folder is loaded as the logo is. */
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
