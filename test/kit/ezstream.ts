/**
 * ezstream, the plainest program on libshout (which Mixxx, MPD and IceS send with as well): a list of tagged MP3 files made by ffmpeg,
 * sent again and again, with libshout's own title updates at each file's beginning.
 */

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { Program } from './program.js';
import { tempFolder } from './server.js';
import { ENCODER_HERTZ } from './witness.js';

export interface Tags {
  readonly artist: string;
  readonly title: string;
}

export interface EzstreamOptions {
  /** `HTTP`, or `ICY` for SHOUTcast v1. */
  readonly protocol: 'HTTP' | 'ICY';
  /** `May` is libshout's own default: it asks for TLS on a connection before it sends (RFC 2817). */
  readonly tls: 'None' | 'May';
  readonly port: number;
  readonly mount: string;
  readonly password: string;
}

/** The path of a list of files, each so long. */
export function makeList(t: Test, files: readonly Tags[], seconds: number): string {
  const folder = tempFolder(t);
  const paths = files.map(({ artist, title }, i) => {
    const path = join(folder, `${i}.mp3`);
    const sine = `sine=frequency=${500 + 100 * i}:sample_rate=${ENCODER_HERTZ}:duration=${seconds}`;
    const tags = ['-metadata', `artist=${artist}`, '-metadata', `title=${title}`];
    execFileSync('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', sine, '-ac', '2', '-b:a', '128k', ...tags, path]);
    return path;
  });
  const list = join(folder, 'list.m3u');
  writeFileSync(list, `${paths.join('\n')}\n`);
  return list;
}

export function startEzstream(t: Test, list: string, options: EzstreamOptions): Program {
  const { protocol, tls, port, mount, password } = options;
  const path = join(tempFolder(t), 'ezstream.xml');
  const server = `<protocol>${protocol}</protocol><hostname>127.0.0.1</hostname><port>${port}</port><password>${password}</password>`;
  const about =
    '<stream_name>Prögramm</stream_name><stream_genre>Demo</stream_genre><stream_bitrate>128</stream_bitrate>';
  const xml = `<?xml version="1.0" encoding="UTF-8"?>
<ezstream>
<servers><server>${server}<tls>${tls}</tls></server></servers>
<streams><stream><mountpoint>${mount}</mountpoint><format>MP3</format>${about}</stream></streams>
<intakes><intake><filename>${list}</filename></intake></intakes>
</ezstream>
`;
  writeFileSync(path, xml, { mode: 0o600 });
  return new Program(t, 'ezstream', ['-v', '-c', path]);
}
