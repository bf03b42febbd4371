/**
 * A channel's delay line as plain data, in pieces that fit into messages, from the hub that stops feeding it to the next one. Times are unix
 * milliseconds, which both share.
 */

import type { DelayedAudio } from '../../audio/channel-audio.js';
import { readIdentification } from '../../audio/ogg/ogg-codec.js';
import { OggLink } from '../../audio/ogg/ogg-link.js';
import type { Clock } from '../../base/clock.js';
import { must, viewSchema } from '../../metadata/record-schema.js';
import { RecordView } from '../../metadata/view.js';
import { WireError } from '../wire/wire.js';
import type { PlainDelayedAudio } from './offer-schema.js';

/** Size of the frames in one piece; one frame may exceed it. */
const PIECE_BYTES = 512 * 1024;

export function plainDelayedAudio({ line, titles }: DelayedAudio, clock: Clock): PlainDelayedAudio[] {
  const wallMs = clock.wallMs() - clock.now();
  const links: OggLink[] = [];
  const numberOf = (link: OggLink | undefined) => {
    if (link === undefined) return -1;
    if (links.at(-1) !== link) links.push(link);
    return links.length - 1;
  };
  const pieces: PlainDelayedAudio['frames'][] = [[]];
  let bytes = 0;
  for (const { frame, isNextSource } of line.frames) {
    if (bytes > PIECE_BYTES) {
      pieces.push([]);
      bytes = 0;
    }
    bytes += frame.bytes.length;
    pieces.at(-1)!.push({
      bytes: frame.bytes,
      durationMs: frame.durationMs,
      bitrateKbps: frame.bitrateKbps,
      fresh: frame.fresh,
      link: numberOf(frame.link),
      source: isNextSource ? {} : null,
      arrivedMs: frame.arrivedMs + wallMs,
    });
  }
  const all = {
    playedMs: Number.isNaN(line.playedMs) ? null : line.playedMs + wallMs,
    titles: titles.map(({ view, momentMs, position }) => ({
      record: view.record,
      channel: view.channel,
      momentMs: momentMs + wallMs,
      position,
    })),
    links: links.map((link) => link.packets(null, 0)),
  };
  return pieces.map((frames, i) => (i === 0 ? { ...all, frames } : { playedMs: null, titles: [], links: [], frames }));
}

/** @param pieces all of them @throws WireError, CheckError if they are malformed */
export function readDelayedAudio(
  channel: string,
  pieces: readonly PlainDelayedAudio[],
  clock: Clock,
): DelayedAudio | null {
  const [first] = pieces;
  if (first === undefined) return null;
  const links = first.links.map((packets) => linkOf(packets));
  const frames = pieces.flatMap((piece) => piece.frames);
  // No arrival is later than now, whatever the clocks of two machines say.
  const wallMs = Math.max(clock.wallMs(), frames.at(-1)?.arrivedMs ?? 0) - clock.now();
  return {
    line: {
      playedMs: first.playedMs === null ? Number.NaN : first.playedMs - wallMs,
      frames: frames.map(({ bytes, durationMs, bitrateKbps, fresh, link, source, arrivedMs }) => {
        if (link >= links.length) throw new WireError(`link ${link} is not known`);
        return {
          frame: {
            bytes,
            durationMs,
            bitrateKbps,
            fresh,
            link: links[link],
            arrivedMs: Math.min(clock.now(), arrivedMs - wallMs),
          },
          isNextSource: source !== null,
        };
      }),
    },
    titles: first.titles.map(({ record, channel: face, momentMs, position }) => {
      const read = must<Pick<RecordView, 'record' | 'channel'>>(viewSchema, { record, channel: face });
      if (read.record.channel !== channel) throw new WireError('a delayed title of another channel');
      return { view: new RecordView(read.record, read.channel), momentMs: momentMs - wallMs, position };
    }),
  };
}

function linkOf(packets: readonly Buffer[]): OggLink {
  if (readIdentification(packets[0]!) === null) throw new WireError('a link of an unknown codec');
  return new OggLink(packets);
}
