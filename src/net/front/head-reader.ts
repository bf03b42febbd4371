/**
 * Reads the heads of connections that bypass Node's HTTP parser: encoders' and listeners'. A head that is complete in the
 * first bytes, as nearly all are, needs no timer and no listener; any other has one deadline.
 */

import type { Socket } from 'node:net';
import { type RequestHead, type RequestHeadFault, RequestHeadParser } from './request-head.js';

export interface HeadLimits {
  readonly headBytes: number;
  readonly headLines: number;
  /** The deadline of the whole head. */
  readonly headMs: number;
}

export interface Parser<T> {
  push(chunk: Buffer): T | 'more';
}

export class HeadReader {
  readonly #limits: HeadLimits;
  /** Connections whose head is still being read. */
  readonly #reading = new Set<Socket>();

  constructor(limits: HeadLimits) {
    this.#limits = limits;
  }

  /**
   * Calls `onHead` once with the head or its fault; a connection that ends or does not finish in time is closed without it.
   * @param first the bytes that were read already; the socket is paused
   */
  read(socket: Socket, first: Buffer, onHead: (result: RequestHead | RequestHeadFault) => void): void {
    this.readWith(new RequestHeadParser(this.#limits), socket, first, onHead);
  }

  /** Reads with another parser. */
  readWith<T>(parser: Parser<T>, socket: Socket, first: Buffer, onHead: (result: T) => void): void {
    const result = parser.push(first);
    if (result === 'more') this.#readOn(socket, parser, onHead);
    else onHead(result);
  }

  close(): void {
    for (const socket of this.#reading) socket.destroy();
  }

  #readOn<T>(socket: Socket, parser: Parser<T>, onHead: (result: T) => void): void {
    this.#reading.add(socket);
    const stop = () => {
      this.#reading.delete(socket);
      clearTimeout(deadline);
      socket.off('data', take).off('end', drop).off('error', drop).off('close', drop);
    };
    const drop = () => {
      stop();
      socket.on('error', () => undefined).destroy();
    };
    const take = (chunk: Buffer) => {
      const result = parser.push(chunk);
      if (result === 'more') return;
      stop();
      socket.pause();
      onHead(result);
    };
    const deadline = setTimeout(drop, this.#limits.headMs);
    socket.on('data', take).on('end', drop).on('error', drop).on('close', drop).resume();
  }
}
