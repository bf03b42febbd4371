/**
 * Players of other projects, each with its own sink, and the times at which each shows a title: mpv over its IPC socket, VLC over its HTTP interface
 * (which its pages poll), ffplay on its standard error. bench/process.ts stops them.
 */

import { mkdirSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { asNobody, giveToNobody } from '../../test/kit/nobody.js';
import { missing } from '../../test/kit/program.js';
import { freePort, Started } from '../process.js';
import type { DisplayedTitle } from './chromium.js';
import { nowMs, type Sound } from './sound.js';

export type PlayerName = 'mpv' | 'VLC' | 'ffplay';
const TRY_MS = 100;
const POLL_MS = 50;

export interface NativePlayer {
  readonly displayed: readonly DisplayedTitle[];
  stop(): Promise<void>;
}

const COMMANDS: Readonly<Record<PlayerName, string>> = { mpv: 'mpv', VLC: 'cvlc', ffplay: 'ffplay' };

/** Why it is skipped; false: it is installed. */
export const missingPlayer = (name: PlayerName): string | false => missing(COMMANDS[name]);

/** @param sink for this player only */
export async function startPlayer(name: PlayerName, sound: Sound, sink: string, url: string): Promise<NativePlayer> {
  const titles = new TitleLog();
  if (name === 'mpv') return startMpv(titles, sound, sink, url);
  if (name === 'VLC') return startVlc(titles, sound, sink, url);
  return startFfplay(titles, sound, sink, url);
}

/** Records when each title is first seen. */
class TitleLog {
  readonly displayed: DisplayedTitle[] = [];

  add(song: string): void {
    if (song !== this.displayed.at(-1)?.song) this.displayed.push({ song, ms: nowMs() });
  }
}

function startMpv(titles: TitleLog, sound: Sound, sink: string, url: string): NativePlayer {
  const path = join(sound.folder, `${sink}.ipc`);
  const quiet = ['--no-config', '--no-video', '--no-input-terminal', '--really-quiet'];
  const program = new Started('mpv', [...quiet, '--ao=pulse', `--input-ipc-server=${path}`, url], sound.env(sink));
  let socket: net.Socket | undefined;
  const retry = setInterval(() => {
    const trial = net.connect(path);
    trial.on('error', () => trial.destroy());
    trial.on('connect', () => {
      clearInterval(retry);
      socket = trial;
      trial.write(`${JSON.stringify({ command: ['observe_property', 1, 'metadata'] })}\n`);
    });
    let text = '';
    trial.on('data', (part: Buffer) => {
      const lines = (text += part).split('\n');
      text = lines.pop()!;
      for (const line of lines) {
        const title = JSON.parse(line).data?.['icy-title'];
        if (title !== undefined) titles.add(title);
      }
    });
  }, TRY_MS);
  const stop = async () => {
    clearInterval(retry);
    socket?.destroy();
    await program.stop();
  };
  return { displayed: titles.displayed, stop };
}

async function startVlc(titles: TitleLog, sound: Sound, sink: string, url: string): Promise<NativePlayer> {
  const port = await freePort();
  const home = join(sound.folder, `home-${sink}`);
  mkdirSync(home);
  // VLC refuses to run as root.
  giveToNobody(home);
  const env = { ...sound.env(sink), HOME: home, XDG_RUNTIME_DIR: home };
  const web = ['-I', 'http', '--http-host', '127.0.0.1', '--http-port', String(port), '--http-password', 'truth'];
  const [command, ...before] = [...asNobody, 'cvlc'];
  const program = new Started(command!, [...before, ...web, '--no-dbus', '--aout=pulse', url], env);
  const authorization = `Basic ${Buffer.from(':truth').toString('base64')}`;
  let asks = false;
  const timer = setInterval(async () => {
    if (asks) return;
    asks = true;
    const answer = await fetch(`http://127.0.0.1:${port}/requests/status.json`, {
      headers: { authorization },
      signal: AbortSignal.timeout(2000),
    }).then(
      (response) => response.json(),
      () => undefined,
    );
    asks = false;
    // biome-ignore lint/suspicious/noExplicitAny: JSON from VLC
    const title = (answer as any)?.information?.category?.meta?.now_playing;
    if (title !== undefined) titles.add(title);
  }, POLL_MS);
  const stop = async () => {
    clearInterval(timer);
    await program.stop();
  };
  return { displayed: titles.displayed, stop };
}

function startFfplay(titles: TitleLog, sound: Sound, sink: string, url: string): NativePlayer {
  const env = { ...sound.env(sink), SDL_AUDIODRIVER: 'pulseaudio', SDL_VIDEODRIVER: 'dummy' };
  const program = new Started('ffplay', ['-nodisp', '-nostats', '-loglevel', 'verbose', url], env);
  let text = '';
  program.stderr.on('data', (part: Buffer) => {
    const lines = (text += part).split('\n');
    text = lines.pop()!;
    for (const line of lines) {
      const title = /Metadata update for StreamTitle: (.*)/.exec(line)?.[1];
      if (title !== undefined) titles.add(title);
    }
  });
  return { displayed: titles.displayed, stop: () => program.stop() };
}
