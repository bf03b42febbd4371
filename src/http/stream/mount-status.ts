/** A channel for playlists and statistics, and how requests select one. Values are read at each request, never cached. */

import type { Clock } from '../../base/clock.js';
import { Refusal } from '../../base/refusal.js';
import { parameter, plainPath } from '../../base/request-target.js';
import type { Mount } from '../../channel/mount.js';
import type { ListenerCounts } from '../../listener/listener-stats.js';
import type { PublicUrl } from './public-url.js';

/** Made by app/worker/mount-statuses.ts. */
export interface MountStatus {
  readonly mount: Mount;
  /** The paths of all its mounts; statistics name the first. */
  readonly paths: readonly string[];
  /** The beginning of its uninterrupted time on air, unix milliseconds; null: it is not on air. */
  readonly onAirSinceMs: number | null;
  /** The line in force; "": none. */
  readonly title: string;
  /** "": none. */
  readonly nextTitle: string;
  /** The records of both as JSON; null: none. */
  readonly records: { readonly now: string | null; readonly next: string | null };
  readonly maxListeners: number;
  readonly counts: ListenerCounts;
  /** An estimate of the anonymous listeners of HLS, who are not in `counts` (listener/hls/hls-crowd.ts). */
  readonly hlsListeners: number;
  /** The lag of the median listener behind the live edge, milliseconds; null: there are no listeners. */
  readonly typicalLagMs: number | null;
}

export interface StatusFacts {
  /** In configured order, which is also that of `sid` (from 1). */
  readonly channels: readonly MountStatus[];
  readonly publicUrl: PublicUrl;
  /** The Server header. */
  readonly server: string;
  /** Unix milliseconds. */
  readonly startedMs: number;
  readonly clock: Pick<Clock, 'now' | 'wallMs'>;
}

/** Whether there is audio, or would be as soon as a client listens. */
export function isOnAir({ mount }: MountStatus): boolean {
  return mount.hasAudio || mount.onDemand;
}

/** The path in `?mount=`, in the spelling of configured mounts; null: none. */
export function askedMount(url: string): string | null {
  const mount = parameter(url, 'mount');
  return mount === null ? null : plainPath(mount);
}

/** The channel of `?mount=`, else of `?sid=`, else the first. @throws Refusal not-found */
export function channelOf(channels: readonly MountStatus[], url: string): MountStatus {
  const mount = askedMount(url);
  const sid = parameter(url, 'sid') || '1';
  const found =
    mount === null
      ? channels[/^\d{1,9}$/.test(sid) ? Number(sid) - 1 : -1]
      : channels.find(({ paths }) => paths.includes(mount));
  if (found === undefined) throw new Refusal('not-found', 'There is no such stream.');
  return found;
}
