/** The details of one channel, for an operator: the timeline of its sources, and its tape, with titles at their places. */

import type { ChannelDepth, TapeReport, TapeTitle } from '../../admin/channel-rows.js';
import type { PlayableAudio } from '../../audio/playable-audio.js';
import type { Mark } from '../../audio/tape/mark.js';
import type { Channel } from '../../channel/channel.js';

export function channelDepth({ audio, timeline }: Pick<Channel, 'audio' | 'timeline'>): ChannelDepth {
  return { timeline, tape: tapeReport(audio), titles: tapeTitles(audio) };
}

function tapeReport({ tape, metaint, delayMs, delayedMs }: PlayableAudio): TapeReport | null {
  if (tape === undefined) return null;
  let bytes = 0;
  for (let seq = tape.tail; seq < tape.head; seq++) bytes += tape.at(seq)!.bytes.length;
  const heldMs = tape.head > tape.tail ? tape.edgeMs - tape.at(tape.tail)!.startMs : 0;
  return {
    heldMs: Math.round(heldMs),
    bytes,
    segments: tape.head - tape.tail,
    metaint,
    delayMs,
    delayedMs: Math.round(delayedMs),
  };
}

/** The second that is not closed yet apart. */
function tapeTitles({ tape }: PlayableAudio): TapeTitle[] {
  if (tape === undefined || tape.head === tape.tail) return [];
  const { edgeMs } = tape;
  const found: TapeTitle[] = [];
  const add = ({ view }: Mark, atMs: number) =>
    found.push({ id: view.record.id, title: view.title, behindMs: Math.round(edgeMs - atMs) });
  const first = tape.at(tape.tail)!;
  if (first.before !== null) add(first.before, first.startMs);
  for (let seq = tape.tail; seq < tape.head; seq++) for (const { mark, atMs } of tape.at(seq)!.marks) add(mark, atMs);
  return found;
}
