/**
 * The operator's hook, which is asked about listeners (listener_add) and notified of their end (listener_remove), or asked about encoders
 * (stream_auth), as in Icecast's URL authentication. The number of concurrent calls is limited. Other calls wait, questions before notices, no
 * question longer than half its time-out; addresses take turns. A hook that does not answer is not called for a while (breaker.ts), so that not
 * every client waits for a time-out.
 *
 *   ask ─► cached? ─► breaker open? ─► waiting ─► call ─► answer ─► cached
 *                           └─────────── down ──────────► whenDown
 *
 * A call is a form by POST on a new connection: a stale connection could look like a dead hook.
 */

import type { Clock } from '../../base/clock.js';
import { originOf } from '../../base/ip.js';
import { Tallies } from '../../base/tallies.js';
import type { Tally } from '../../base/tally.js';
import { OriginTurns } from '../../net/limits/origin-turns.js';
import { askForHead } from '../../net/outbound/head-answer.js';
import { Target } from '../../net/outbound/target.js';
import { Breaker, ORDINARY } from './breaker.js';
import { answerOf, formOf, type HookAnswer, type HookListener, keyOf, questionOf } from './hook-call.js';

export interface HookOptions {
  /** http or https, with or without a user and password. */
  readonly url: string;
  readonly timeoutMs: number;
  /** Limit on concurrent calls. */
  readonly parallel: number;
  /** The same for waiting questions, and for notices. */
  readonly waiting: number;
  readonly cacheMs: number;
  readonly cacheEntries: number;
  /** Whether a cached answer is valid for one address, or for all clients with the same credentials. */
  readonly cacheBy: 'address' | 'credentials';
  readonly whenDown: 'deny' | 'allow';
  readonly breakAfter: number;
  readonly breakMs: number;
  /** The first of its client numbers; other processes have other ranges. */
  readonly firstClient?: number;
  /** Counts shared with the other processes; absent: there are none. */
  readonly tallies?: Tallies;
  /** The outcome of each question, for metrics. */
  onVerdict(verdict: 'allowed' | 'denied' | 'down' | 'remembered'): void;
  /** Why the hook is not called for now; null: it answers again. */
  onTroubleChanged(trouble: string | null): void;
}

export interface HookVerdict {
  readonly verdict: 'allowed' | 'denied' | 'down';
  readonly limitMs: number;
  /** The listener's number for the hook; null: the hook was not asked about this listener, and gets no notice. */
  readonly client: string | null;
  /** Not asked, since too many of its address wait: `whenDown` does not apply. */
  readonly isCrowd?: true;
}

interface Call {
  readonly form: string;
  /** The origin of the client (base/ip.ts). */
  readonly origin: string;
  readonly untilMs: number;
  /** The result of Breaker.admit. */
  readonly trial: number;
  /** @param answer null: none */
  onDone(answer: HookAnswer | null): void;
}

const DOWN: HookVerdict = { verdict: 'down', limitMs: Number.POSITIVE_INFINITY, client: null };
const CROWD: HookVerdict = { ...DOWN, isCrowd: true };
/** A question may wait for this share of its time-out. With less time left for the call, a busy hook would look dead. */
const WAITING_PART = 0.5;
/** This many questions about one address, a household, may wait before further ones count as a crowd. */
const HOUSEHOLD = 8;
const HEADERS = { 'Content-Type': 'application/x-www-form-urlencoded', 'User-Agent': 'airsplice' };

export class ListenerHook {
  readonly #options: HookOptions;
  readonly #clock: Clock;
  readonly #target: Target;
  readonly #breaker: Breaker;
  readonly #questions = new OriginTurns<Call>();
  readonly #notices = new Set<Call>();
  /** Cached answers, some still pending; oldest first. */
  readonly #remembered = new Map<string, { readonly pending: Promise<HookVerdict>; readonly untilMs: number }>();
  readonly #all: Tally;
  #running = 0;
  #clients: number;
  /** Admitted with a `client` number, and not gone yet. */
  #present = 0;
  /** When the hook last answered, monotonic milliseconds. */
  #answeredMs = Number.NEGATIVE_INFINITY;
  #closed = false;
  #onIdle: (() => void) | null = null;

  constructor(clock: Clock, options: HookOptions) {
    this.#clock = clock;
    this.#options = options;
    const { firstClient = 0, tallies = new Tallies() } = options;
    this.#clients = firstClient;
    this.#all = tallies.all;
    this.#all.set('hooks', 1);
    this.#target = Target.named(options.url, undefined, true);
    this.#breaker = new Breaker(clock, options.breakAfter, options.breakMs);
  }

  /** The last client number. */
  get clients(): number {
    return this.#clients;
  }

  /** Whether no call is under way, and all admitted listeners have gone. */
  get isOver(): boolean {
    return this.#running === 0 && this.#present === 0;
  }

  /** Resolves within the time-out; never rejects. For each listener allowed with a `client` number, `gone` must be called once. */
  async ask(caller: HookListener): Promise<HookVerdict> {
    const { cacheMs, onVerdict } = this.#options;
    const key = keyOf(caller, this.#options.cacheBy);
    const known = this.#remembered.get(key);
    if (known !== undefined && this.#clock.now() < known.untilMs) {
      const answered = await known.pending;
      // The answer may have been pending, and the question failed.
      onVerdict(answered.verdict === 'down' ? 'down' : 'remembered');
      return this.#orWhenDown({ ...answered, client: null });
    }
    const pending = this.#question(caller);
    if (cacheMs > 0) this.#remember(key, pending);
    const answered = await pending;
    onVerdict(answered.verdict);
    if (answered.verdict === 'down' && this.#remembered.get(key)?.pending === pending) this.#remembered.delete(key);
    return this.#orWhenDown(answered);
  }

  /** Notifies the hook that a listener has left. @param lastedMs how long it listened */
  gone(caller: HookListener, client: string, lastedMs: number): void {
    this.#present--;
    if (this.#breaker.isOpen || this.#isFull(this.#notices)) return;
    const form = formOf('listener_remove', caller, client, lastedMs);
    const untilMs = Number.POSITIVE_INFINITY;
    this.#notices.add({ form, origin: '', untilMs, trial: ORDINARY, onDone: () => undefined });
    this.#startCalls();
  }

  /** Asks nothing more: waiting questions are answered as if the hook were down. Notices are still sent. */
  close(): void {
    this.#closed = true;
    this.#answerAll();
  }

  /** Resolves once no call is under way or waiting. */
  async settled(): Promise<void> {
    if (this.#running > 0) await new Promise<void>((done) => (this.#onIdle = done));
  }

  #orWhenDown(answered: HookVerdict): HookVerdict {
    const { verdict, isCrowd } = answered;
    const allows = verdict === 'down' && isCrowd !== true && this.#options.whenDown === 'allow' && !this.#closed;
    return allows ? { ...answered, verdict: 'allowed' } : answered;
  }

  #question(caller: HookListener): Promise<HookVerdict> {
    const { timeoutMs } = this.#options;
    const origin = originOf(caller.address);
    const askedMs = this.#clock.now();
    const unasked = this.#questions.countOf(origin) > HOUSEHOLD ? CROWD : DOWN;
    const trial = this.#closed || this.#isFull(this.#questions) ? null : this.#breaker.admit();
    if (trial === null) return Promise.resolve(unasked);
    const client = String(++this.#clients);
    return new Promise((resolve) => {
      const late = () => {
        if (!this.#questions.remove(origin, call)) return;
        // A call that was never made is not a failure of the hook, except a trial.
        if (this.#breaker.isOpen) this.#breaker.failed(trial);
        // A hook that has answered meanwhile is alive, so the reason may be a crowd.
        resolve(this.#answeredMs >= askedMs ? unasked : DOWN);
      };
      const deadline = setTimeout(late, timeoutMs * WAITING_PART);
      const call: Call = {
        form: questionOf(caller, client),
        origin,
        untilMs: askedMs + timeoutMs,
        trial,
        onDone: (answer) => {
          clearTimeout(deadline);
          if (answer === null) resolve(DOWN);
          else if (!answer.allowed) resolve({ verdict: 'denied', limitMs: 0, client: null });
          else {
            this.#present++;
            resolve({ verdict: 'allowed', limitMs: answer.limitMs, client });
          }
        },
      };
      this.#questions.add(origin, call);
      this.#startCalls();
    });
  }

  /** Whether no further call may run, nor wait. */
  #isFull({ size }: { readonly size: number }): boolean {
    const { parallel, waiting } = this.#options;
    return this.#running >= this.#shareOf(parallel) && size >= this.#shareOf(waiting);
  }

  /** The equal share of each process in a limit; at least 1, unless the limit is 0. */
  #shareOf(limit: number): number {
    return limit === 0 ? 0 : Math.max(1, Math.floor(limit / (1 + this.#all.others('hooks'))));
  }

  /** Starts as many calls as may run. */
  #startCalls(): void {
    const limit = this.#shareOf(this.#options.parallel);
    while (this.#running < limit) {
      const call = this.#next();
      if (call === undefined) break;
      this.#running++;
      this.#start(call);
    }
    if (this.#running === 0) this.#onIdle?.();
  }

  /** Removes the next waiting call; undefined: none. */
  #next(): Call | undefined {
    const question = this.#questions.next();
    const [notice] = this.#notices;
    if (question !== undefined) this.#questions.remove(question.origin, question);
    else if (notice !== undefined) this.#notices.delete(notice);
    return question ?? notice;
  }

  /** Makes one call, which is aborted after the time-out, even while its body arrives. */
  #start(call: Call): void {
    const request = { target: this.#target, method: 'POST', headers: HEADERS, body: call.form } as const;
    const leftMs = Math.min(this.#options.timeoutMs, Math.max(1, call.untilMs - this.#clock.now()));
    askForHead(request, leftMs, {
      onHead: (answer) => this.#answered(call, answerOf(answer)),
      onFailed: (safe, reason) => this.#answered(call, safe ?? reason),
      onClosed: () => {
        this.#running--;
        this.#startCalls();
      },
    });
  }

  #answered(call: Call, answer: HookAnswer | string): void {
    call.onDone(typeof answer === 'string' ? null : answer);
    if (typeof answer !== 'string') {
      this.#answeredMs = this.#clock.now();
      if (this.#breaker.answered()) this.#options.onTroubleChanged(null);
    } else if (this.#breaker.failed(call.trial)) {
      this.#options.onTroubleChanged(answer);
      this.#notices.clear();
      this.#answerAll();
    }
  }

  /** Answers questions whose calls will not be made. */
  #answerAll(): void {
    for (const call of this.#questions.clear()) call.onDone(null);
  }

  #remember(key: string, pending: Promise<HookVerdict>): void {
    this.#remembered.delete(key);
    const nowMs = this.#clock.now();
    for (const [oldest, { untilMs }] of this.#remembered) {
      if (untilMs > nowMs && this.#remembered.size < this.#options.cacheEntries) break;
      this.#remembered.delete(oldest);
    }
    this.#remembered.set(key, { pending, untilMs: nowMs + this.#options.cacheMs });
  }
}
