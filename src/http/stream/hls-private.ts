/**
 * Private listeners of HLS: a client that requests the multivariant playlist with a metaid or a signature, or at a mount that is not open, is
 * admitted like a listener of the stream (admission.ts), and gets the address of a media playlist of its own. The segments in it are shared.
 *
 *   M/hls.m3u8?metaid= ─► signed? room? hook? ─► counted, a session ─► hls/live.m3u8?s={token}  ─ repeated ─► present
 *
 * Players request a multivariant playlist twice, perhaps from two processes. So the token is derived from the name of the player, if it has one, by a
 * key that only the server's processes have, and a second request with the same token belongs to the same listener.
 */

import { createHmac, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../../base/log.js';
import { Refusal, shuttingDown } from '../../base/refusal.js';
import { parameter, queryOf, targetOf } from '../../base/request-target.js';
import type { Mount } from '../../channel/mount.js';
import type { HlsListener } from '../../listener/hls/hls-listener.js';
import type { HlsListeners } from '../../listener/hls/hls-listeners.js';
import type { ListenerRequest } from '../../listener/listener-stats.js';
import { playerKey, type SharedPlayers } from '../../listener/sessions/shared-players.js';
import type { Proxies } from '../../net/front/client-address.js';
import type { WaitingRequests } from '../waiting-requests.js';
import type { Admission, Admitted, Applicant } from './admission.js';
import { clientOf, metaidOf } from './player-request.js';

/** With one of these a request is a private listener's, even at an open mount. */
const PARAMETERS = ['metaid', 'sabcsid', 's', 'sig'] as const;
const TOKEN = /^[A-Za-z0-9_-]{22}$/;
const TOKEN_BYTES = 16;
/** How long to wait for news of a token that another process may just have issued. */
const TOKEN_WAIT_MS = 1000;
const RETRY_SECONDS = 2;

export interface HlsPrivateParts {
  readonly admission: Admission;
  readonly listeners: HlsListeners;
  /** The players of all processes; null: there is only one process. */
  readonly players: SharedPlayers | null;
  readonly proxies: Pick<Proxies, 'ofRequest'>;
  /** Requests that wait for a first segment. */
  readonly waiting: WaitingRequests;
  /** Those with an unknown token: a limit of their own, since anybody can invent tokens. */
  readonly unknown: WaitingRequests;
  /** With it all processes derive the same token; null: not known yet, so a second request of a player gets another token. */
  tokenKey(): Buffer | null;
  readonly log: Log;
}

/** The outcome of an admission. */
export type Admittance =
  | { readonly token: string }
  /** Another node may have room. */
  | { readonly location: string }
  /** The client has gone. */
  | null;

/** A player that requests a private media playlist. */
export interface PrivatePlayer {
  /** The playlist is sent to it. */
  onSent(bytes: number): void;
}

export class HlsPrivate {
  readonly #parts: HlsPrivateParts;

  constructor(parts: HlsPrivateParts) {
    this.#parts = parts;
  }

  /** Whether a request for the multivariant playlist is one of a private listener. */
  isPrivate(url: string, { access }: Mount): boolean {
    return access !== 'open' || (url.includes('?') && PARAMETERS.some((name) => parameter(url, name) !== null));
  }

  /**
   * Admits a player for its multivariant playlist. HEAD is checked like GET, but not counted. Rejects with a Refusal.
   * @param below the path after the mount @param whenListed resolves when there is a segment to list; rejects with a Refusal
   */
  async admit(
    request: IncomingMessage,
    response: ServerResponse,
    mount: Mount,
    below: string,
    whenListed: () => Promise<void>,
  ): Promise<Admittance> {
    const { admission, log, waiting, tokenKey } = this.#parts;
    if (waiting.isClosed) throw shuttingDown(RETRY_SECONDS);
    const applicant = this.#applicant(request, mount);
    admission.check(applicant, mount);
    const token = tokenOf(applicant, mount, tokenKey());
    if (this.#isThere(token, mount)) return { token };
    if (request.method === 'HEAD') return this.#admitHead(applicant, mount, below, token);
    const admitted = admission.enter(applicant, mount, below);
    if (typeof admitted === 'string') {
      log.debug({ mount: mount.path, hls: true }, 'listener sent to the overflow');
      return { location: admitted };
    }
    try {
      const refusal = mount.access === 'hook' ? await admission.ask(applicant, admitted) : null;
      if (refusal !== null) throw refusal;
      await whenListed();
      admission.checkAddress(applicant.address);
      if (waiting.isClosed) throw shuttingDown(RETRY_SECONDS);
    } catch (error) {
      admitted.leave();
      throw error;
    }
    // Its second request may have been faster, here or in another process.
    if (this.#isThere(token, mount) || response.destroyed) admitted.leave();
    else this.#open(applicant, mount, below, token, admitted);
    return response.destroyed ? null : { token };
  }

  /** Finds the player of a token in a request for a media playlist, and calls back once. @throws Refusal */
  player(
    token: string,
    mount: Mount,
    response: ServerResponse,
    onKnown: (player: PrivatePlayer) => void,
    onRefused: (refusal: Refusal) => void,
  ): void {
    const { listeners, players, unknown } = this.#parts;
    const listener = TOKEN.test(token) ? listeners.find(token, mount) : undefined;
    if (listener !== undefined) {
      listeners.ask(listener, mount);
      onKnown(this.#ownPlayer(listener, mount));
      return;
    }
    if (players === null || !TOKEN.test(token)) throw unknownToken();
    const key = playerKey(token, mount.path, mount.audio.key);
    const onRemote = () => onKnown({ onSent: (bytes) => players.asked(key, bytes) });
    if (players.has(key)) {
      onRemote();
      return;
    }
    const held = unknown.hold(response, TOKEN_WAIT_MS, () => {
      cancel();
      if (response.destroyed) return;
      if (players.has(key)) onRemote();
      else onRefused(unknown.isClosed ? shuttingDown(RETRY_SECONDS) : unknownToken());
    });
    if (held === null) throw unknownToken();
    const cancel = players.await(key, () => held.end());
  }

  #ownPlayer(listener: HlsListener, mount: Mount): PrivatePlayer {
    return { onSent: (bytes) => this.#parts.listeners.send(listener, mount, bytes) };
  }

  /** Whether the player was admitted, here or in another process. Keeps it alive. */
  #isThere(token: string, mount: Mount): boolean {
    const { listeners, players } = this.#parts;
    const listener = listeners.find(token, mount);
    if (listener !== undefined) listeners.ask(listener, mount);
    return listener !== undefined || players?.has(playerKey(token, mount.path, mount.audio.key)) === true;
  }

  async #admitHead(applicant: ListenerRequest, mount: Mount, below: string, token: string): Promise<Admittance> {
    const { admission } = this.#parts;
    const location = admission.room(applicant, mount, below);
    if (location !== null) return { location };
    if (mount.access !== 'hook') return { token };
    const refusal = await admission.askForHead(applicant);
    if (refusal !== null) throw refusal;
    return { token };
  }

  #open(applicant: ListenerRequest, mount: Mount, below: string, token: string, admitted: Admitted): void {
    const { listeners, log } = this.#parts;
    const metaid = metaidOf(applicant);
    listeners.open({
      token,
      source: mount,
      client: clientOf(applicant, mount),
      metaid,
      request: { ...applicant, url: targetOf({ path: `${mount.path}${below}`, query: queryOf(applicant.url) }) },
      limitMs: admitted.limitMs,
      onEnd: admitted.end,
    });
    log.debug(
      { address: applicant.address, channel: mount.audio.key, mount: mount.path, hls: true },
      'listener joined',
    );
  }

  /** With the configured spelling of the mount, for the hook and signatures. */
  #applicant(request: IncomingMessage, mount: Mount): ListenerRequest {
    const { headers, method, url } = request;
    return {
      method: method!,
      url: targetOf({ path: mount.path, query: queryOf(url!) }),
      address: this.#parts.proxies.ofRequest(request),
      header: (name) => {
        const value = headers[name];
        return Array.isArray(value) ? value.at(-1) : value;
      },
    };
  }
}

/** The token in the URL of a media playlist; null: the shared one. */
export function askedToken(url: string): string | null {
  return url.includes('?') ? parameter(url, 's') : null;
}

/** The same for equal requests of a player with a name; else random. */
function tokenOf(applicant: Applicant, { path }: Mount, key: Buffer | null): string {
  const name = metaidOf(applicant) ?? applicant.header('x-playback-session-id') ?? '';
  if (name === '' || key === null) return randomBytes(TOKEN_BYTES).toString('base64url');
  const { url, address } = applicant;
  const whole = JSON.stringify([path, name, url, applicant.header('authorization') ?? '', address]);
  return createHmac('sha256', key).update(whole).digest().subarray(0, TOKEN_BYTES).toString('base64url');
}

/** The player then begins anew with the multivariant playlist. */
function unknownToken(): Refusal {
  return new Refusal('not-admitted', 'This playlist belongs to no listener: begin with hls.m3u8.');
}
