/**
 * One try at one URL of the configuration: requests it, follows redirects, reads playlists and requests their entries in order, until
 * one of them delivers; then passes on its audio and titles until it ends. What one URL can lead to is bounded: redirects, entries in
 * total, nested lists, bytes, and the time for each.
 *
 * Invariant: `onEnded` is the last call to the sink, and comes once; after `close` nothing is called. Owned by pull-source.ts.
 */

import type { Frame } from '../audio/frames/frame.js';
import type { Alarm, Clock } from '../base/clock.js';
import { decodeUndeclared } from '../metadata/text.js';
import { Outbound } from '../net/outbound/outbound.js';
import type { ConnectionOptions } from '../net/outbound/outbound-connection.js';
import type { Target } from '../net/outbound/target.js';
import type { Intake } from './intake.js';
import { Reception, type ReceptionRules, type ReceptionSink } from './reception.js';
import type { SourceTitle } from './source.js';
import type { SourceFacts } from './source-facts-schema.js';
import { isPlaylist, readPlaylist } from './upstream-playlist.js';

const HEADERS = { 'icy-metadata': '1', 'user-agent': 'airsplice', accept: '*/*' };
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

export interface UpstreamRules extends ConnectionOptions, ReceptionRules {
  /** From the first packet to the end of the head, with redirects and a playlist's text. */
  readonly connectTimeoutMs: number;
  /** Redirects followed, one after the other. */
  readonly redirects: number;
  readonly playlistBytes: number;
  /** Entries of playlists that are requested in one try. */
  readonly playlistEntries: number;
  /** 1: the entries of a playlist must be streams. */
  readonly playlistDepth: number;
}

export interface UpstreamSink {
  /** As ReceptionSink has them. */
  onFrame(from: Upstream, frame: Frame): number;
  onTitle(from: Upstream, title: SourceTitle): Promise<void>;
  onEnded(from: Upstream, reason: string): void;
}

interface Candidate {
  readonly target: Target;
  /** Number of playlists that led here. */
  readonly depth: number;
}

export class Upstream implements ReceptionSink {
  /** Which of the configured URLs, from 0. */
  readonly index: number;
  readonly #sink: UpstreamSink;
  readonly #clock: Clock;
  readonly #rules: UpstreamRules;
  /** Requested when the present one fails. */
  readonly #left: Candidate[];
  #entriesLeft: number;
  /** The request under way, or the one whose body is received. */
  #attempt: Outbound | null = null;
  #deadline: Alarm | null = null;
  #reception: Reception | null = null;

  constructor(index: number, target: Target, sink: UpstreamSink, clock: Clock, rules: UpstreamRules) {
    this.index = index;
    this.#sink = sink;
    this.#clock = clock;
    this.#rules = rules;
    this.#left = [{ target, depth: 0 }];
    this.#entriesLeft = rules.playlistEntries;
  }

  /** Whether a stream's head has arrived. */
  get isUp(): boolean {
    return this.#reception !== null;
  }

  get facts(): SourceFacts | undefined {
    return this.#reception?.facts;
  }

  /** Undefined: no stream's head has arrived. */
  get intake(): Intake | undefined {
    return this.#reception?.intake;
  }

  /** Once; `onEnded` may be called before this returns. */
  start(): void {
    this.#next('');
  }

  /** Releases the connection. Idempotent. */
  close(): void {
    this.#left.length = 0;
    this.#deadline?.cancel();
    this.#reception?.close();
    this.#attempt?.abort();
    this.#attempt = null;
  }

  onFrame(frame: Frame): number {
    this.#left.length = 0; // it delivers: when it ends, all URLs are requested anew
    return this.#sink.onFrame(this, frame);
  }

  onTitle(title: SourceTitle): Promise<void> {
    return this.#sink.onTitle(this, title);
  }

  onEnded(reason: string): void {
    if (this.#attempt !== null) this.#leave(this.#attempt, reason);
  }

  #next(reason: string): void {
    const candidate = this.#left.shift();
    if (candidate === undefined) {
      this.#sink.onEnded(this, reason);
      return;
    }
    this.#arm(this.#rules.connectTimeoutMs, 'the upstream does not answer');
    this.#ask(candidate, this.#rules.redirects);
  }

  /** Gives up the present request, and sends the next one. */
  #leave(attempt: Outbound, reason: string): void {
    if (this.#attempt !== attempt) return;
    this.#attempt = null;
    this.#deadline?.cancel();
    this.#reception?.close();
    this.#reception = null;
    attempt.abort();
    this.#next(reason);
  }

  #arm(ms: number, reason: string): void {
    this.#deadline?.cancel();
    this.#deadline = this.#clock.alarm(this.#clock.now() + ms, { onAlarm: () => this.onEnded(reason) });
  }

  #ask(candidate: Candidate, redirectsLeft: number): void {
    const attempt = new Outbound({ target: candidate.target, method: 'GET', headers: HEADERS }, this.#rules, {
      onFailed: (reason) => this.#leave(attempt, reason),
      onAnswer: () => this.#onAnswer(attempt, candidate, redirectsLeft),
    });
    this.#attempt = attempt;
    attempt.start();
  }

  #onAnswer(attempt: Outbound, { target, depth }: Candidate, redirectsLeft: number): void {
    const { status, headers } = attempt;
    if (REDIRECTS.has(status)) {
      // Some servers send raw UTF-8; each byte of a header is one character.
      const location = decodeUndeclared(Buffer.from(headers.get('location') ?? 'nowhere:', 'latin1'));
      const to = target.to(location);
      if (to === null) this.#leave(attempt, `the upstream answered ${status} without a redirect URL`);
      else if (redirectsLeft === 0) this.#leave(attempt, 'the upstream redirects too often');
      else {
        attempt.abort();
        this.#ask({ target: to, depth }, redirectsLeft - 1);
      }
    } else if (status === 401 && headers.has('www-authenticate'))
      this.#leave(attempt, 'the upstream requires a user and password, or rejects the given ones');
    // SHOUTcast 1 answers like this while it has no source (RFC 9110, 15.5.2: a real 401 has a challenge).
    else if (status === 401)
      this.#leave(attempt, 'the upstream answered 401: a login is missing, or it has no audio now');
    else if (status !== 200) this.#leave(attempt, `the upstream answered ${status}`);
    else if (isPlaylist(headers.get('content-type'), target.url.pathname))
      this.#readPlaylist(attempt, { target, depth });
    else this.#receive(attempt);
  }

  #receive(answer: Outbound): void {
    this.#awaitAudio();
    this.#reception = new Reception(answer, this, this.#clock, this.#rules);
  }

  /** One alarm per `stallMs`, not one per frame. */
  #awaitAudio(): void {
    const { stallMs } = this.#rules;
    const nowMs = this.#clock.now();
    const sinceMs = this.intake?.missingSinceMs ?? nowMs;
    if (nowMs - sinceMs >= stallMs) {
      this.onEnded('no audio from the upstream');
      return;
    }
    this.#deadline?.cancel();
    this.#deadline = this.#clock.alarm(sinceMs + stallMs, { onAlarm: () => this.#awaitAudio() });
  }

  #readPlaylist(attempt: Outbound, from: Candidate): void {
    const { playlistBytes, playlistDepth } = this.#rules;
    if (from.depth === playlistDepth) {
      this.#leave(
        attempt,
        `the upstream's playlists are nested more than ${playlistDepth} deep (limits.playlistDepth)`,
      );
      return;
    }
    const parts: Buffer[] = [];
    let bytes = 0;
    attempt.receive({
      onBody: (chunk) => {
        bytes += chunk.length;
        if (bytes <= playlistBytes) parts.push(chunk);
        else this.#leave(attempt, `the upstream's playlist is longer than ${playlistBytes} bytes`);
      },
      onEnd: () => this.#follow(attempt, from, Buffer.concat(parts).toString()),
    });
  }

  /** The entries of a playlist are requested next, before the remaining URLs. */
  #follow(attempt: Outbound, { target, depth }: Candidate, text: string): void {
    if (this.#attempt !== attempt) return;
    const { entries, isHls } = readPlaylist(text);
    if (isHls) {
      this.#leave(attempt, 'the upstream is HLS, which cannot be pulled: use the URL of a plain stream');
      return;
    }
    const targets = entries.map((entry) => target.to(entry)).filter((to) => to !== null);
    const allowed = targets.slice(0, this.#entriesLeft);
    this.#entriesLeft -= allowed.length;
    this.#left.unshift(...allowed.map((to) => ({ target: to, depth: depth + 1 })));
    this.#leave(attempt, 'the playlist contains no stream that can be pulled');
  }
}
