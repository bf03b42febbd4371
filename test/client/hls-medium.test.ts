/**
 * `attach` with HLS before the real server: by the element's own player (as Safari's, which knows the date of its beginning), and by an `Hls` that does what
 * the test says. The real hls.js: e2e/hls-client.test.ts.
 */

import { createHmac } from 'node:crypto';
import t, { type Test } from 'tap';
import { attach } from '../../src/client/attach.js';
import type { AttachOptions, HlsPlayer, HlsSettings } from '../../src/client/types.js';
import { ADMIN_USERS, AdminClient } from '../kit/admin-client.js';
import { bestOfThree } from '../kit/best-of-three.js';
import { type ReadPlaylist, readPlaylist } from '../kit/hls-channel.js';
import { MovedAudio } from '../kit/moved-audio.js';
import { pause, quietFor } from '../kit/pause.js';
import { demoYaml, startServer, type TestServer } from '../kit/server.js';
import { until, untilPromised } from '../kit/until.js';

t.jobs = 4;
t.setTimeout(120_000);

const YAML = demoYaml('streams: { hls: { enabled: true, segmentSeconds: 2 } }');
const PATH = '/demo.mp3/hls.m3u8';

/** As Safari's. */
class DatedAudio extends MovedAudio {
  startMs = Number.NaN;

  getStartDate(): Date {
    return new Date(this.startMs);
  }
}

async function push(server: TestServer, song: string, more = ''): Promise<void> {
  const answer = await fetch(`${server.base}/metapush/demo/demo-token?artist=A&song=${song}${more}`);
  if (answer.status !== 200) throw new Error(`push: ${answer.status}`);
}

/** The playlist, as soon as it has this title. */
async function listing(server: TestServer, song: string): Promise<ReadPlaylist & { readonly atMs: number }> {
  let found: ReadPlaylist | null = null;
  const isListed = async () => {
    const answer = await fetch(`${server.base}/demo.mp3/hls/live.m3u8`);
    const text = await answer.text();
    found = answer.status === 200 ? readPlaylist(text) : null;
    return found?.titles.some(({ title }) => title === song) === true;
  };
  await until(isListed, 30_000, () => `${song} is not listed`, 100);
  return { ...found!, atMs: found!.titles.find(({ title }) => title === song)!.startMs };
}

function attached<A extends MovedAudio>(
  t: Test,
  server: TestServer,
  audio: A,
  options: AttachOptions = {},
  path = PATH,
) {
  const calls: string[] = [];
  const attachment = attach(audio, path, {
    server: server.base,
    onNow: ({ song }) => calls.push(song),
    onNext: (record) => calls.push(`next ${record?.song ?? 'none'}`),
    onState: (state) => calls.push(`(${state})`),
    ...options,
  });
  t.teardown(() => attachment.close());
  const has = (call: string) =>
    until(
      () => calls.includes(call),
      30_000,
      () => `no ${call} in: ${calls}`,
    );
  return { audio, calls, attachment, has };
}

/** What was asked for by `fetch`, in all tests of this file; each has its server. */
const fetched: string[] = [];
const realFetch = globalThis.fetch;
globalThis.fetch = (input, init) => {
  fetched.push(String(input));
  return realFetch(input, init);
};
const fetches = ({ base }: TestServer) => fetched.filter((url) => url === `${base}${PATH}`).length;

t.test("Safari's player: each title at its date, also a corrected one; what follows before it begins", async (t) => {
  const server = await startServer(t, YAML);
  await push(server, 'first');
  const { atMs: firstMs, segments } = await listing(server, 'first');
  const beginMs = Math.max(firstMs, segments[0]!.dateMs);
  const { audio, calls, attachment, has } = attached(t, server, new DatedAudio());
  t.equal(audio.src, `${server.base}${PATH}`, 'no metaid: the file is shared');
  audio.readyState = 0;
  await attachment.play();
  audio.moveTo(0.5);
  await quietFor(300);
  t.strictSame(calls, ['(connecting)', '(playing)'], 'there is no date yet');
  audio.startMs = beginMs;
  audio.moveTo(0.6);
  await has('first');
  t.match(attachment.now, { song: 'first', artist: 'A', title: 'A - first', type: 'now', positionMs: null });

  await push(server, 'wrong', '&id=one');
  const { atMs: secondMs } = await listing(server, 'wrong');
  await has('next wrong');
  const at = (ms: number) => (ms - beginMs) / 1000;
  audio.moveTo(at(secondMs - 50));
  t.equal(attachment.now!.song, 'first');
  await push(server, 'right', '&id=one');
  await listing(server, 'right');
  await has('next right');
  audio.moveTo(at(secondMs - 40));
  t.equal(attachment.now!.song, 'first');
  audio.moveTo(at(secondMs));
  t.equal(attachment.now!.song, 'right');
  t.strictSame(calls.slice(-2), ['right', 'next none']);
  t.notOk(calls.includes('wrong'));
  t.match(attachment.now, { id: 'one', startMs: secondMs });

  attachment.stop();
  t.strictSame([calls.at(-1), attachment.now, audio.src], ['(stopped)', null, `${server.base}${PATH}`]);
});

t.test('a timer reports it between the looks of the element, and reads the playlist only while it plays', async (t) => {
  const server = await startServer(t, YAML);
  await push(server, 'first');
  const { atMs: firstMs, segments } = await listing(server, 'first');
  const { audio, calls, attachment, has } = attached(t, server, new DatedAudio());
  await quietFor(300);
  t.equal(fetches(server), 0, 'nothing is asked for before it plays');
  await attachment.play();
  audio.startMs = Math.max(firstMs, segments[0]!.dateMs);
  audio.moveTo(0.1);
  await has('first');
  const lateMs = await bestOfThree(300, async (attempt) => {
    const song = `later${attempt}`;
    await push(server, song);
    const { atMs } = await listing(server, song);
    await has(`next ${song}`);
    const atSeconds = (atMs - audio.startMs) / 1000;
    const fromMs = performance.now();
    audio.advance(() => atSeconds - 0.3 + (performance.now() - fromMs) / 1000);
    await has(song);
    const lateMs = performance.now() - fromMs - 300;
    t.ok(lateMs >= -10, `${lateMs} ms`);
    return lateMs;
  });
  t.ok(lateMs < 300, `${lateMs} ms`);
  audio.pause();
  t.equal(calls.at(-1), '(stopped)');
  t.equal(fetches(server), 1, 'the first playlist once, then the one it names');
});

t.test("a player without dates, as Chromium's own: it plays, and asks for no titles", async (t) => {
  const server = await startServer(t, YAML);
  await push(server, 'first');
  await listing(server, 'first');
  const { audio, calls, attachment } = attached(t, server, new MovedAudio());
  await attachment.play();
  audio.moveTo(1);
  audio.moveTo(2);
  await quietFor(500);
  t.strictSame(calls, ['(connecting)', '(playing)']);
  t.equal(fetches(server), 0);
});

/** An `Hls` whose tests say what it loads. */
function fakeHls() {
  const made: FakeHls[] = [];
  class FakeHls implements HlsPlayer {
    static readonly Events = { LEVEL_UPDATED: 'hlsLevelUpdated', ERROR: 'hlsError' };
    static isThere = true;
    playingDate: Date | null = null;
    readonly said: string[] = [];
    readonly #listeners = new Map<string, (event: string, data: unknown) => void>();
    #audio: MovedAudio | null = null;

    constructor(readonly config: object) {
      made.push(this);
    }

    static isSupported(): boolean {
      return FakeHls.isThere;
    }

    attachMedia(audio: never): void {
      this.#audio = audio as MovedAudio;
      this.#audio.src = `blob:${made.length}`;
    }

    loadSource(url: string): void {
      this.said.push(url);
    }

    startLoad(startPosition = -1): void {
      this.said.push(`from ${startPosition}`);
    }

    on(event: string, listener: (event: string, data: unknown) => void): void {
      this.#listeners.set(event, listener);
    }

    destroy(): void {
      this.said.push('destroyed');
      if (this.#audio !== null) this.#audio.src = '';
      this.#audio = null;
    }

    fire(event: string, data: unknown): void {
      this.#listeners.get(event)!(event, data);
    }

    /** @param places by song, unix milliseconds; its record has the same id */
    load(places: Readonly<Record<string, number>>, fragments: readonly object[] = []): void {
      const ranges = Object.entries(places).map(([song, ms]) => {
        const dates = { 'START-DATE': new Date(ms).toISOString(), 'X-TITLE': song, 'X-RECORD': song };
        return [song, { attr: { ID: song, CLASS: 'net.airsplice.title', ...dates } }] as const;
      });
      this.fire('hlsLevelUpdated', { details: { dateRanges: Object.fromEntries(ranges), fragments } });
    }
  }
  return { Hls: FakeHls, made };
}

const NO_SERVER = { base: 'http://127.0.0.1:1' } as TestServer;

t.test('a rewind begins at a title or a date, and a later play goes on where it was', async (t) => {
  const fragments = [0, 1, 2].map((i) => ({ start: 4 * i, programDateTime: 1_000_000 + 4000 * i }));
  for (const [startAt, seconds] of [
    [{ dateMs: 1_006_000 }, 6],
    [{ dateMs: 1_006_000, record: 'two' }, 5],
    [{ dateMs: 1_006_000, record: 'gone' }, 6],
    [{ dateMs: 900_000 }, 0],
  ] as const) {
    const { Hls, made } = fakeHls();
    const { audio, calls, attachment } = attached(t, NO_SERVER, new MovedAudio(), { Hls, startAt });
    await attachment.play();
    const [hls] = made;
    hls!.load({ one: 1_000_000, two: 1_005_000 }, fragments);
    t.strictSame(hls!.said.slice(1), [`from ${seconds}`]);
    hls!.playingDate = new Date(1_007_000);
    audio.moveTo(7);
    t.equal(calls.at(-1), 'two');
    hls!.load({ one: 1_000_000, two: 1_005_000 }, fragments);
    t.equal(hls!.said.length, 2, 'once');
    attachment.stop();
    await attachment.play();
    made[1]!.load({ one: 1_000_000, two: 1_005_000 }, fragments);
    t.equal(made[1]!.said.at(-1), 'from 7');
    attachment.close();
  }
});

t.test('a given Hls: titles by its date; it loads when it plays, and each play has a new one', async (t) => {
  const { Hls, made } = fakeHls();
  const { audio, calls, attachment } = attached(t, NO_SERVER, new MovedAudio(), { Hls });
  t.equal(audio.preload, 'none');
  t.strictSame([made.length, made[0]!.said, audio.src], [1, [], 'blob:1']);
  t.match(made[0]!.config, { liveSyncDurationCount: 2 });
  const { errorRetry } = (made[0]!.config as HlsSettings).playlistLoadPolicy.default;
  const isRetried = (retries: number, code: number, byItself: boolean) =>
    errorRetry.shouldRetry!(null, retries, false, { code }, byItself);
  t.strictSame(
    [isRetried(19, 0, false), isRetried(20, 0, false), isRetried(0, 503, true), isRetried(0, 403, false)],
    [true, false, true, false],
    'a refused connection is tried again for a while, and what hls.js itself would try again',
  );
  audio.readyState = 0;
  await attachment.play();
  const [hls] = made;
  t.strictSame(hls!.said, [`${NO_SERVER.base}${PATH}`]);
  hls!.load({ one: 1_000_000, two: 1_010_000 });
  hls!.playingDate = new Date(1_008_000);
  audio.seeking = true;
  audio.moveTo(4);
  t.strictSame(calls, ['(connecting)'], 'a seek to the live edge is no sound');
  audio.seeking = false;
  audio.moveTo(4);
  t.strictSame(calls, ['(connecting)', '(playing)', 'one', 'next two']);
  hls!.playingDate = new Date(1_010_000);
  audio.moveTo(6);
  t.strictSame(calls.slice(-2), ['two', 'next none']);
  hls!.load({ one: 1_000_000, corrected: 1_010_000 });
  t.equal(attachment.now!.song, 'corrected', 'at once');

  attachment.stop();
  t.strictSame([calls.at(-1), hls!.said.at(-1), made.length, audio.src], ['(stopped)', 'destroyed', 2, 'blob:2']);
  hls!.load({ late: 1_000_000 });
  t.equal(calls.at(-1), '(stopped)', 'what comes late of one that has ended is nothing');
  await attachment.play();
  t.equal(made[1]!.said.length, 1);
  attachment.close();
  t.strictSame([made.length, made[1]!.said.at(-1), audio.src], [2, 'destroyed', ''], 'closed is closed');
});

t.test('what hls.js gives up is tried again; what it mends itself is not', async (t) => {
  const { Hls, made } = fakeHls();
  const { audio, calls, attachment, has } = attached(t, NO_SERVER, new MovedAudio(), { Hls, keepPausedMs: 60_000 });
  await attachment.play();
  audio.moveTo(1);
  made[0]!.fire('hlsError', { fatal: false, details: 'bufferStalledError' });
  made[0]!.fire('hlsError', undefined);
  t.equal(attachment.state, 'playing');
  made[0]!.fire('hlsError', { fatal: true, details: 'levelLoadError' });
  t.equal(attachment.state, 'retrying');
  t.equal(made[0]!.said.at(-1), 'destroyed');
  await until(() => attachment.state === 'connecting', 10_000);
  t.equal(made[1]!.said.length, 1);
  audio.moveTo(1);
  audio.pause();
  t.equal(attachment.state, 'paused');
  made[1]!.fire('hlsError', { fatal: true });
  t.equal(attachment.state, 'stopped', 'a pause is not ended by a new request');
  await has('(stopped)');
  t.strictSame(
    calls.filter((call) => !call.startsWith('next')),
    ['(connecting)', '(playing)', '(retrying)', '(connecting)', '(playing)', '(paused)', '(stopped)'],
  );
});

t.test('an element that stands still with audio to play: hls.js begins anew', async (t) => {
  const { Hls, made } = fakeHls();
  const { audio, attachment } = attached(t, NO_SERVER, new MovedAudio(), { Hls });
  await attachment.play();
  audio.standsStill = true;
  audio.moveTo(1);
  audio.readyState = 4;
  await untilPromised(() => attachment.state === 'retrying', 4000);
  t.equal(made.length, 2);
});

t.test("where hls.js is not supported the browser's own player plays", async (t) => {
  const { Hls, made } = fakeHls();
  Hls.isThere = false;
  const { audio } = attached(t, NO_SERVER, new MovedAudio(), { Hls });
  t.strictSame([made.length, audio.src], [0, `${NO_SERVER.base}${PATH}`]);
});

t.test('a playlist of which nothing is as it should be', async (t) => {
  const { Hls, made } = fakeHls();
  const { audio, calls, attachment } = attached(t, NO_SERVER, new MovedAudio(), { Hls });
  await attachment.play();
  for (const data of [undefined, null, 7, {}, { details: null }, { details: { dateRanges: { a: null, b: {}, c: 1 } } }])
    made[0]!.fire('hlsLevelUpdated', data);
  made[0]!.playingDate = new Date(Number.NaN);
  audio.moveTo(1);
  await pause(50);
  t.strictSame(calls, ['(connecting)', '(playing)']);
});

const KEY = 'a key that is as long as it has to be';
process.env['HLS_MEDIUM_KEY'] = KEY;
const PRIVATE = `${YAML}${ADMIN_USERS}
sessions: { reportSeconds: 0.5 }
signedUrls: { keys: ['env:HLS_MEDIUM_KEY'] }
`;

/** What the server has of listeners of HLS. */
async function known(server: TestServer): Promise<{ readonly metaid: string | null }[]> {
  const { body } = await new AdminClient(server).get('listeners');
  return body.listeners;
}

async function recordOf({ base }: TestServer, metaid: string): Promise<string> {
  const answer = await fetch(`${base}/metadata/listener/${metaid}.json`);
  return answer.status === 200 ? ((await answer.json()) as { readonly song: string }).song : '';
}

t.test(
  'with a metaid: one listener, who reads beside it included, and the server hears which date is heard',
  async (t) => {
    const server = await startServer(t, PRIVATE);
    await push(server, 'first');
    const { atMs: firstMs } = await listing(server, 'first');
    const audio = new DatedAudio();
    const { attachment, has } = attached(t, server, audio, {}, `${PATH}?metaid=mine`);
    t.equal(audio.src, `${server.base}${PATH}?metaid=mine`);
    // As the element does.
    const own = fetch(audio.src);
    await attachment.play();
    t.equal((await own).status, 200);
    audio.startMs = firstMs + 10;
    audio.moveTo(0.1);
    await has('first');
    t.equal((await known(server)).length, 1);
    await push(server, 'second');
    const { atMs } = await listing(server, 'second');
    await has('next second');
    const second = (atMs - audio.startMs) / 1000;
    audio.moveTo(second - 0.2);
    await untilPromised(async () => (await recordOf(server, 'mine')) === 'first', 5000);
    audio.moveTo(second + 0.1);
    await untilPromised(async () => (await recordOf(server, 'mine')) === 'second', 5000);
    audio.moveTo(second + 0.2);
    t.equal((await known(server)).length, 1);
    const taken = /airsplice_heard_reports_total\{verdict="taken"\} [1-9]/;
    t.match(await (await fetch(`${server.base}/metrics`)).text(), taken);
  },
);

t.test('a signed URL without a metaid gets one, so that both are one listener', async (t) => {
  const yaml = PRIVATE.replace('mounts: [/demo.mp3]', 'mounts: [/demo.mp3]\n        access: signed');
  const server = await startServer(t, yaml);
  const expires = Math.floor(Date.now() / 1000) + 600;
  const sig = createHmac('sha256', KEY).update(`/demo.mp3\n${expires}`).digest('hex');
  await push(server, 'first');
  const audio = new DatedAudio();
  const { attachment, has } = attached(t, server, audio, {}, `${PATH}?expires=${expires}&sig=${sig}`);
  const { src } = audio;
  t.match(src, /\?expires=\d+&sig=[0-9a-f]{64}&metaid=[0-9a-f]{32}$/);
  await until(async () => (await fetch(src)).status === 200, 20_000);
  await attachment.play();
  audio.startMs = Date.now() + 5000;
  audio.moveTo(0.1);
  await has('first');
  t.equal((await known(server)).length, 1);
  attachment.stop();
  t.not(audio.src, src, 'another play is another listener');
});

t.test('without reports it says nothing', async (t) => {
  const server = await startServer(t, PRIVATE);
  await push(server, 'first');
  const { atMs } = await listing(server, 'first');
  const audio = new DatedAudio();
  const { attachment, has } = attached(t, server, audio, { reports: false }, `${PATH}?metaid=quiet`);
  await attachment.play();
  audio.startMs = atMs;
  audio.moveTo(0.1);
  await has('first');
  await quietFor(1500);
  t.notOk(fetched.some((url) => url.includes('/metadata/listener/quiet/heard')));
});
