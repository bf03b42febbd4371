/**
 * The operator's hook that is asked about listeners, and told when they have gone. So many calls at once; the others wait, questions
 * before farewells, none of them longer than a question may take in all. While the hook does not answer it is not asked
 * (breaker.ts), so that a dead one does not cost each listener its time-out.
 *
 *   ask ─► remembered? ─► breaker open? ─► waiting ─► call ─► answer ─► remembered
 *                               └─────────── down ───────────► whenDown
 */

import type { Clock } from '../../base/clock.js';
import { Breaker } from './breaker.js';
import { callHook, type HookAnswer } from './hook-call.js';

export interface HookOptions {
  readonly url: string;
  readonly timeoutMs: number;
  /** Calls at once, and calls that wait for their turn. */
  readonly parallel: number;
  readonly waiting: number;
  readonly cacheMs: number;
  readonly cacheEntries: number;
  /** Whether a remembered answer holds for one address, or for all who show the same credentials. */
  readonly cacheBy: 'address' | 'credentials';
  readonly whenDown: 'deny' | 'allow';
  readonly breakAfter: number;
  readonly breakMs: number;
  /** What became of each question, for metrics. */
  onVerdict(verdict: 'allowed' | 'denied' | 'down' | 'remembered'): void;
  /** It is left alone, or has answered again (null). */
  onTroubleChanged(trouble: string | null): void;
}

/** Who wants to listen. */
export interface HookListener {
  /** The mount with its query, as requested. */
  readonly mount: string;
  readonly user: string;
  readonly password: string;
  readonly address: string;
  readonly agent: string;
}

export interface HookVerdict {
  readonly verdict: 'allowed' | 'denied' | 'down';
  readonly limitMs: number;
  /** The number under which he was announced to the hook; null: he was not, and is no farewell either. */
  readonly client: string | null;
}

interface Call {
  readonly form: string;
  readonly untilMs: number;
  /** Null: there is no answer. */
  onDone(answer: HookAnswer | null): void;
}

const DOWN: HookVerdict = { verdict: 'down', limitMs: Number.POSITIVE_INFINITY, client: null };

export class ListenerHook {
  readonly #options: HookOptions;
  readonly #clock: Clock;
  readonly #breaker: Breaker;
  readonly #questions = new Set<Call>();
  readonly #farewells = new Set<Call>();
  /** What was, or is being, answered; oldest first. */
  readonly #remembered = new Map<string, { readonly judgement: Promise<HookVerdict>; readonly untilMs: number }>();
  #running = 0;
  #clients = 0;
  #closed = false;
  #onIdle: (() => void) | null = null;

  constructor(clock: Clock, options: HookOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#breaker = new Breaker(clock, options.breakAfter, options.breakMs);
  }

  /** Resolves within the time-out; never rejects. Whoever is allowed with a `client` has to be told `gone` once. */
  async ask(caller: HookListener): Promise<HookVerdict> {
    const { cacheMs, onVerdict: judged } = this.#options;
    const key = keyOf(caller, this.#options.cacheBy);
    const known = this.#remembered.get(key);
    if (known !== undefined && this.#clock.now() < known.untilMs) {
      const { verdict, limitMs } = await known.judgement;
      judged('remembered');
      return this.#orWhenDown({ verdict, limitMs, client: null });
    }
    const judgement = this.#question(caller);
    if (cacheMs > 0) this.#remember(key, judgement);
    const { verdict } = await judgement;
    judged(verdict);
    if (verdict === 'down' && this.#remembered.get(key)?.judgement === judgement) this.#remembered.delete(key);
    return this.#orWhenDown(await judgement);
  }

  /** Tells that somebody who was announced has gone. @param lastedMs how long he listened */
  gone(caller: HookListener, client: string, lastedMs: number): void {
    if (this.#breaker.isOpen || this.#farewells.size >= this.#options.waiting) return;
    const form = formOf('listener_remove', caller, client, lastedMs);
    this.#farewells.add({ form, untilMs: Number.POSITIVE_INFINITY, onDone: () => undefined });
    this.#turn();
  }

  /** Asks no more: whoever waits is answered as if the hook were down. Farewells still go out. */
  close(): void {
    this.#closed = true;
    this.#answerAll();
  }

  /** Resolves when no call is under way or waiting. */
  async settled(): Promise<void> {
    if (this.#running > 0) await new Promise<void>((done) => (this.#onIdle = done));
  }

  #orWhenDown(judgement: HookVerdict): HookVerdict {
    const allows = judgement.verdict === 'down' && this.#options.whenDown === 'allow' && !this.#closed;
    return allows ? { ...judgement, verdict: 'allowed' } : judgement;
  }

  #question(caller: HookListener): Promise<HookVerdict> {
    const { parallel, waiting, timeoutMs } = this.#options;
    const isFull = this.#running >= parallel && this.#questions.size >= waiting;
    if (this.#closed || isFull || !this.#breaker.admit()) return Promise.resolve(DOWN);
    const client = String(++this.#clients);
    return new Promise((resolve) => {
      const late = () => {
        if (!this.#questions.delete(call)) return;
        // Its turn did not come. That says nothing of the hook, unless this was the one call that finds out.
        if (this.#breaker.isOpen) this.#breaker.failed();
        resolve(DOWN);
      };
      const deadline = setTimeout(late, timeoutMs);
      const call: Call = {
        form: formOf('listener_add', caller, client),
        untilMs: this.#clock.now() + timeoutMs,
        onDone: (answer) => {
          clearTimeout(deadline);
          if (answer === null) resolve(DOWN);
          else if (!answer.allowed) resolve({ verdict: 'denied', limitMs: 0, client: null });
          else resolve({ verdict: 'allowed', limitMs: answer.limitMs, client });
        },
      };
      this.#questions.add(call);
      this.#turn();
    });
  }

  /** Makes as many calls as may run. */
  #turn(): void {
    while (this.#running < this.#options.parallel) {
      const queue = this.#questions.size > 0 ? this.#questions : this.#farewells;
      const [call] = queue;
      if (call === undefined) break;
      queue.delete(call);
      this.#running++;
      const leftMs = Math.min(this.#options.timeoutMs, Math.max(1, call.untilMs - this.#clock.now()));
      callHook(this.#options.url, call.form, leftMs, {
        onAnswered: (answer) => this.#answered(call, answer),
        onOver: () => {
          this.#running--;
          this.#turn();
        },
      });
    }
    if (this.#running === 0) this.#onIdle?.();
  }

  #answered(call: Call, answer: HookAnswer | string): void {
    call.onDone(typeof answer === 'string' ? null : answer);
    if (typeof answer !== 'string') {
      if (this.#breaker.answered()) this.#options.onTroubleChanged(null);
    } else if (this.#breaker.failed()) {
      this.#options.onTroubleChanged(answer);
      this.#farewells.clear();
      this.#answerAll();
    }
  }

  /** Whoever waits need not wait for what will not be asked. */
  #answerAll(): void {
    for (const call of this.#questions) call.onDone(null);
    this.#questions.clear();
  }

  #remember(key: string, judgement: Promise<HookVerdict>): void {
    this.#remembered.delete(key);
    const nowMs = this.#clock.now();
    for (const [oldest, { untilMs }] of this.#remembered) {
      if (untilMs > nowMs && this.#remembered.size < this.#options.cacheEntries) break;
      this.#remembered.delete(oldest);
    }
    this.#remembered.set(key, { judgement, untilMs: nowMs + this.#options.cacheMs });
  }
}

/**
 * What an answer holds for (contract, "Streams"). The hook is told the address and may judge by it, and the query of a public link is
 * nobody's credential: only the operator knows that the address says nothing. Those who show nothing at all have nothing else.
 */
function keyOf({ mount, user, password, address }: HookListener, cacheBy: HookOptions['cacheBy']): string {
  const isNobody = user === '' && password === '' && !mount.includes('?');
  return JSON.stringify([mount, user, password, cacheBy === 'address' || isNobody ? address : '']);
}

/** The fields that Icecast 2.4 sends, but for the server's own name and port. */
function formOf(action: string, caller: HookListener, client: string, lastedMs?: number): string {
  const { mount, user, password, address, agent } = caller;
  const form = new URLSearchParams({ action, client, mount, user, pass: password, ip: address, agent });
  if (lastedMs !== undefined) form.set('duration', String(Math.round(lastedMs / 1000)));
  return form.toString();
}
