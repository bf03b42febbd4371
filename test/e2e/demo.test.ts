/** The demo, as `npm start` runs it: a station whose titles and covers change by themselves, and an operator who can log in at once. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Feeder } from '../kit/feeder.js';
import { Player } from '../kit/player.js';
import { freePort, ServerProcess } from '../kit/process.js';
import { tempFolder } from '../kit/temp-folder.js';
import { patient, until } from '../kit/until.js';

/** Channel → its file, how long that plays, and where its titles begin, in seconds. */
const CHANNELS = {
  demo: { file: 'airsplice', titles: { 'Paper Boats': 0, 'Open Window': 16, 'First Light': 32 } },
  studio: { file: 'studio', titles: { 'Blue Hour Tape': 0, 'Coffee and Cables': 20, 'Slow Fader': 40 } },
  relay: { file: 'night', titles: { 'Carrier Wave': 0, 'Last Train Lights': 20, 'Moon on the Mast': 40 } },
} as const;
const FILE_SECONDS = 60;
/** Enough to find a place in a file by its sound. */
const SOUND_BYTES = 800;
/** An ICY block stands at the first boundary behind its title: a quarter of a second, or what a metaint of low bitrates has. */
const BLOCK_SECONDS = 0.6;

interface Demo {
  readonly server: ServerProcess;
  readonly port: number;
}

async function startDemo(t: Test): Promise<Demo> {
  const port = await freePort();
  const server = new ServerProcess(t, port, [], { DATA: join(tempFolder(t), 'data') });
  await server.plays();
  return { server, port };
}

interface Now {
  readonly song?: string;
  readonly album?: string;
  readonly cover?: string;
  readonly id?: string;
  readonly duration?: number;
}

async function nowOf({ server }: Demo, channel: string): Promise<Now> {
  const answer = await fetch(`${server.base}/metadata/channel/${channel}.json`);
  return answer.status === 200 ? ((await answer.json()) as Now) : {};
}

t.test(
  'three channels; titles change by themselves, where the audio does',
  { timeout: patient(120_000) },
  async (t) => {
    const demo = await startDemo(t);
    await Promise.all(
      Object.entries(CHANNELS).map(async ([key, { file, titles }]) => {
        const audio = readFileSync(new URL(`../../config/demo/${file}.mp3`, import.meta.url));
        // On a busy machine the first title is later than the audio that begins with the server.
        await until(async () => (await nowOf(demo, key)).song !== undefined, 10_000);
        const player = new Player(demo.port, `/${key}.mp3`, { keep: true });
        t.teardown(() => player.close());
        const songOf = (title: string) => title.replace(/^.* - /, '') as keyof typeof titles;
        const changes = () => player.titles.filter((_, i) => i > 0 && songOf(player.titles[i - 1]!.title) in titles);
        await player.until(
          ({ audioBytes }) => (changes()[1]?.atByte ?? Number.POSITIVE_INFINITY) + SOUND_BYTES < audioBytes,
          70_000,
        );
        const seen = changes().slice(0, 2);
        const heard = player.audio;
        player.close();
        for (const { title, atByte } of seen) {
          const song = songOf(title);
          t.ok(song in titles, `${key}: ${title}`);
          // Where the audio at the block stands in the file.
          const at = audio.indexOf(heard.subarray(atByte, atByte + SOUND_BYTES)) / (audio.length / FILE_SECONDS);
          t.ok(at >= 0 && at >= titles[song] - 0.03 && at < titles[song] + BLOCK_SECONDS, `${title} at ${at} s`);
        }
      }),
    );
  },
);

t.test('each title has a cover, which is served, and a duration', async (t) => {
  const demo = await startDemo(t);
  for (const key of Object.keys(CHANNELS)) {
    let now: Now = {};
    await until(async () => (now = await nowOf(demo, key)).cover !== undefined && now.cover !== '', 10_000);
    t.match(
      now.cover,
      new RegExp(`^http://127\\.0\\.0\\.1:${demo.port}/metadata/channel/${key}/cover/${now.id}\\.jpg$`),
    );
    t.ok(now.duration! >= 16 && now.album !== '');
    const picture = await fetch(now.cover!);
    t.strictSame([picture.status, picture.headers.get('content-type')], [200, 'image/jpeg']);
    t.ok((await picture.arrayBuffer()).byteLength > 4000);
  }
});

t.test('who goes live has no title of the file, which returns behind it', { timeout: patient(60_000) }, async (t) => {
  const demo = await startDemo(t);
  await until(async () => (await nowOf(demo, 'studio')).song === 'Blue Hour Tape', 10_000);
  const feeder = new Feeder(t, demo.port, '/studio.mp3');
  t.equal(await feeder.answered(), 200);
  feeder.stream(t);
  await until(async () => ((await nowOf(demo, 'studio')).song ?? '') === '', 15_000);
  feeder.socket.destroy();
  await until(async () => (await nowOf(demo, 'studio')).song === 'Blue Hour Tape', 15_000);
});

t.test('the password that is printed opens /admin, another one each start, and no log has it', async (t) => {
  const passwords: string[] = [];
  for (const _ of [1, 2]) {
    const { server, port } = await startDemo(t);
    const [, user, password] = /\/admin as (\S+) with the password ([\w-]{24}),/.exec(server.out) ?? [];
    t.equal(user, 'operator', server.out);
    passwords.push(password!);
    const logIn = (password: string) =>
      fetch(`${server.base}/admin/login`, {
        method: 'POST',
        body: new URLSearchParams({ user: user!, password }),
        redirect: 'manual',
        headers: { Origin: server.base, 'Sec-Fetch-Site': 'same-origin', 'Sec-Fetch-Dest': 'document' },
      });
    const wrong = await logIn('operator');
    t.equal(wrong.headers.get('set-cookie'), null);
    const right = await logIn(password!);
    const Cookie = right.headers.get('set-cookie')!.split(';')[0]!;
    const self = await fetch(`${server.base}/admin/api/self`, { headers: { Cookie, 'X-Requested-With': 'airsplice' } });
    t.match(await self.json(), { name: 'operator', rights: ['read', 'titles', 'operate'] });
    // The same after a reload of the demo's file.
    server.child.kill('SIGHUP');
    await until(
      () => /nothing has changed|reload/i.test(server.err),
      10_000,
      () => server.err,
    );
    const again = await fetch(`${server.base}/admin/api/self`, {
      headers: { Cookie, 'X-Requested-With': 'airsplice' },
    });
    t.equal(again.status, 200);
    t.match(await (await fetch(`http://127.0.0.1:${port}/`)).text(), 'Airsplice Radio');
    await server.end('SIGTERM');
    t.equal(server.ended, 0);
    t.notMatch(server.err, password!);
  }
  t.not(passwords[0], passwords[1]);
});
