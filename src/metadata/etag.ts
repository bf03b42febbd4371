/**
 * Tags of content: the same bytes have the same tag, in any process. Pure.
 */

import { createHash, hash } from 'node:crypto';

/** 22 characters of `A-Za-z0-9_-`, for a strong ETag; the quotes are the caller's. */
export function contentTag(content: string | Buffer): string {
  return shortened(hash('sha256', content, 'base64url'));
}

/** The same tag for content that comes in pieces. */
export class PiecewiseTag {
  readonly #hash = createHash('sha256');

  add(piece: string | Buffer): void {
    this.#hash.update(piece);
  }

  /** To be read once, after the last piece. */
  get tag(): string {
    return shortened(this.#hash.digest('base64url'));
  }
}

function shortened(digest: string): string {
  return digest.slice(0, 22);
}
