/**
 * Whose title it is after each change of source (src/now-playing/README.md, "Whose title"), with ffmpeg, which sends no titles, and Liquidsoap as encoders: the
 * same encoder back, another one, one that takes over, a file between, a pause, a restart; titles of encoders, of a program beside them, pushed ones.
 */

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ADMIN_USERS, AdminClient } from '../kit/admin-client.js';
import { ffmpegEncoder } from '../kit/ffmpeg-encoder.js';
import { startLiquidsoap } from '../kit/liquidsoap.js';
import { quietFor } from '../kit/pause.js';
import { freePorts } from '../kit/process.js';
import { missing, type Program } from '../kit/program.js';
import { DEMO_AUDIO, startServer, type TestServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

/** In which a source that has come on air may send its first title, and the check behind it. */
const UNTITLED_MS = 5000;
const LOGIN = { Authorization: `Basic ${Buffer.from('source:demo-source').toString('base64')}` };

const CHANNELS: Readonly<Record<string, string>> = {
  back: '',
  other: '',
  over: ', takeover: always',
  lost: '',
  pushed: '',
  beside: ', titlesWhileAway: true',
  paused: '',
};
const KEYS = Object.keys(CHANNELS);
const yamlAt = (port: number) => `
addresses: [{ host: 127.0.0.1, port: ${port} }]
${ADMIN_USERS}
sources: { stallMs: 1000 }
stations:
  house:
    channels:
${Object.entries(CHANNELS)
  .map(
    ([key, more]) => `      ${key}:
        bitrateKbps: 128
        pushTokens: [demo-token]
        sources: [{ type: encoder, password: demo-source${more} }, { type: file, path: ${DEMO_AUDIO} }]
${key === 'lost' ? '        fallback: { artist: "", song: OWN, whenSourceLost: true }' : ''}`,
  )
  .join('\n')}
`;

/** The server, its encoders, and what its readers get. */
class Station {
  readonly #t: Test;
  readonly #port: number;
  readonly #folder: string;
  readonly #sound: string;
  #server!: TestServer;
  #admin!: AdminClient;
  readonly #ffmpegs = new Map<string, Program>();

  constructor(t: Test, port: number) {
    this.#t = t;
    this.#port = port;
    this.#folder = tempFolder(t);
    this.#sound = join(this.#folder, 'sound.wav');
    const tone = ['-v', 'error', '-f', 'lavfi', '-i', 'sine=frequency=500:sample_rate=44100:duration=60', '-ac', '2'];
    execFileSync('ffmpeg', [...tone, this.#sound]);
  }

  async start(): Promise<void> {
    this.#server = (await startServer(this.#t, yamlAt(this.#port), this.#folder)).one;
    this.#admin = new AdminClient(this.#server);
  }

  async restart(): Promise<void> {
    await this.#server.app.stop();
    await this.start();
  }

  async ffmpeg(key: string, userAgent?: string): Promise<void> {
    const { program } = this.#of(key);
    if (program !== undefined && program.ended === undefined) return;
    const target = { port: this.#port, mount: `/${key}`, password: 'demo-source', sound: this.#sound, userAgent };
    this.#ffmpegs.set(key, await ffmpegEncoder.start(this.#t, target));
    await this.plays(key, 0);
  }

  #of(key: string): { readonly program: Program | undefined } {
    return { program: this.#ffmpegs.get(key) };
  }

  async stopFfmpeg(key: string): Promise<void> {
    await this.#ffmpegs.get(key)!.stop();
    await this.plays(key, 1);
  }

  signal(key: string, signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#ffmpegs.get(key)!.child.kill(signal);
  }

  /** The source at this place is on air. */
  async plays(key: string, place: number): Promise<void> {
    let onAir: unknown;
    await until(
      async () => (onAir = (await this.#admin.get(`channels/${key}`)).body.onAir) === place,
      20_000,
      () => `${key}: ${onAir} is on air, not ${place}`,
    );
  }

  async title(key: string): Promise<string | null> {
    const answer = await fetch(`${this.#server.base}/metadata/channel/${key}.json`);
    return answer.status === 200 ? ((await answer.json()) as { rawdata: string }).rawdata : null;
  }

  /** A program beside the encoder sends a title. */
  async says(key: string, song: string): Promise<void> {
    const query = new URLSearchParams({ mount: `/${key}`, mode: 'updinfo', song });
    const { status } = await fetch(`${this.#server.base}/admin/metadata?${query}`, { headers: LOGIN });
    this.#t.equal(status, 200, `${key}: ${song} is sent`);
    await this.has(key, song, 'sent');
  }

  async push(key: string, song: string): Promise<void> {
    const { status } = await fetch(`${this.#server.base}/metapush/${key}/demo-token?${new URLSearchParams({ song })}`);
    this.#t.equal(status, 200, `${key}: ${song} is pushed`);
  }

  async has(key: string, song: string, what: string): Promise<void> {
    let seen: string | null = null;
    await until(
      async () => (seen = await this.title(key)) === song,
      20_000,
      () => `${key}, ${what}: ${seen}, not ${song}`,
    );
    this.#t.pass(`${key}, ${what}: ${song === '' ? 'none' : song}`);
  }

  /** What these have they have also when a new source may be without a title no longer. */
  async keep(titles: Readonly<Record<string, string>>, what: string): Promise<void> {
    await quietFor(UNTITLED_MS + 2000);
    for (const [key, song] of Object.entries(titles)) this.#t.equal(await this.title(key), song, `${key}, ${what}`);
  }
}

t.test('whose title it is', { skip: missing('ffmpeg', 'liquidsoap'), timeout: 0 }, async (t) => {
  const port = await freePorts(2);
  const station = new Station(t, port);
  await station.start();
  const all = (keys: readonly string[], act: (key: string) => Promise<void>) => Promise.all(keys.map(act));

  await all(KEYS, (key) => station.ffmpeg(key));
  await all(KEYS, (key) => (key === 'pushed' ? station.push(key, 'P') : station.says(key, 'A')));
  // The encoder has gone, or stands still: a file plays.
  const gone = KEYS.filter((key) => key !== 'over' && key !== 'paused');
  await all(gone, (key) => station.stopFfmpeg(key));
  station.signal('paused', 'SIGSTOP');
  await station.plays('paused', 1);
  await station.has('lost', 'OWN', 'its encoder has gone');
  for (const key of ['back', 'other', 'paused']) t.equal(await station.title(key), 'A', `${key}, a file between`);
  await station.says('beside', 'B');
  // It is there again.
  station.signal('paused', 'SIGCONT');
  await all(['back', 'lost', 'paused'], async (key) =>
    key === 'paused' ? station.plays(key, 0) : station.ffmpeg(key),
  );
  await station.has('lost', 'A', 'the same is back');
  await station.keep({ back: 'A', lost: 'A', paused: 'A' }, 'the same is back');

  // Another encoder, in an empty place, or in that of the one that is there.
  await station.stopFfmpeg('lost');
  const others = ['other', 'over', 'lost', 'pushed', 'beside'];
  const liquidsoap = startLiquidsoap(
    t,
    others.map((key) => `port=${port}, mount="${key}", password="demo-source"`),
    [{ afterSeconds: 40, artist: 'Ben', title: 'Two' }],
  );
  await all(others, (key) => station.plays(key, 0));
  await all(['other', 'over'], (key) => station.has(key, '', 'another encoder has sent none'));
  await station.keep({ other: '', lost: 'OWN', pushed: 'P', beside: 'B' }, 'another encoder has sent none');
  await all(['other', 'over', 'lost', 'beside'], (key) => station.has(key, 'Ben - Two', 'it sends one'));
  t.equal(await station.title('pushed'), 'P', 'a push keeps it out');

  // A restart: the encoders come again, or others do.
  await station.restart();
  for (const [key, song] of [
    ['other', 'Ben - Two'],
    ['back', 'A'],
    ['pushed', 'P'],
  ] as const)
    t.equal(await station.title(key), song, `${key}, after a restart`);
  await all(['back', 'paused'], (key) => station.ffmpeg(key));
  await all(['other', 'over', 'pushed'], (key) => station.plays(key, 0));
  await station.keep(
    { back: 'A', paused: 'A', other: 'Ben - Two', over: 'Ben - Two', pushed: 'P' },
    'the same after a restart',
  );
  await liquidsoap.stop();
  await station.plays('other', 1);
  await station.restart();
  await station.ffmpeg('other');
  await station.has('other', 'A', 'the first is back after a restart, behind another one');
  await station.stopFfmpeg('other');
  await station.restart();
  await station.ffmpeg('other', 'Third/1.0');
  await station.has('other', '', 'another encoder after a restart');
});
