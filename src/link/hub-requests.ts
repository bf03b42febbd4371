/**
 * A worker's requests to the hub, which survive its restart: a request waits for a hub whose states are known, and is sent again to the next one if
 * the link is lost. Owned by WorkerLink.
 */

import type { Alarm, Clock } from '../base/clock.js';
import { Refusal } from '../base/refusal.js';
import { Requests } from '../base/requests.js';
import { type FromWorker, type Question, type Questions, type RefusedAnswer, readHubAnswer } from './control-schema.js';
import { LinkLost, refusalOf, refusalOfLost } from './question-errors.js';

/** How long a request waits for a hub. */
const PATIENCE_MS = 10_000;

export class HubRequests {
  readonly #clock: Clock;
  readonly #send: (message: FromWorker) => boolean | null;
  readonly #requests = new Requests();
  #isReady = false;
  readonly #waiting = new Set<() => void>();

  /** @param send returns false if the message is too long, null if there is no link */
  constructor(clock: Clock, send: (message: FromWorker) => boolean | null) {
    this.#clock = clock;
    this.#send = send;
  }

  /** Whether there is a hub whose states are known. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** Resolves when there is a hub whose states are known. */
  async ready(): Promise<void> {
    while (!this.#isReady) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  /** Retried on the next hub if the link is lost: requests must be idempotent. Rejects with a Refusal, also if no hub comes in time. */
  async ask<Q extends Question>(question: Q, ask: Questions[Q]['ask']): Promise<Questions[Q]['answer']> {
    const endMs = performance.now() + PATIENCE_MS;
    for (;;) {
      const isConnected = await this.#isConnected(endMs - performance.now());
      try {
        return await this.#askOnce(question, ask);
      } catch (error) {
        if (!(error instanceof LinkLost) || !isConnected) throw refusalOfLost(error);
      }
    }
  }

  /** A malformed answer fails its request alone. */
  onAnswer(id: number, answer: unknown): void {
    try {
      this.#requests.answer(id, answer);
    } catch (error) {
      this.#requests.fail(id, error);
    }
  }

  onRefused(id: number, refusal: RefusedAnswer): void {
    this.#requests.fail(id, refusalOf(refusal));
  }

  onReady(): void {
    this.#isReady = true;
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  onLost(): void {
    this.#isReady = false;
    this.#requests.lose(new LinkLost());
  }

  #askOnce<Q extends Question>(question: Q, ask: Questions[Q]['ask']): Promise<Questions[Q]['answer']> {
    const send = (id: number) => {
      const isSent = this.#send({ type: 'ask', id, question, ask });
      if (isSent === null) this.#requests.fail(id, new LinkLost());
      else if (!isSent) {
        this.#requests.fail(id, new Refusal('too-large', 'It is longer than one process can pass to another.'));
      }
    };
    return this.#requests.ask(send, { read: (answer) => readHubAnswer(question, answer) });
  }

  async #isConnected(withinMs: number): Promise<boolean> {
    if (this.#isReady) return true;
    if (withinMs <= 0) return false;
    let alarm: Alarm | undefined;
    await new Promise<void>((resolve) => {
      this.#waiting.add(resolve);
      const onAlarm = () => {
        this.#waiting.delete(resolve);
        resolve();
      };
      alarm = this.#clock.alarm(this.#clock.now() + withinMs, { onAlarm });
    });
    alarm?.cancel();
    return this.#isReady;
  }
}
