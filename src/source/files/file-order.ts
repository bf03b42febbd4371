/**
 * In which order a switch prefers its sources: as the configuration has them, but for files. Of several files the one comes first in which listeners
 * can go on: it has the codec of what they hear, then its rate and channels. Pure.
 */

import { type AudioFormat, likeness } from '../../audio/frames/audio-format.js';
import type { Input } from '../input.js';

/**
 * @param onAir what plays is like itself, where nothing is known of its file
 * @param playing what listeners hear; null: nothing has played
 * @returns inputs, each once
 */
export function orderOf(
  inputs: readonly Input[],
  onAir: Input | undefined,
  playing: AudioFormat | null,
): readonly Input[] {
  const files = inputs.filter(({ source }) => source.kind === 'file');
  if (files.length < 2 || playing === null) return inputs;
  const likenessOf = (input: Input) => {
    const format = input.source.format ?? (input === onAir ? playing : null);
    return format === null ? 0 : likeness(format, playing);
  };
  files.sort((one, other) => likenessOf(other) - likenessOf(one));
  return inputs.map((input) => (input.source.kind === 'file' ? files.shift()! : input));
}
