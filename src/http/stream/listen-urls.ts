/**
 * Finds the mount of a path: the one with exactly this path, as in nearly all requests; else the one with the same path in another spelling; else,
 * if `shoutcastListenUrls` names a channel, by one of SHOUTcast's listen URLs:
 *
 *   /;   /;stream.mp3   /stream/1/   ─► that channel          /mount;   /mount;stream.nsv   /mount/;   ─► that mount
 */

import { plainPath } from '../../base/request-target.js';
import type { Mount } from '../../channel/mount.js';

const ROOT = /^\/(?:stream\/1(?:\/|\/?;.*)?|;.*)$/;
const NUMBERED = /^\/stream\/(\d{1,9})(?:\/|\/?;.*)?$/;
const BEHIND_MOUNT = /^(.+?)\/?;[^;]*$/;

export class ListenUrls {
  readonly #mounts: ReadonlyMap<string, Mount>;
  readonly #shoutcast: () => string | undefined;

  /** @param shoutcast returns the channel of `shoutcastListenUrls` */
  constructor(mounts: ReadonlyMap<string, Mount>, shoutcast: () => string | undefined) {
    this.#mounts = mounts;
    this.#shoutcast = shoutcast;
  }

  mountAt(path: string): Mount | undefined {
    const mount = this.#mounts.get(path);
    if (mount !== undefined) return mount;
    const plain = plainPath(path);
    return (plain === path ? undefined : this.#mounts.get(plain)) ?? this.#shoutcastMount(plain);
  }

  /** The number of a SHOUTcast stream that does not exist; null: the path names none, or SHOUTcast's URLs are not served. */
  otherStream(path: string): string | null {
    if (this.#shoutcast() === undefined || this.mountAt(path) !== undefined) return null;
    return NUMBERED.exec(plainPath(path))?.[1] ?? null;
  }

  #shoutcastMount(path: string): Mount | undefined {
    const channel = this.#shoutcast();
    if (channel === undefined) return undefined;
    if (ROOT.test(path)) return this.#mounts.get(`/${channel}`);
    const before = BEHIND_MOUNT.exec(path)?.[1];
    return before === undefined ? undefined : (this.#mounts.get(before) ?? this.#mounts.get(`${before}/`));
  }
}
