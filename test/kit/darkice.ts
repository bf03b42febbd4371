/** DarkIce as an encoder. It records from ALSA: here from a device that reads ffmpeg's output from a pipe. */

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { ENCODER_HERTZ } from './channel-probe.js';
import type { Target } from './encoder-kind.js';
import { Program } from './program.js';
import { tempFolder } from './temp-folder.js';

const FORMATS = {
  mp3: 'format = mp3\nbitrateMode = cbr\nbitrate = 128\nquality = 0.8',
  vorbis: 'format = vorbis\nbitrateMode = vbr\nquality = 0.3',
} as const;

/** @param reconnect whether it reconnects after the loss of its server; `yes` is its default */
export function startDarkice(
  t: Test,
  to: Omit<Target, 'sound'>,
  reconnect: 'yes' | 'no',
  format: keyof typeof FORMATS = 'mp3',
): Program {
  const { port, mount, password } = to;
  const folder = tempFolder(t);
  const pipe = join(folder, 'pcm');
  execFileSync('mkfifo', [pipe]);
  const [alsa, config] = [join(folder, 'asound.conf'), join(folder, 'darkice.cfg')];
  writeFileSync(
    alsa,
    `pcm.null { type null }
pcm.feed { type file slave { pcm null } file /dev/null infile ${pipe} format raw }
`,
  );
  writeFileSync(
    config,
    `[general]
duration = 0
bufferSecs = 1
reconnect = ${reconnect}
realtime = no
[input]
device = feed
sampleRate = ${ENCODER_HERTZ}
bitsPerSample = 16
channel = 2
[icecast2-0]
port = ${port}
password = ${password}
mountPoint = ${mount.slice(1)}
${FORMATS[format]}
server = 127.0.0.1
name = Prögramm
genre = Demo
public = no
`,
  );
  const sine = ['-re', '-f', 'lavfi', '-i', `sine=frequency=500:sample_rate=${ENCODER_HERTZ}`];
  new Program(t, 'ffmpeg', ['-v', 'error', '-nostdin', '-y', ...sine, '-ac', '2', '-f', 's16le', pipe]);
  return new Program(t, 'darkice', ['-v', '5', '-c', config], { ALSA_CONFIG_PATH: alsa });
}
