/**
 * A cache of response heads, since a crowd that joins gets the same bytes. One for each mount's facts, with ICY and without, rendered again when
 * anything in it has changed.
 */

import { type AudioFacts, type HeadFacts, streamHead } from './stream-head.js';

interface RenderedHead extends AudioFacts {
  readonly metaint: number | null;
  readonly addressHeaders: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
}

export class StreamHeads {
  readonly #withIcy = new WeakMap<HeadFacts, RenderedHead>();
  readonly #plain = new WeakMap<HeadFacts, RenderedHead>();

  /** As streamHead. @param facts immutable @param addressHeaders the same object for all requests at an address */
  head(
    facts: HeadFacts,
    audio: AudioFacts,
    metaint: number | null,
    addressHeaders: Readonly<Record<string, string>>,
  ): Buffer {
    const kind = metaint === null ? this.#plain : this.#withIcy;
    const last = kind.get(facts);
    if (last?.metaint === metaint && last.addressHeaders === addressHeaders && isSame(last, audio)) return last.bytes;
    const { contentType, bitrateKbps, sampleRate, channels } = audio;
    const bytes = streamHead(facts, audio, metaint, addressHeaders);
    kind.set(facts, { contentType, bitrateKbps, sampleRate, channels, metaint, addressHeaders, bytes });
    return bytes;
  }
}

function isSame(one: AudioFacts, other: AudioFacts): boolean {
  return (
    one.contentType === other.contentType &&
    one.bitrateKbps === other.bitrateKbps &&
    one.sampleRate === other.sampleRate &&
    one.channels === other.channels
  );
}
