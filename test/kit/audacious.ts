/**
 * Audacious without a window, on its own D-Bus, with SDL's dummy output, which keeps time. A shell polls its display twice a second, and takes
 * commands on its input (`audtool …`). Needs bash, dbus-run-session (dbus-daemon) and audtool too.
 * For `audio/ogg` it uses the first decoder of that type, FLAC's, unless the URL has another extension: .ogg (Vorbis), .opus.
 */

import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type PlayerKind, titleLine } from './player-program.js';

/** Below a folder named after the architecture. */
const OUTPUT = 'audacious/Output/sdlout.so';

const SHELL = `audacious -H -V "$1" &
while kill -0 $! 2>&-; do
  if read -r -t 0.5 line; then eval "$line"; fi
  echo "title: $(audtool current-song-tuple-data title)"
  echo "state: $(audtool playback-status) $(audtool current-song-output-length-seconds)"
done 2>&-`;

export const audacious: PlayerKind = {
  name: 'audacious',
  program: 'dbus-run-session',
  args: (url) => ['--', 'bash', '-c', SHELL, 'audacious', url],
  env: { SDL_AUDIODRIVER: 'dummy', QT_QPA_PLATFORM: 'offscreen' },
  prepare: (folder) => {
    const settings = join(folder, '.config/audacious');
    mkdirSync(settings, { recursive: true });
    // The only enabled output. Audacious finds other plugins by itself.
    const path = readdirSync('/usr/lib')
      .map((name) => join('/usr/lib', name, OUTPUT))
      .find((name) => existsSync(name));
    const plugin = ['stamp 0', 'version 48', 'flags 0', 'name SDL Output', 'domain audacious-plugins'];
    const lines = ['format 11', `output ${path}`, ...plugin, 'priority 1', 'about 1', 'config 0', 'enabled 1', ''];
    writeFileSync(join(settings, 'plugin-registry'), lines.join('\n'));
  },
  shows: (title, codec) => `title: ${codec === 'mp3' || codec === 'aac' ? titleLine(title) : title.song}\n`,
  complaint: /^(?:ERROR|WARNING) /,
  // ffmpeg's decoder prints this for every Opus file.
  excused: /Could not update timestamps for skipped samples/,
  position: /^state: playing (\d+)$/,
  stopped: /^state: stopped/m,
  again: 'audtool playback-playing || audtool playback-play',
  limits: { opus: 'first title', flac: 'one link' },
};
