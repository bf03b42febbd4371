/**
 * Logs refused clients and the reasons, for people and for programs such as fail2ban: `address` and `reason` are the first fields, before any
 * untrusted text. An address (IPv6: its /64 network) gets one line per second and reason, all of them together get `perSecond`. The next
 * line has the number of suppressed ones: `suppressed` of the same kind, and `suppressedOthers`.
 *
 * Invariant: the log grows by at most `perSecond` lines a second, and at most `remembered` kinds are kept.
 */

import type { Clock } from './clock.js';
import { originOf } from './ip.js';
import type { Log } from './log.js';

export interface RefusalLogLimits {
  readonly perSecond: number;
  readonly remembered: number;
  /** Number of last refusals kept for `last`; absent: none. */
  readonly kept?: number;
}

/** A refusal that was logged or suppressed. */
export interface LastRefusal extends RefusedRequest {
  /** Unix milliseconds. */
  readonly atMs: number;
  readonly what: string;
}

export interface RefusedRequest {
  /** The client's, not that of a proxy. */
  readonly address: string;
  readonly reason: string;
  /** Only a configured key, since an unknown one may be a misplaced token. */
  readonly channel?: string | undefined;
  readonly status: number;
  /** The mount that an encoder asked for, without secrets; absent: none. */
  readonly mount?: string | undefined;
  /** The id of its connection (net/front/tracked-connection.ts). */
  readonly connection?: string | undefined;
}

interface LoggedRefusal {
  readonly atMs: number;
  suppressed: number;
}

const SECOND_MS = 1000;

export class RefusalLog {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #limits: RefusalLogLimits;
  /** By address, message and reason, the last two from small, fixed sets; oldest line first. */
  readonly #logged = new Map<string, LoggedRefusal>();
  #others = 0;
  readonly #last: LastRefusal[] = [];
  #next = 0;
  #secondAtMs = Number.NEGATIVE_INFINITY;
  #linesInSecond = 0;

  constructor(log: Log, clock: Clock, limits: RefusalLogLimits) {
    this.#log = log;
    this.#clock = clock;
    this.#limits = limits;
  }

  /** The last refusals in this process, newest first. */
  last(): readonly LastRefusal[] {
    const behind = this.#last.slice(0, this.#next).reverse();
    return [...behind, ...this.#last.slice(this.#next).reverse()];
  }

  /** @param fields further fields, without secrets; their untrusted text must be cut to a length */
  warn(
    { address, reason, channel, status, connection, mount }: RefusedRequest,
    message: string,
    fields: Record<string, unknown> = {},
  ): void {
    this.#keep({ address, reason, channel, mount, status, atMs: this.#clock.wallMs(), what: message });
    const key = `${originOf(address)} ${message} ${reason}`;
    const logged = this.#logged.get(key);
    const nowMs = this.#clock.now();
    if (logged !== undefined && nowMs - logged.atMs < SECOND_MS) {
      logged.suppressed++;
      return;
    }
    if (nowMs - this.#secondAtMs >= SECOND_MS) {
      this.#secondAtMs = nowMs;
      this.#linesInSecond = 0;
    }
    if (this.#linesInSecond >= this.#limits.perSecond) {
      this.#others++;
      return;
    }
    this.#linesInSecond++;
    this.#remember(key, nowMs);
    const others = this.#others;
    this.#others = 0;
    const suppressed = { suppressed: logged?.suppressed || undefined, suppressedOthers: others || undefined };
    this.#log.warn({ address, reason, channel, status, connection, mount, ...fields, ...suppressed }, message);
  }

  #keep(refusal: LastRefusal): void {
    const { kept = 0 } = this.#limits;
    if (kept === 0) return;
    this.#last[this.#next] = refusal;
    this.#next = (this.#next + 1) % kept;
  }

  #remember(key: string, nowMs: number): void {
    this.#logged.delete(key);
    const [oldest] = this.#logged;
    if (oldest !== undefined && this.#logged.size >= this.#limits.remembered) {
      this.#others += oldest[1].suppressed;
      this.#logged.delete(oldest[0]);
    }
    this.#logged.set(key, { atMs: nowMs, suppressed: 0 });
  }
}
