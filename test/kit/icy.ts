/** What a listener received, taken apart by icecast-metadata-js, an independent reader. */

import { IcecastMetadataReader } from 'icecast-metadata-js';

export interface TitleAt {
  readonly title: string;
  readonly byte: number;
}

/** Audio and titles, each with its place in the audio. */
export function readBack(received: Buffer, metaint: number): { audio: Buffer; titles: TitleAt[] } {
  const reader = new IcecastMetadataReader({ icyMetaInt: metaint, metadataTypes: ['icy'] });
  const audio: Buffer[] = [];
  const titles: TitleAt[] = [];
  let byte = 0;
  for (const item of reader.iterator(received)) {
    if (item.stream !== undefined) {
      audio.push(Buffer.from(item.stream));
      byte += item.stream.length;
    } else titles.push({ title: item.metadata!['StreamTitle']!, byte });
  }
  return { audio: Buffer.concat(audio), titles };
}
