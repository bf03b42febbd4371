/** Questions that wait for the other end's answer, by number. Owned by one end of a link. */

import { REFUSALS, Refusal, type RefusalKind, retryLater } from '../base/refusal.js';
import type { RefusedAnswer } from './control.js';

/** The link has ended before the answer: what became of the question is not known. */
export class LinkLost extends Error {
  override readonly name = 'LinkLost';
}

interface WaitingQuestion {
  /** @throws where the answer is malformed */
  read(answer: unknown): unknown;
  resolve(answer: never): void;
  reject(error: unknown): void;
}

export class OpenQuestions {
  readonly #waiting = new Map<number, WaitingQuestion>();
  #last = 0;

  /** @param send called with the number of the question @param read checks the answer; throws where it is malformed @returns its answer; rejects with a Refusal, or LinkLost */
  ask<T>(send: (id: number) => void, read: (answer: unknown) => unknown = (answer) => answer): Promise<T> {
    const id = ++this.#last;
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(id, { read, resolve, reject });
      send(id);
    });
  }

  /** @throws where the answer is malformed; the question goes on waiting */
  answer(id: number, answer: unknown): void {
    const read = this.#waiting.get(id)?.read(answer);
    this.#take(id)?.resolve(read as never);
  }

  refuse(id: number, { kind, detail, headers }: RefusedAnswer): void {
    this.#take(id)?.reject(
      new Refusal(Object.hasOwn(REFUSALS, kind) ? (kind as RefusalKind) : 'internal', detail, {
        headers: { ...headers },
      }),
    );
  }

  /** The link has ended. */
  drop(): void {
    for (const id of [...this.#waiting.keys()]) this.#take(id)!.reject(new LinkLost('the link has ended'));
  }

  #take(id: number): WaitingQuestion | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }
}

const RETRY_SECONDS = 2;

/** What clients are answered where the other end is away. Other errors as they are. */
export function refusalOfLost(error: unknown): unknown {
  return error instanceof LinkLost
    ? retryLater('unavailable', 'A part of the server is being restarted.', RETRY_SECONDS)
    : error;
}

/** An error as plain data: what is not a refusal says nothing of itself. */
export function refusedAnswer(error: unknown): RefusedAnswer {
  if (!(error instanceof Refusal))
    return { kind: 'internal', detail: 'Something went wrong on the server', headers: {} };
  return { kind: error.kind, detail: error.message, headers: error.headers };
}
