/**
 * An encoder with the right secret, on its way from the acceptor that checked it to its channel. Its head is plain data, and its socket is paused
 * and has no reader, so both can go to another process.
 */

import type { Socket } from 'node:net';
import type { RequestHead } from '../../net/front/request-head.js';

interface ProvenConnection {
  readonly socket: Socket;
  /** The client's. */
  readonly address: string;
  /** The channel that its secret opens. */
  readonly channel: string;
  /** The path as requested; "": none. */
  readonly path: string;
  /** The id of its connection in the process that has accepted it. */
  readonly connection?: string | undefined;
}

/** An encoder that has sent the head of PUT or SOURCE. */
export interface ProvenHttpEncoder extends ProvenConnection {
  readonly kind: 'http';
  /** Its `rest` contains the bytes after it. */
  readonly head: RequestHead;
}

/** An encoder that has sent SHOUTcast's first line. It waits for the answer before it sends headers, or has sent them. */
export interface ProvenShoutcastEncoder extends ProvenConnection {
  readonly kind: 'shoutcast';
  /** The bytes after the line. */
  readonly rest: Buffer;
}

export type ProvenEncoder = ProvenHttpEncoder | ProvenShoutcastEncoder;
