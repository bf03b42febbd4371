/** What an audio element plays: a stream (stream-titles.ts) or HLS (hls-medium.ts), in one play after the other. Owned by the attachment. */

import type { HeardPlaces } from './play-titles.js';
import type { AttachOptions } from './types.js';

export interface MediumHandlers extends Pick<AttachOptions, 'onNext'> {
  /** It is time to look at the titles. */
  readonly onDue: () => void;
  /** It broke off, which the element does not report. */
  readonly onBroken: () => void;
}

export interface Medium {
  /** Prepares the next play, and ends the download of the one before. Nothing is requested until the element plays. */
  arm(): void;
  /** The element has been asked to play what was prepared. @returns its titles, which the caller closes */
  begin(handlers: MediumHandlers): HeardPlaces;
  /** Ends the download, if there is one. The last call. */
  close(): void;
}
