/** Refusals of requests for HLS (hls-routes.ts). */

import { Refusal, retryLater } from '../../base/refusal.js';
import type { Mount } from '../../channel/mount.js';
import { hlsPath } from './hls-answers.js';

export const RETRY_SECONDS = 2;

/** @throws Refusal */
export function refuseVorbis(mount: Mount): void {
  if (hlsPath(mount, mount.path) !== null) return;
  throw new Refusal('not-found', 'Vorbis is not served as HLS, only MP3, AAC, Opus and FLAC.');
}

export function noHls(): Refusal {
  return new Refusal('not-found', 'This channel is not served as HLS.');
}

/** The process that cuts the segment does not answer in time. */
export function notHereYet(): Refusal {
  return retryLater('unavailable', 'This segment is not yet available.', RETRY_SECONDS);
}

export function noSegment(): Refusal {
  return retryLater('unavailable', 'The playlist has no audio yet.', RETRY_SECONDS);
}
