/**
 * An encoder whose secret was right, on its way from the acceptor that judged it to the place where its channel is. What it says is plain data,
 * and its socket is paused and has no reader: both can go to another process.
 */

import type { Socket } from 'node:net';
import type { RequestHead } from '../../net/front/request-head.js';

interface ProvenConnection {
  readonly socket: Socket;
  /** Of the client. */
  readonly address: string;
  /** The channel that its secret opens. */
  readonly channel: string;
  /** As it was asked for; "" where none was named. */
  readonly path: string;
  /** The id of its connection in the process that has accepted it. */
  readonly connection?: string | undefined;
}

/** It has sent the head of PUT or SOURCE. */
export interface ProvenHttpEncoder extends ProvenConnection {
  readonly kind: 'http';
  /** Its `rest` is what came behind it. */
  readonly head: RequestHead;
}

/** It has sent SHOUTcast's first line, and waits for the answer before its headers, or has sent them. */
export interface ProvenShoutcastEncoder extends ProvenConnection {
  readonly kind: 'shoutcast';
  /** What came behind the line. */
  readonly rest: Buffer;
}

export type ProvenEncoder = ProvenHttpEncoder | ProvenShoutcastEncoder;
