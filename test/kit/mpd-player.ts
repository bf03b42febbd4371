/**
 * MPD as a player, with its null output, which keeps time. A shell polls its state twice a second, and takes commands on its input (`mpc …`).
 * Needs bash and mpc too.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type PlayerKind, titleLine } from './player-program.js';

const SHELL = `export MPD_HOST="$1/socket"
mpd --no-daemon --stderr "$1/mpd.conf" &
until mpc -q add "$2"; do sleep 0.2; done 2>&-
mpc -q play
while kill -0 $! 2>&-; do
  if read -r -t 0.5 line; then eval "$line"; fi
  mpc -f 'title: [%artist% - ]%title%' current
  mpc status 'state: %state% %currenttime%'
done`;

/** @param output type of its output */
export function mpdConfig(folder: string, output: 'null' | 'pulse'): void {
  writeFileSync(
    join(folder, 'mpd.conf'),
    `bind_to_address "${join(folder, 'socket')}"
log_level "verbose"
zeroconf_enabled "no"
audio_output {
  type "${output}"
  name "sound"
}
`,
  );
}

export const mpdPlayer: PlayerKind = {
  name: 'mpd',
  program: 'bash',
  args: (url, folder) => ['-c', SHELL, 'mpd', folder, url],
  prepare: (folder) => mpdConfig(folder, 'null'),
  shows: (title) => `title: ${titleLine(title)}\n`,
  complaint: /error|exception|fail|lost|corrupt|invalid|warning/i,
  position: /^state: playing (\d+):(\d+)$/,
  // mpc's output for both states.
  stopped: /^state: (?:paused|stopped)/m,
  again: "mpc status '%state%' | grep -q playing || mpc -q play",
  limits: { flac: 'one link' },
};
