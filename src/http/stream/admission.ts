/**
 * Admits listeners: checks signed URLs, counts listeners in total, per channel and per address, and asks the hook. A listener is counted before the
 * hook is asked, so that the hook is never asked about more listeners than there is room for.
 *
 *   signed? ─► room? ─► counted ─► hook? ─► may listen for limitMs
 *      403       503, or 302 to another node    401, 403, 503
 */

import type { KeyObject } from 'node:crypto';
import type { PlayableAudio } from '../../audio/playable-audio.js';
import type { Clock } from '../../base/clock.js';
import { originOf } from '../../base/ip.js';
import { Refusal, retryLater } from '../../base/refusal.js';
import { queryOf } from '../../base/request-target.js';
import { Tallies } from '../../base/tallies.js';
import type { Tally } from '../../base/tally.js';
import { LISTENERS_OF_CHANNELS, type ListenPolicy, type Mount } from '../../channel/mount.js';
import type { Audience } from '../../listener/cursor/audience.js';
import { basicCredentials } from '../../net/front/request-head.js';
import type { HookVerdict, ListenerHook } from '../hook/hook.js';
import type { HookListener } from '../hook/hook-call.js';
import { isSigned } from './signed.js';
import type { StreamRequest } from './stream-request.js';

/** Time limits are shortened by up to this share, so that a crowd that joined at once does not reconnect at once. */
const SPREAD = 0.1;
/** Maximum length of the User-Agent that the hook gets. */
const AGENT_CHARACTERS = 255;

/** The members of a mount that admission needs. */
export type GuardedMount = ListenPolicy & Pick<Mount, 'path' | 'audio'>;

/** A client that wants to listen. `url`: the path of the mount, with the query of the request. */
export type Applicant = Pick<StreamRequest, 'url' | 'address' | 'header'>;

export interface AdmissionOptions {
  readonly listeners: number;
  /** undefined: the limit of connections applies, since each listener has one. */
  readonly listenersPerAddress: number | undefined;
  /** Limit on connections from an address, which applies to listeners of HLS too. Absent: no limit. */
  connectionsFrom?(address: string): number;
  readonly keys: readonly KeyObject[];
  /** Retry-After while the hook is down. */
  readonly retrySeconds: number;
  /** Whether an operator has blocked the address. Absent: none is blocked. */
  isBlocked?(address: string): boolean;
  /** Shared with the other processes; absent: there are none. */
  readonly tallies?: Tallies;
}

/** What the hook has answered about a listener. */
interface HookOutcome {
  /** Null: it may listen. */
  readonly refusal: Refusal | null;
  /** How long it may listen. */
  readonly limitMs: number;
  /** Notifies the hook of the listener's end; null: the hook does not wait for that. */
  readonly onEnd: ((lastedMs: number) => void) | null;
}

/** An admitted listener, included in all counts, even while the hook is asked. Released once, by `leave` or `end`. */
export class Admitted {
  readonly #onFreed: () => void;
  readonly #audience: Audience;
  #audio: PlayableAudio;
  #limitMs: number;
  #onEnd: HookOutcome['onEnd'] = null;

  constructor(audience: Audience, audio: PlayableAudio, limitMs: number, onFreed: () => void) {
    this.#audience = audience;
    this.#audio = audio;
    this.#limitMs = limitMs;
    this.#onFreed = onFreed;
    audience.enter(audio);
  }

  get limitMs(): number {
    return this.#limitMs;
  }

  /** The hook has answered. */
  onAnswer({ limitMs, onEnd }: Pick<HookOutcome, 'limitMs' | 'onEnd'>): void {
    this.#limitMs = Math.min(this.#limitMs, limitMs);
    this.#onEnd = onEnd;
  }

  /** It waits for the audio of another channel instead, and is counted there. */
  moveTo(audio: PlayableAudio): void {
    if (audio === this.#audio) return;
    this.#audience.enter(audio);
    this.#audience.leave(this.#audio);
    this.#audio = audio;
  }

  /** Releases one that never played. */
  leave(): void {
    this.#audience.leave(this.#audio);
    this.end(0);
  }

  /** Releases it after it has left the audience. */
  readonly end = (lastedMs: number): void => {
    this.#onFreed();
    this.#onEnd?.(lastedMs);
  };
}

export class Admission {
  readonly #audience: Audience;
  readonly #clock: Clock;
  readonly #hook: () => ListenerHook | null;
  readonly #options: AdmissionOptions;
  readonly #all: Tally;
  readonly #byChannel: Tally;
  readonly #byOrigin: Tally;

  constructor(audience: Audience, clock: Clock, hook: () => ListenerHook | null, options: AdmissionOptions) {
    this.#audience = audience;
    this.#clock = clock;
    this.#hook = hook;
    this.#options = options;
    const tallies = options.tallies ?? new Tallies();
    this.#all = tallies.all;
    this.#byChannel = tallies.tally(LISTENERS_OF_CHANNELS);
    this.#byOrigin = tallies.tally('listeners');
    tallies.onLook(() => this.#all.set('listeners', audience.count));
  }

  /** @throws Refusal not-admitted if the address is blocked, or the URL needs a signature and has no valid one */
  check({ url, address }: Pick<Applicant, 'url' | 'address'>, { access, path }: GuardedMount): void {
    this.checkAddress(address);
    if (access !== 'signed') return;
    const query = new URLSearchParams(queryOf(url));
    if (!isSigned(this.#options.keys, path, query, this.#clock.wallMs())) throw notAdmitted();
  }

  /** Called again after each wait, since an operator may have blocked the address meanwhile. @throws Refusal not-admitted */
  checkAddress(address: string): void {
    if (this.#options.isBlocked?.(address) === true) throw notAdmitted();
  }

  /** Counts the listener; without room, returns the URL of another node that may have some. @param below see `room` @throws Refusal unavailable */
  enter(request: Applicant, mount: GuardedMount, below = ''): Admitted | string {
    const overflow = this.room(request, mount, below);
    if (overflow !== null) return overflow;
    const origin = originOf(request.address);
    this.#byOrigin.add(origin, 1);
    const limitMs = mount.maxListenMs * (1 - SPREAD * Math.random());
    return new Admitted(this.#audience, mount.audio, limitMs, () => this.#byOrigin.add(origin, -1));
  }

  /**
   * Null: there is room for one more; otherwise the URL of another node that may have some.
   * @param below the path after the mount, such as `/hls.m3u8` @throws Refusal unavailable
   */
  room(request: Applicant, mount: GuardedMount, below = ''): string | null {
    const { overflowUrl } = mount;
    const { listeners } = this.#options;
    const isFull = this.#audience.count + this.#all.others('listeners') >= listeners;
    if (isFull || !this.hasRoom(mount)) {
      if (overflowUrl !== undefined) return overflowTarget(overflowUrl, mount.path, request.url, below);
      throw retryLater('unavailable', `This ${isFull ? 'server' : 'channel'} has no room for more listeners.`, 30);
    }
    if (this.#byOrigin.count(originOf(request.address)) >= this.#maxFrom(request.address, below !== ''))
      throw retryLater('unavailable', 'Too many listeners from this address.', 30);
    return null;
  }

  /** @param isHls it has no connection of its own */
  #maxFrom(address: string, isHls: boolean): number {
    const otherwise = isHls ? this.#options.connectionsFrom?.(address) : undefined;
    return this.#options.listenersPerAddress ?? otherwise ?? Number.POSITIVE_INFINITY;
  }

  /** Whether one more listener may play this channel. */
  hasRoom({ audio, maxListeners }: Pick<Mount, 'audio' | 'maxListeners'>): boolean {
    return audio.listeners + this.#byChannel.others(audio.key) < maxListeners;
  }

  /** Asks the hook. Resolves with a refusal, or null if it allows the listener; never rejects. The listener remains counted. */
  async ask(request: Applicant, admitted: Admitted): Promise<Refusal | null> {
    const outcome = await this.#ask(request);
    admitted.onAnswer(outcome);
    return outcome.refusal;
  }

  /** The same for a HEAD, which is not counted: the hook is notified of the end at once. */
  async askForHead(request: Applicant): Promise<Refusal | null> {
    const { refusal, onEnd } = await this.#ask(request);
    onEnd?.(0);
    return refusal;
  }

  async #ask(request: Applicant): Promise<HookOutcome> {
    const hook = this.#hook()!;
    const given = request.header('authorization');
    const caller = callerOf(request, given);
    const { verdict, limitMs, client }: HookVerdict = await hook.ask(caller);
    const onEnd = client === null ? null : (lastedMs: number) => hook.gone(caller, client, lastedMs);
    return { refusal: this.#refusalOf(verdict, request, given !== undefined), limitMs, onEnd };
  }

  #refusalOf(verdict: HookVerdict['verdict'], { address }: Applicant, hasCredentials: boolean): Refusal | null {
    if (this.#options.isBlocked?.(address) === true) return notAdmitted();
    if (verdict === 'allowed') return null;
    if (verdict === 'down')
      return retryLater('unavailable', 'Listeners cannot be authorized at the moment.', this.#options.retrySeconds);
    if (hasCredentials) return notAdmitted();
    return new Refusal('unauthorized', 'This mount requires authorization.', {
      headers: { 'WWW-Authenticate': 'Basic realm="airsplice", charset="UTF-8"' },
    });
  }
}

function callerOf(request: Applicant, authorization: string | undefined): HookListener {
  const { user, password } = basicCredentials(authorization) ?? { user: '', password: '' };
  const agent = (request.header('user-agent') ?? '').slice(0, AGENT_CHARACTERS);
  return { mount: request.url, user, password, address: request.address, agent };
}

/** The URL of the same request at another node, with its query. */
function overflowTarget(overflowUrl: string, path: string, url: string, below: string): string {
  // Heads are parsed tolerantly: the target may contain characters that a URL may not.
  const query = queryOf(url).replace(/[^\x21-\x7e]+/g, encodeURIComponent);
  // Serialized, since a header contains only ASCII.
  const mount = new URL(overflowUrl.replaceAll('{mount}', path.slice(1))).href;
  const target = below === '' ? mount : mount.replace(/[?#]|$/, (end) => `${below}${end}`);
  return query === '' ? target : `${target}${target.includes('?') ? '&' : '?'}${query}`;
}

function notAdmitted(): Refusal {
  return new Refusal('not-admitted', 'You are not admitted to this mount.');
}
