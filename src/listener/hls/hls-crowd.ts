/**
 * Estimates how many listen to HLS anonymously, by the requests of this process. It counts different players, by X-Playback-Session-Id or else by
 * address and user agent, that have requested the playlist within three TARGETDURATION. Players behind a cache are invisible.
 *
 * Invariant: of a player only a digest is kept, for that time; there are at most `max` (those of other processes as of a moment ago).
 */

import type { Clock } from '../../base/clock.js';
import type { Tallies } from '../../base/tallies.js';
import type { Tally } from '../../base/tally.js';
import { identify, type ListenerRequest } from '../listener-stats.js';
import { digestOf } from '../unique-tally.js';

/** How long a player counts after a request, in TARGETDURATION. */
const COUNTED_TARGETS = 3;

interface ChannelCrowd {
  /** Digest → until when it counts, in the order of the last requests. */
  readonly players: Map<string, number>;
  readonly tally: Tally;
}

export class HlsCrowd {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #tallies: Tallies;
  readonly #max: () => number;
  readonly #channels = new Map<string, ChannelCrowd>();
  #count = 0;

  /** @param max number of players of all channels at once */
  constructor(clock: Pick<Clock, 'now'>, tallies: Tallies, max: () => number) {
    this.#clock = clock;
    this.#tallies = tallies;
    this.#max = max;
    tallies.onLook(() => tallies.all.set('hls', this.#count));
  }

  /** A player requests the playlist. @param targetMs TARGETDURATION */
  asked(channel: string, request: Pick<ListenerRequest, 'address' | 'header'>, targetMs: number): void {
    const { players, tally } = this.#crowdOf(channel);
    const digest = digestOf(identify(request, request.header('user-agent') ?? '', null).identity);
    if (!players.delete(digest)) {
      if (this.#count + this.#tallies.all.others('hls') >= this.#max()) return;
      this.#count++;
      tally.set(digest, 1);
    }
    players.set(digest, this.#clock.now() + COUNTED_TARGETS * targetMs);
  }

  /** The count of all processes: a player that has used two of them counts once. */
  count(channel: string): number {
    const crowd = this.#channels.get(channel);
    const remote = this.#tallies.isShared ? this.#crowdOf(channel).tally.remoteCount : 0;
    return (crowd?.players.size ?? 0) + remote;
  }

  /** Once a second. */
  tidy(nowMs: number): void {
    for (const { players, tally } of this.#channels.values()) {
      for (const [digest, untilMs] of players) {
        if (untilMs > nowMs) break;
        players.delete(digest);
        tally.set(digest, 0);
        this.#count--;
      }
    }
  }

  #crowdOf(channel: string): ChannelCrowd {
    let crowd = this.#channels.get(channel);
    if (crowd === undefined) {
      crowd = { players: new Map(), tally: this.#tallies.tally(`hls ${channel}`) };
      this.#channels.set(channel, crowd);
    }
    return crowd;
  }
}
