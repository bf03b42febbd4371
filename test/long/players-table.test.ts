/**
 * The table of players in config/README.md ("Programs"): each plays one mount, its own sound is recorded (of browsers the clock is read), while its titles, its
 * source, the sample rate and at last the server change. It prints the table; what players are known to do is asserted. Another codec: `CODEC=vorbis`.
 */

import { execFileSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { otherOrigin, type Tab } from '../kit/browser.js';
import { FIREFOX, Firefox } from '../kit/firefox.js';
import { keepLines, sourceChanges } from '../kit/log-lines.js';
import { pause } from '../kit/pause.js';
import { PlayerProgram } from '../kit/player-program.js';
import { freePort } from '../kit/process.js';
import { missing, Program } from '../kit/program.js';
import { startPulse } from '../kit/pulse.js';
import { startServer } from '../kit/server.js';
import { soundingPlayers } from '../kit/sounding-players.js';
import { tempFolder } from '../kit/temp-folder.js';
import { ToneRecorder } from '../kit/tone-recorder.js';
import { until } from '../kit/until.js';

const CODECS = {
  mp3: { ending: 'mp3', options: ['-c:a', 'libmp3lame', '-b:a', '128k', '-f', 'mp3'], type: 'audio/mpeg' },
  aac: { ending: 'aac', options: ['-c:a', 'aac', '-b:a', '96k', '-f', 'adts'], type: 'audio/aac' },
  vorbis: { ending: 'ogg', options: ['-c:a', 'libvorbis', '-b:a', '96k', '-f', 'ogg'], type: 'application/ogg' },
} as const;
const CODEC = (process.env['CODEC'] ?? 'mp3') as keyof typeof CODECS;
const { ending, options, type } = CODECS[CODEC];
/** Only those of these names. */
const ONLY = process.env['PLAYERS']?.split(',');

const [FIRST, FILE, OTHER_RATE, AFTER] = [500, 800, 1250, 2000] as const;
const TITLE = { artist: '', song: 'Jóga' };
const START_MS = 30_000;
const STEADY_MS = 10_000;
/** What lies in a burst, a player's buffers and a stall. */
const CHANGE_MS = 20_000;
const AWAY_MS = 5000;
const BACK_MS = 45_000;
/** Two windows at each change of tone are none of both. */
const CLEAN_MS = 60;

/** A player, as far as it can be watched from outside. */
interface Subject {
  readonly name: string;
  start(): Promise<void>;
  /** Whether it plays this pitch now; one that cannot be heard: whether its clock moves. */
  plays(pitch: number): boolean;
  readonly lostMs: number;
  /** What it does when it does not play what it should. */
  readonly instead: 'falls silent' | 'at another speed' | 'has not come to it';
  shows(): boolean | undefined;
  readonly ended: boolean;
}

type Column = 'starts' | 'clean' | 'titles' | 'source' | 'rate' | 'restart';
type Found = Record<Column, string>;

t.setTimeout(400_000);

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

function tone(pitch: number, hertz = 44_100): string[] {
  return ['-f', 'lavfi', '-i', `sine=frequency=${pitch}:sample_rate=${hertz}`, '-ac', '2', ...options];
}

t.test('players', { skip: missing('ffmpeg', 'pulseaudio', 'parec') }, async (t) => {
  const folder = tempFolder(t);
  const file = join(folder, `file.${ending}`);
  execFileSync('ffmpeg', ['-v', 'error', '-t', '60', ...tone(FILE), '-t', '60', file]);
  const port = await freePort();
  const { log, lines } = keepLines();
  const mount = `/air.${ending}`;
  const yaml = `
addresses: [{ host: 127.0.0.1, port: ${port} }]
stations:
  demo:
    channels:
      air:
        mounts: [${mount}]
        pushTokens: [demo-token]
        sources: [{ type: encoder, password: demo-source }, { type: file, path: ${file} }]
`;
  let server = await startServer(t, yaml, folder, log);
  const url = `${server.base}${mount}`;
  const encode = async (pitch: number, hertz?: number) => {
    const to = ['-content_type', type, `icecast://source:demo-source@127.0.0.1:${port}${mount}`];
    const program = new Program(t, 'ffmpeg', ['-v', 'error', '-nostdin', '-re', ...tone(pitch, hertz), ...to]);
    await program.until(() => sourceChanges(lines).at(-1) === 'encoder', 20_000, 'it is not heard');
    return program;
  };
  const file_ = () => until(() => sourceChanges(lines).at(-1) === 'file', 20_000);
  let encoder = await encode(FIRST);
  await pause(8000);
  const subjects = [...(await sounding(t, url)), ...(await browsers(t, server.base, mount))].filter(
    ({ name }) => ONLY === undefined || ONLY.includes(name),
  );
  const found = new Map<Subject, Found>();
  const note = (one: Subject, column: Column, text: string) => {
    found.set(one, { ...(found.get(one) as Found), [column]: text });
  };
  /** Until all play it, at most this long, at least `minMs`. @returns since when each plays it, from now; one that does not is missing */
  const within = async (pitch: number, maxMs: number, minMs = 0) => {
    const fromMs = performance.now();
    const times = new Map<Subject, number>();
    const passedMs = () => performance.now() - fromMs;
    do {
      await pause(50);
      for (const one of subjects) {
        if (!one.plays(pitch)) times.delete(one);
        else if (!times.has(one)) times.set(one, passedMs());
      }
    } while (passedMs() < minMs || (times.size < subjects.length && passedMs() < maxMs));
    return times;
  };

  const began = await Promise.all([within(FIRST, START_MS, START_MS / 2), ...subjects.map((one) => one.start())]).then(
    ([times]) => times,
  );
  for (const one of subjects) note(one, 'starts', began.has(one) ? seconds(began.get(one)!) : 'no');

  await pause(3000);
  const query = new URLSearchParams({ artist: 'false', song: TITLE.song });
  const before = new Map(subjects.map((one) => [one, one.lostMs]));
  await fetch(`${server.base}/metapush/air/demo-token?${query}`);
  await pause(STEADY_MS);
  const lost = (one: Subject) => Math.round(one.lostMs - before.get(one)!);
  for (const one of subjects)
    note(one, 'clean', lost(one) <= CLEAN_MS ? 'yes' : `${lost(one)} ms lost in ${seconds(STEADY_MS)}`);
  const shown = () => subjects.every((one) => one.shows() !== false);
  await until(shown, CHANGE_MS).catch(() => undefined);
  for (const one of subjects) note(one, 'titles', one.shows() === undefined ? '' : one.shows() ? 'yes' : 'no');

  /** What a change does to them. */
  const change = async (column: Column, pitch: number) => {
    for (const one of subjects) before.set(one, one.lostMs);
    const times = await within(pitch, CHANGE_MS);
    await pause(4000);
    for (const one of subjects) {
      const gap = lost(one) <= CLEAN_MS ? 'plays on' : `plays on, ${seconds(lost(one))} lost`;
      note(one, column, one.ended ? 'ends' : times.has(one) && one.plays(pitch) ? gap : one.instead);
    }
  };
  await encoder.stop('SIGKILL');
  await file_();
  await change('source', FILE);
  encoder = await encode(OTHER_RATE, 48_000);
  await change('rate', OTHER_RATE);

  // All play at the restart.
  await encoder.stop('SIGKILL');
  await file_();
  encoder = await encode(FIRST);
  await pause(CHANGE_MS / 2);
  await Promise.all(subjects.filter((one) => !one.plays(FIRST)).map((one) => one.start()));
  const playing = await within(FIRST, START_MS);
  await server.app.stop();
  await pause(AWAY_MS);
  server = await startServer(t, yaml, folder, log);
  await encode(AFTER);
  const back = await within(AFTER, BACK_MS, BACK_MS);
  for (const one of subjects) {
    const is = back.has(one) ? `comes back after ${seconds(back.get(one)!)}` : one.ended ? 'ends' : 'stays silent';
    note(one, 'restart', playing.has(one) ? is : 'not tried: it did not play');
  }
  const columns: readonly Column[] = ['starts', 'clean', 'titles', 'source', 'rate', 'restart'];
  t.comment(`| ${CODEC} | ${columns.join(' | ')} |`);
  for (const [{ name }, row] of found) {
    t.comment(`| ${name} | ${columns.map((column) => row[column]).join(' | ')} |`);
    // Of Ogg some print no title, and MOC plays none.
    if (ending === 'ogg') continue;
    t.not(row.starts, 'no', `${name} starts`);
    t.not(row.titles, 'no', `${name} shows the title`);
    if (name.endsWith('attach')) t.match(row.restart, /^comes back/, `${name} comes back`);
  }
});

/** Those whose sound is recorded. */
async function sounding(t: Test, url: string): Promise<Subject[]> {
  const kinds = soundingPlayers.filter(({ needs, name, program, codec = CODEC }) => {
    const skip = missing(...needs);
    if (skip !== false) t.pass(name ?? program, { skip });
    return skip === false && codec === CODEC && (ONLY === undefined || ONLY.includes(name ?? program));
  });
  return Promise.all(
    kinds.map(async (kind) => {
      const pulse = await startPulse(t);
      const open = tempFolder(t);
      chmodSync(open, 0o755);
      const alsa = join(open, 'asound.conf');
      writeFileSync(alsa, 'pcm.!default { type pulse }\nctl.!default { type pulse }\n', { mode: 0o644 });
      const recorder = new ToneRecorder(t, pulse);
      const env = {
        ...kind.env,
        PULSE_SERVER: pulse.env['PULSE_SERVER']!,
        ALSA_CONFIG_PATH: `/usr/share/alsa/alsa.conf:${alsa}`,
      };
      let program: PlayerProgram | undefined;
      return {
        name: kind.name ?? kind.program,
        start: async () => {
          program?.end('SIGKILL');
          program = new PlayerProgram(t, { ...kind, env }, url);
        },
        plays: (pitch: number) => recorder.now === pitch,
        get instead() {
          if (recorder.isSilent) return 'falls silent';
          return recorder.now === 0 ? 'at another speed' : 'has not come to it';
        },
        get lostMs() {
          return recorder.lostMs;
        },
        // In Ogg it has fields of its own, and each program its own words for them.
        shows: () => program!.said.includes(TITLE.song),
        get ended() {
          return program!.ended !== undefined;
        },
      };
    }),
  );
}

// biome-ignore-start lint/suspicious/noExplicitAny: the browser's own, which Node's types do not know

/** Firefox and Chromium, each with an audio element of its own and with `attach`. */
async function browsers(t: Test, base: string, mount: string): Promise<Subject[]> {
  const tabs: (readonly [string, Tab])[] = [];
  const wanted = (name: string) => ONLY === undefined || ONLY.some((one) => one.startsWith(name));
  if (missing(FIREFOX) === false && wanted('Firefox')) tabs.push(['Firefox', await Firefox.start(t)]);
  if (missing('chromium') === false && wanted('Chromium')) {
    const { chromium } = await import('playwright-core');
    const args = ['--no-sandbox', '--disable-gpu', '--mute-audio', '--autoplay-policy=no-user-gesture-required'];
    const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args });
    t.teardown(() => browser.close());
    tabs.push(['Chromium', (await browser.newPage()) as unknown as Tab]);
  }
  const subjects: Subject[] = [];
  for (const [name, tab] of tabs) {
    await tab.goto(await otherOrigin(t));
    for (const isAttached of [false, true]) {
      let [place, movedMs, lookedMs, lostMs, ended, shown] = [-1, 0, 0, 0, false, false];
      const look = async () => {
        const seen = await tab.evaluate((key) => {
          const one = (globalThis as any).ours?.[key];
          return (
            one && {
              seconds: one.audio.currentTime as number,
              error: one.audio.error !== null,
              titles: one.titles as string[],
            }
          );
        }, String(isAttached));
        const nowMs = performance.now();
        if (seen) {
          if (seen.seconds !== place) movedMs = nowMs;
          else lostMs += nowMs - lookedMs;
          [place, ended] = [seen.seconds, seen.error];
          shown ||= seen.titles.some((title: string) => title.includes(TITLE.song));
        }
        lookedMs = nowMs;
      };
      const timer = setInterval(() => void look().catch(() => undefined), 200);
      t.teardown(() => clearInterval(timer));
      subjects.push({
        name: isAttached ? `${name}, attach` : name,
        start: () =>
          tab.evaluate(
            async ({ base, mount, key }) => {
              const page = globalThis as any;
              page.ours ??= {};
              page.ours[key]?.audio.pause();
              const audio = new page.Audio();
              audio.muted = true;
              const titles: string[] = [];
              page.ours[key] = { audio, titles };
              if (key === 'true') {
                const { attach } = await import(`${base}/client.js`);
                attach(audio, `${base}${mount}`, { onNow: (record: { title: string }) => titles.push(record.title) });
              } else audio.src = `${base}${mount}?n=${Math.random()}`;
              await audio.play().catch(() => undefined);
            },
            { base, mount, key: String(isAttached) },
          ),
        plays: () => place > 0 && performance.now() - movedMs < 600,
        instead: 'falls silent',
        get lostMs() {
          return lostMs;
        },
        shows: () => (isAttached ? shown : undefined),
        get ended() {
          return ended;
        },
      });
    }
  }
  return subjects;
}

// biome-ignore-end lint/suspicious/noExplicitAny: as above
