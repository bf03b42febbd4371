/**
 * The title while a source on air has sent none yet, if the channel is configured to have another one than the fallback title or none
 * (src/now-playing/README.md, "Whose title"). It is a fallback title with the name of the source that it represents. Pure.
 */

import { type TrackRecord, titleLine } from '../metadata/record.js';
import { type Moment, putOnAir } from './effect.js';
import { type FallbackTitle, fallbackRecord } from './fallback.js';
import type { Change, ChannelState } from './state.js';

/** `last`: the title of the former source stays until this one sends one. */
export type FirstTitle = FallbackTitle | 'last';

/**
 * @param sinceMs when the speaker's time on air began, unix milliseconds
 * @returns null: the speaker has a title, or a push has, or the fallback title came into force since
 */
export function giveFirst(
  state: ChannelState,
  { name, sinceMs }: { readonly name: string; readonly sinceMs: number },
  title: FallbackTitle,
  at: Moment,
): Change | null {
  const { now, lost } = state;
  const isNothing = title.artist === '' && title.song === '';
  if (lost || (isNothing && (now === null || titleLine(now) === ''))) return null;
  if (now !== null && now.saidBy === undefined) {
    const isOpen = now.source === 'fallback' ? now.effectAtMs <= sinceMs : isEnded(now.source, titleLine(now));
    if (!isOpen) return null;
  } else if (now?.saidBy === name && !isOther(now, title)) return null;
  return putOnAir(state, { ...fallbackRecord(state, title, at), saidBy: name }, at);
}

/** Whether it represents the speaker with other words, as the configuration has changed. */
function isOther({ source, artist, song }: TrackRecord, title: FallbackTitle): boolean {
  return source === 'fallback' && (artist !== title.artist || song !== title.song);
}

/** Whether a source's title was ended because the source has gone; an empty push counts as a title. */
function isEnded(source: string, line: string): boolean {
  return source !== 'metapush' && line === '';
}
