/**
 * Which listeners are admitted, and whether there is room: counts listeners in all, of a channel and of an address, looks at signed URLs, and asks
 * the hook. A place is taken before the hook is asked, so that no more are asked about than there is room for.
 *
 *   signed? ─► room? ─► place ─► hook? ─► may listen for limitMs
 *      403       503, or 302 to another node   401, 403, 503
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
import type { HookVerdict, ListenerHook } from './hook.js';
import type { HookListener } from './hook-call.js';
import { isSigned } from './signed.js';
import type { StreamRequest } from './stream-request.js';

/** A crowd that came at once does not come back at once: times are shortened by up to this share. */
const SPREAD = 0.1;
/** Of a player's User-Agent, for the hook. */
const AGENT_CHARACTERS = 255;

/** What must be known of a mount. */
type GuardedMount = ListenPolicy & Pick<Mount, 'path' | 'audio'>;

export interface AdmissionOptions {
  readonly listeners: number;
  readonly listenersPerAddress: number;
  readonly keys: readonly KeyObject[];
  /** Seconds to wait when the hook is down. */
  readonly retrySeconds: number;
  /** Whether an operator has blocked the address. Absent: nobody is. */
  isBlocked?(address: string): boolean;
  /** With the other processes; absent: there are none. */
  readonly tallies?: Tallies;
}

/** A listener's place, from before it is known whether it may listen. Given back once, by `leave` or `end`. */
export class Place {
  limitMs: number;
  readonly #onFreed: () => void;
  readonly #audience: Audience;
  #audio: PlayableAudio;
  /** Called when the listener has gone; set when the hook knows it. */
  onEnd: ((lastedMs: number) => void) | null = null;

  constructor(audience: Audience, audio: PlayableAudio, limitMs: number, onFreed: () => void) {
    this.#audience = audience;
    this.#audio = audio;
    this.limitMs = limitMs;
    this.#onFreed = onFreed;
    audience.enter(audio);
  }

  /** It waits for another channel's audio. */
  moveTo(audio: PlayableAudio): void {
    if (audio === this.#audio) return;
    this.#audience.enter(audio);
    this.#audience.leave(this.#audio);
    this.#audio = audio;
  }

  /** It has not played, and does not come. */
  leave(): void {
    this.#audience.leave(this.#audio);
    this.end(0);
  }

  /** It has played; the audience has let it go. */
  readonly end = (lastedMs: number): void => {
    this.#onFreed();
    this.onEnd?.(lastedMs);
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

  /** @throws Refusal not-admitted, where the URL has to be signed and is not, or the address is blocked */
  check({ url, address }: StreamRequest, { access, path }: GuardedMount): void {
    if (this.#options.isBlocked?.(address) === true) throw notAdmitted();
    if (access !== 'signed') return;
    const query = new URLSearchParams(queryOf(url));
    if (!isSigned(this.#options.keys, path, query, this.#clock.wallMs())) throw notAdmitted();
  }

  /** A place, or the URL of another node that may have one. @throws Refusal unavailable */
  enter(request: StreamRequest, mount: GuardedMount): Place | string {
    const elsewhere = this.room(request, mount);
    if (elsewhere !== null) return elsewhere;
    const origin = originOf(request.address);
    this.#byOrigin.add(origin, 1);
    const limitMs = mount.maxListenMs * (1 - SPREAD * Math.random());
    return new Place(this.#audience, mount.audio, limitMs, () => this.#byOrigin.add(origin, -1));
  }

  /** Null: there is room for one more; else the URL of another node that may have some. @throws Refusal unavailable */
  room(request: StreamRequest, mount: GuardedMount): string | null {
    const { overflowUrl } = mount;
    const { listeners, listenersPerAddress } = this.#options;
    const isFull = this.#audience.count + this.#all.others('listeners') >= listeners;
    if (isFull || !this.hasRoom(mount)) {
      if (overflowUrl !== undefined) return elsewhere(overflowUrl, mount.path, request.url);
      throw retryLater('unavailable', `This ${isFull ? 'server' : 'channel'} has no room for more listeners.`, 30);
    }
    if (this.#byOrigin.count(originOf(request.address)) >= listenersPerAddress)
      throw retryLater('unavailable', 'Too many listeners from this address.', 30);
    return null;
  }

  /** Whether one more may play there. */
  hasRoom({ audio, maxListeners }: Pick<Mount, 'audio' | 'maxListeners'>): boolean {
    return audio.listeners + this.#byChannel.others(audio.key) < maxListeners;
  }

  /** Asks the hook; resolves with why it may not listen, or null. Never rejects. The place stays taken. */
  async ask(request: StreamRequest, place: Pick<Place, 'limitMs' | 'onEnd'>): Promise<Refusal | null> {
    const hook = this.#hook()!;
    const given = request.header('authorization');
    const caller = callerOf(request, given);
    const { verdict, limitMs, client }: HookVerdict = await hook.ask(caller);
    if (client !== null) place.onEnd = (lastedMs) => hook.gone(caller, client, lastedMs);
    place.limitMs = Math.min(place.limitMs, limitMs);
    if (verdict === 'allowed') return null;
    if (verdict === 'down')
      return retryLater('unavailable', 'It cannot be found out now who may listen.', this.#options.retrySeconds);
    if (given !== undefined) return notAdmitted();
    return new Refusal('unauthorized', 'This mount is not open to all.', {
      headers: { 'WWW-Authenticate': 'Basic realm="airsplice", charset="UTF-8"' },
    });
  }
}

function callerOf(request: StreamRequest, authorization: string | undefined): HookListener {
  const { user, password } = basicCredentials(authorization) ?? { user: '', password: '' };
  const agent = (request.header('user-agent') ?? '').slice(0, AGENT_CHARACTERS);
  return { mount: request.url, user, password, address: request.address, agent };
}

/** The same request at another node: its query goes along. */
function elsewhere(overflowUrl: string, path: string, url: string): string {
  // Tolerant headers may hold more than a URL may.
  const query = queryOf(url).replace(/[^\x21-\x7e]+/g, encodeURIComponent);
  const there = overflowUrl.replaceAll('{mount}', path.slice(1));
  return query === '' ? there : `${there}${there.includes('?') ? '&' : '?'}${query}`;
}

function notAdmitted(): Refusal {
  return new Refusal('not-admitted', 'This address does not let you in.');
}
