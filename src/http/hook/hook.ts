/**
 * The operator's hook, which is asked about listeners (listener_add) and notified of their end (listener_remove), or asked about encoders
 * (stream_auth), as in Icecast's URL authentication. The number of concurrent calls is limited; the others wait, questions before notices,
 * no question longer than its time-out, and addresses take turns. A hook that does not answer is not called for a while (breaker.ts), so that
 * not every client waits for a time-out.
 *
 *   ask ─► remembered? ─► breaker open? ─► waiting ─► call ─► answer ─► remembered
 *                               └─────────── down ───────────► whenDown
 *
 * A call is a form by POST on a new connection: a stale connection could look like a dead hook.
 */

import { lookup } from 'node:dns';
import type { Clock } from '../../base/clock.js';
import { originOf } from '../../base/ip.js';
import { Tallies } from '../../base/tallies.js';
import type { Tally } from '../../base/tally.js';
import { OriginTurns } from '../../net/limits/origin-turns.js';
import { Outbound } from '../../net/outbound/outbound.js';
import { Target } from '../../net/outbound/target.js';
import { Breaker, ORDINARY } from './breaker.js';
import { answerOf, formOf, type HookAnswer, type HookListener, keyOf, questionOf } from './hook-call.js';

export interface HookOptions {
  /** http or https, with or without a user and password. */
  readonly url: string;
  readonly timeoutMs: number;
  /** Concurrent calls, and waiting calls of each kind. */
  readonly parallel: number;
  readonly waiting: number;
  readonly cacheMs: number;
  readonly cacheEntries: number;
  /** Whether a remembered answer holds for one address, or for all clients with the same credentials. */
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
  /** It is not called for now, and why; null: it answers again. */
  onTroubleChanged(trouble: string | null): void;
}

export interface HookVerdict {
  readonly verdict: 'allowed' | 'denied' | 'down';
  readonly limitMs: number;
  /** The listener's number at the hook; null: the hook was not asked about this listener, and gets no notice. */
  readonly client: string | null;
  /** It was not asked, as others of its address were before it: not for `whenDown`. */
  readonly isCrowd?: true;
}

interface Call {
  readonly form: string;
  /** Whom it is about (base/ip.ts). */
  readonly origin: string;
  readonly untilMs: number;
  /** Of Breaker.admit. */
  readonly trial: number;
  /** @param answer null: there is none */
  onDone(answer: HookAnswer | null): void;
}

const DOWN: HookVerdict = { verdict: 'down', limitMs: Number.POSITIVE_INFINITY, client: null };
const CROWD: HookVerdict = { ...DOWN, isCrowd: true };
/** Of its time-out a question may wait for so much. With less left a hook that is busy would look like one that is dead. */
const WAITING_PART = 0.5;
/** Questions about one address that may wait before what follows counts as its own crowd: a household. */
const HOUSEHOLD = 8;
const HEADERS = { 'Content-Type': 'application/x-www-form-urlencoded', 'User-Agent': 'airsplice' };
const CONNECTION = { lookup, ca: undefined, headBytes: 16 * 1024 };
/** Bodies are ignored. They are read only so that the server can finish. */
const MAX_BODY_BYTES = 64 * 1024;

export class ListenerHook {
  readonly #options: HookOptions;
  readonly #clock: Clock;
  readonly #target: Target;
  readonly #breaker: Breaker;
  readonly #questions = new OriginTurns<Call>();
  readonly #notices = new Set<Call>();
  /** Answers, given or pending; oldest first. */
  readonly #remembered = new Map<string, { readonly pending: Promise<HookVerdict>; readonly untilMs: number }>();
  readonly #all: Tally;
  #running = 0;
  #clients: number;
  /** Let in, and not gone. */
  #present = 0;
  /** When it answered last, monotonic milliseconds. */
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

  /** Nobody is asked about, none of those who were let in is there any more, and all that have gone were reported. */
  get isOver(): boolean {
    return this.#running === 0 && this.#present === 0;
  }

  /** Resolves within the time-out; never rejects. For each listener that is allowed with a `client` number, `gone` has to be called once. */
  async ask(caller: HookListener): Promise<HookVerdict> {
    const { cacheMs, onVerdict } = this.#options;
    const key = keyOf(caller, this.#options.cacheBy);
    const known = this.#remembered.get(key);
    if (known !== undefined && this.#clock.now() < known.untilMs) {
      const answered = await known.pending;
      // The question may have been pending, and have failed.
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

  /** Notifies the hook of a listener's end. @param lastedMs how long it listened */
  gone(caller: HookListener, client: string, lastedMs: number): void {
    this.#present--;
    if (this.#breaker.isOpen || this.#isFull(this.#notices)) return;
    const form = formOf('listener_remove', caller, client, lastedMs);
    const untilMs = Number.POSITIVE_INFINITY;
    this.#notices.add({ form, origin: '', untilMs, trial: ORDINARY, onDone: () => undefined });
    this.#startCalls();
  }

  /** Asks no more: waiting questions are answered as if the hook were down. Notices are still sent. */
  close(): void {
    this.#closed = true;
    this.#answerAll();
  }

  /** Resolves when no call is under way or waiting. */
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
        // The call was never made: no failure of the hook, unless it was the trial.
        if (this.#breaker.isOpen) this.#breaker.failed(trial);
        // Of one that has answered nothing meanwhile it is not known yet that it is dead.
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

  /** No call is free, and there is no room to wait for one. */
  #isFull({ size }: { readonly size: number }): boolean {
    const { parallel, waiting } = this.#options;
    return this.#running >= this.#shareOf(parallel) && size >= this.#shareOf(waiting);
  }

  /** Each process has an equal share of a limit, and at least one of what is not 0. */
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

  /** Takes out the next call; undefined: none waits. */
  #next(): Call | undefined {
    const question = this.#questions.next();
    const [notice] = this.#notices;
    if (question !== undefined) this.#questions.remove(question.origin, question);
    else if (notice !== undefined) this.#notices.delete(notice);
    return question ?? notice;
  }

  /** Makes one call, which is aborted after the time-out, even while its body comes. */
  #start(call: Call): void {
    let bytes = 0;
    const onBody = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) outbound.abort();
    };
    let isAnswered = false;
    const answer = (result: HookAnswer | string) => {
      if (!isAnswered) this.#answered(call, result);
      isAnswered = true;
    };
    const request = { target: this.#target, method: 'POST', headers: HEADERS, body: call.form } as const;
    const outbound = new Outbound(request, CONNECTION, {
      onAnswer: () => {
        answer(answerOf(outbound));
        outbound.receive({ onBody, onEnd: () => undefined });
      },
      // A reason may contain the hook's host name; a code contains nothing of the URL.
      onFailed: (reason, code) => answer(code ?? reason),
      onClosed: () => {
        clearTimeout(deadline);
        answer('no answer');
        this.#running--;
        this.#startCalls();
      },
    });
    const leftMs = Math.min(this.#options.timeoutMs, Math.max(1, call.untilMs - this.#clock.now()));
    const deadline = setTimeout(() => {
      answer('no answer in time');
      outbound.abort();
    }, leftMs);
    outbound.start();
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
