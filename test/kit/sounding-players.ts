/**
 * Players of other projects whose sound can be recorded: each plays into its own PulseAudio, directly or through ALSA. PlayerProgram starts them.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { audacious } from './audacious.js';
import { mpdConfig, mpdPlayer } from './mpd-player.js';
import { playbin } from './playbin.js';
import { type PlayerKind, titleLine } from './player-program.js';

/** MOC: a server in the background, which its client polls twice a second. */
const MOC = `mocp -F -M "$1/moc" >/dev/null 2>&1 &
until mocp -M "$1/moc" -l "$2"; do sleep 0.3; done 2>&-
while kill -0 $! 2>&-; do
  sleep 0.5
  mocp -M "$1/moc" -Q 'state: %state title: %title'
done`;

const ICY = (title: string) => `StreamTitle='${title}';`;

interface SoundingPlayer extends PlayerKind {
  /** Required commands. */
  readonly needs: readonly string[];
  /** The only codec that it plays; absent: all. */
  readonly codec?: 'mp3';
}

export const soundingPlayers: readonly SoundingPlayer[] = [
  {
    program: 'mpv',
    needs: ['mpv'],
    args: (url, folder) => [
      '--no-config',
      '--no-video',
      '--ao=pulse',
      `--input-ipc-server=${join(folder, 'ipc')}`,
      url,
    ],
    shows: (title) => `"name":"media-title","data":${JSON.stringify(titleLine(title))}`,
    complaint: /error/i,
    socket: 'ipc',
  },
  {
    program: 'ffplay',
    needs: ['ffplay'],
    args: (url) => ['-nodisp', '-v', 'verbose', url],
    env: { SDL_AUDIODRIVER: 'pulse' },
    shows: (title) => `Metadata update for StreamTitle: ${titleLine(title)}`,
    complaint: /error|invalid/i,
  },
  {
    program: 'cvlc',
    needs: ['cvlc'],
    args: (url) => ['-vv', '--no-color', '--no-dbus', '-I', 'dummy', '--aout', 'pulse', url],
    shows: (title) => `New Icy-Title=${titleLine(title)}`,
    complaint: /error/,
    asNobody: true,
  },
  {
    program: 'mplayer',
    needs: ['mplayer'],
    args: (url) => ['-noconfig', 'all', '-nolirc', '-nojoystick', '-vo', 'null', '-ao', 'pulse', '-quiet', url],
    shows: (title) => `ICY Info: ${ICY(titleLine(title))}`,
    complaint: /decode error/,
  },
  {
    program: 'mpg123',
    needs: ['mpg123'],
    codec: 'mp3',
    args: (url) => ['-vv', '-o', 'pulse', url],
    shows: (title) => `ICY-META: ${ICY(titleLine(title))}`,
    complaint: /error/,
  },
  {
    ...playbin,
    needs: ['gst-launch-1.0'],
    args: (url) => ['-t', '--force-position', 'playbin', `uri=${url}`, 'audio-sink=alsasink'],
  },
  {
    ...mpdPlayer,
    needs: ['mpd', 'mpc', 'bash'],
    prepare: (folder) => mpdConfig(folder, 'pulse'),
  },
  {
    ...audacious,
    needs: ['audacious', 'audtool', 'dbus-run-session', 'bash'],
    env: { ...audacious.env, SDL_AUDIODRIVER: 'pulse' },
  },
  {
    name: 'mocp',
    program: 'bash',
    needs: ['mocp', 'bash'],
    args: (url, folder) => ['-c', MOC, 'moc', folder, url],
    prepare: (folder) => {
      mkdirSync(join(folder, 'moc'));
      writeFileSync(join(folder, 'moc/config'), 'SoundDriver = ALSA\nALSADevice = default\n');
    },
    shows: (title) => `title: ${titleLine(title)}\n`,
    complaint: /FATAL/,
  },
];
