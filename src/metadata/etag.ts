/**
 * Tags of content: the same bytes have the same tag, in any process. Pure.
 */

import { createHash } from 'node:crypto';

/** 22 characters of `A-Za-z0-9_-`, for a strong ETag; the quotes are the caller's. */
export function contentTag(content: string | Buffer): string {
  const whole = new PiecewiseTag();
  whole.add(content);
  return whole.tag;
}

/** The same tag for content that comes in pieces. */
export class PiecewiseTag {
  readonly #hash = createHash('sha256');

  add(piece: string | Buffer): void {
    this.#hash.update(piece);
  }

  /** To be read once, after the last piece. */
  get tag(): string {
    return this.#hash.digest('base64url').slice(0, 22);
  }
}
