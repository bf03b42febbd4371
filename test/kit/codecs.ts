/** A station for browsers: channels of each codec, and of low bitrates, each from a file of 20 s that ffmpeg makes first. */

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { Log } from '../../src/base/log.js';
import { DEMO_AUDIO, startServer, type TestServer } from './server.js';
import { tempFolder } from './temp-folder.js';

const LOW = ['-ac', '1', '-ar', '22050'] as const;
const CODECS = {
  mp3: ['mp3', '-b:a', '128k'],
  aac: ['aac', '-b:a', '96k'],
  vorbis: ['ogg', '-c:a', 'libvorbis', '-b:a', '96k'],
  opus: ['ogg', '-c:a', 'libopus', '-b:a', '64k'],
  flac: ['ogg', '-c:a', 'flac'],
  // At this bitrate, 5 s are not enough for any browser to begin.
  lowVorbis: ['ogg', '-c:a', 'libvorbis', '-q:a', '-1', ...LOW],
  lowAac: ['aac', '-b:a', '40k', ...LOW],
} as const;

export type CodecName = keyof typeof CODECS;
export const CODEC_NAMES = Object.keys(CODECS) as CodecName[];
/** How long a channel plays until its burst has what browsers wait for. */
export const CODECS_FILL_MS = 12_000;

/** Its channels are named after the codecs, and take encoders (`demo-source`) and pushes (`demo-token`); `burstSeconds` is 2. */
export function startCodecs(t: Test, names: readonly CodecName[], log?: Log): Promise<TestServer> {
  const folder = tempFolder(t);
  const channels = names.map((name) => {
    const [extension, ...options] = CODECS[name];
    const path = join(folder, `${name}.${extension}`);
    execFileSync('ffmpeg', ['-v', 'error', '-t', '20', '-i', DEMO_AUDIO, ...options, path]);
    const sources = `[{ type: encoder, password: demo-source }, { type: file, path: ${path} }]`;
    return `${name}: { pushTokens: [demo-token], sources: ${sources} }`;
  });
  const yaml = `
addresses: [{ host: 127.0.0.1, port: 0 }]
streams: { burstSeconds: 2 }
stations: { demo: { channels: { ${channels.join(', ')} } } }
`;
  return startServer(t, yaml, undefined, log);
}

/** Pushes a title. */
export async function pushTo({ base }: TestServer, channel: CodecName, artist: string, song: string): Promise<void> {
  const query = new URLSearchParams({ artist, song });
  const answer = await fetch(`${base}/metapush/${channel}/demo-token?${query}`);
  if (answer.status !== 200) throw new Error(`push: ${answer.status}`);
}
