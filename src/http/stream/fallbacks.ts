/**
 * The mounts whose audio replaces that of a channel while it has none, as set by operators (http/admin/README.md, "Fallbacks"): the same in all
 * processes. A mount that no longer exists is ignored, and a cycle ends where it began.
 */

import type { Mount } from '../../channel/mount.js';

export class Fallbacks {
  /** By path. */
  readonly #mounts: ReadonlyMap<string, Mount>;
  /** Channel key → path of its fallback. */
  #toOf: ReadonlyMap<string, string> = new Map();

  constructor(mounts: ReadonlyMap<string, Mount>) {
    this.#mounts = mounts;
  }

  set(fallbacks: readonly { readonly channel: string; readonly to: string }[]): void {
    this.#toOf = new Map(fallbacks.map(({ channel, to }) => [channel, to]));
  }

  /** Keys of the channels with a fallback. */
  get channels(): Iterable<string> {
    return this.#toOf.keys();
  }

  /** The fallback of a channel, the fallback of its fallback, and so on. */
  of(channel: string): readonly Mount[] {
    const found: Mount[] = [];
    const seen = new Set([channel]);
    for (let key = channel; ; ) {
      const mount = this.#mounts.get(this.#toOf.get(key) ?? '');
      if (mount === undefined || seen.has(mount.audio.key)) return found;
      found.push(mount);
      seen.add((key = mount.audio.key));
    }
  }
}
