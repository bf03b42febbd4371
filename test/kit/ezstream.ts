/**
 * ezstream, the simplest program on libshout (which Mixxx, MPD and IceS use too): sends a list of tagged MP3 files made by ffmpeg, over and over,
 * with libshout's title updates at the start of each file.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { ENCODER_HERTZ } from './channel-probe.js';
import { alwaysRefused, type EncoderKind } from './encoder-kind.js';
import { Program } from './program.js';
import { makeTagged, type Tags } from './tagged.js';
import { tempFolder } from './temp-folder.js';

export interface EzstreamOptions {
  /** `HTTP`, or `ICY` for SHOUTcast v1. */
  readonly protocol: 'HTTP' | 'ICY';
  /** `May` is libshout's default: it asks for TLS on the connection before it sends (RFC 2817). */
  readonly tls: 'None' | 'May';
  readonly port: number;
  readonly mount: string;
  readonly password: string;
  /** Further elements of its `<server>`. */
  readonly more?: string;
}

/** Makes files of this length, and a list of them. @returns the list's path */
export function makeList(t: Test, files: readonly Tags[], seconds: number, hertz = ENCODER_HERTZ): string {
  const folder = tempFolder(t);
  const paths = files.map((tags, i) => {
    const tone = { hertz, pitch: 500 + 100 * i, seconds, type: 'mp3' };
    return makeTagged(t, tags, tone, join(folder, `${i}.mp3`));
  });
  const list = join(folder, 'list.m3u');
  writeFileSync(list, `${paths.join('\n')}\n`);
  return list;
}

export function startEzstream(t: Test, list: string, options: EzstreamOptions): Program {
  const { protocol, tls, port, mount, password, more = '' } = options;
  const path = join(tempFolder(t), 'ezstream.xml');
  const server = `<protocol>${protocol}</protocol><hostname>127.0.0.1</hostname><port>${port}</port><password>${password}</password>`;
  const about =
    '<stream_name>Prögramm</stream_name><stream_genre>Demo</stream_genre><stream_bitrate>128</stream_bitrate>';
  const xml = `<?xml version="1.0" encoding="UTF-8"?>
<ezstream>
<servers><server>${server}<tls>${tls}</tls>${more}</server></servers>
<streams><stream><mountpoint>${mount}</mountpoint><format>MP3</format>${about}</stream></streams>
<intakes><intake><filename>${list}</filename></intake></intakes>
</ezstream>
`;
  writeFileSync(path, xml, { mode: 0o600 });
  return new Program(t, 'ezstream', ['-v', '-c', path]);
}

const REFUSED = { tries: [1, 1], says: /error -3: Login failed/, ends: true } as const;

export const ezstream: EncoderKind = {
  name: 'ezstream',
  needs: ['ezstream'],
  codec: 'mp3',
  start: async (t, { port, mount, password }) => {
    const list = makeList(t, [{ artist: 'Björk', title: 'Jóga' }], 15, 44_100);
    return startEzstream(t, list, { protocol: 'HTTP', tls: 'May', port, mount, password });
  },
  // The title was sent with the first audio.
  title: async () => undefined,
  refused: alwaysRefused(REFUSED),
  // Each of its retries ends with "Couldn't connect" before it opens a socket.
  onLoss: 'stays away',
};
