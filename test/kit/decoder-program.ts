/**
 * AAC decoders of other projects: a file in, samples and complaints out. Each is a command that writes a WAV file.
 */

import { execFile } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { missing } from './program.js';

export interface DecoderProgram {
  readonly name: string;
  readonly command: string;
  /** Why it is not available; false: it is. */
  readonly missing: string | false;
  args(from: string, to: string): string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly complaint: RegExp;
  /** It outputs nothing for the first frame, which only begins the second one's window. */
  readonly swallowsFirst?: true;
}

const GST_ENV = { GST_DEBUG: '2', GST_DEBUG_NO_COLOR: '1' };

function gstreamer(name: string, decoder: readonly string[], swallowsFirst?: true): DecoderProgram {
  const wav = ['!', 'audioconvert', '!', 'audio/x-raw,format=S16LE', '!', 'wavenc', '!', 'filesink'];
  return {
    name,
    command: 'gst-launch-1.0',
    missing: missing('gst-launch-1.0'),
    args: (from, to) => ['-q', 'filesrc', `location=${from}`, '!', ...decoder, ...wav, `location=${to}`],
    env: GST_ENV,
    complaint: /^ERROR|^WARNING|(?:ERROR|WARN) +(?:typefind|aacparse|baseparse|faad|libav)/m,
    ...(swallowsFirst && { swallowsFirst }),
  };
}

export const AAC_DECODERS: readonly DecoderProgram[] = [
  {
    name: 'ffmpeg',
    command: 'ffmpeg',
    missing: missing('ffmpeg'),
    args: (from, to) => ['-v', 'error', '-xerror', '-err_detect', 'crccheck+bitstream+buffer', '-i', from, to],
    complaint: /./,
  },
  {
    name: 'faad',
    command: 'faad',
    missing: missing('faad'),
    args: (from, to) => ['-o', to, from],
    complaint: /error|invalid|unable|fail/i,
    swallowsFirst: true,
  },
  gstreamer('gstreamer avdec_aac', ['aacparse', '!', 'avdec_aac']),
  gstreamer('gstreamer faad', ['aacparse', '!', 'faad'], true),
  // It detects the format by itself.
  gstreamer('gstreamer', ['decodebin']),
  {
    name: 'mpv',
    command: 'mpv',
    missing: missing('mpv'),
    args: (from, to) => ['--no-config', '--no-video', '--ao=pcm', `--ao-pcm-file=${to}`, '--msg-level=all=error', from],
    complaint: /^\[|error/im,
  },
  {
    name: 'mplayer',
    command: 'mplayer',
    missing: missing('mplayer'),
    args: (from, to) => ['-noconfig', 'all', '-nolirc', '-vo', 'null', '-ao', `pcm:fast:file=${to}`, from],
    complaint: /error|invalid|junk|resync|illegal|cannot sync/i,
  },
];

export interface Decoded {
  /** Number of samples per channel. */
  readonly samples: number;
  readonly hertz: number;
  /** Its lines, or how it ended. */
  readonly complaints: string[];
}

export async function decode(decoder: DecoderProgram, from: string): Promise<Decoded> {
  const to = `${from}.${decoder.name.replace(/\W/g, '-')}.wav`;
  const env = { ...process.env, LC_ALL: 'C.UTF-8', ...decoder.env };
  const { said, code } = await new Promise<{ said: string; code: unknown }>((done) => {
    execFile(decoder.command, decoder.args(from, to), { env, timeout: 30_000 }, (error, out, err) =>
      done({ said: `${out}${err}`, code: error?.code ?? error?.signal }),
    );
  });
  const complaints = said.split('\n').filter((line) => decoder.complaint.test(line));
  if (code !== undefined && code !== null) complaints.push(`ended with ${code}: ${said.slice(-300)}`);
  const wav = readWav(to);
  rmSync(to, { force: true });
  return { ...wav, complaints };
}

/** Ignores lengths in the header, which a program that writes to a pipe cannot know. */
function readWav(path: string): { samples: number; hertz: number } {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch {
    return { samples: 0, hertz: 0 };
  }
  const format = bytes.indexOf('fmt ') + 8;
  const [channels, hertz] = [bytes.readUInt16LE(format + 2), bytes.readUInt32LE(format + 4)];
  const bits = bytes.readUInt16LE(format + 14);
  const from = bytes.indexOf('data') + 8;
  return { samples: Math.round((bytes.length - from) / (channels * (bits / 8))), hertz };
}
