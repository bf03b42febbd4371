/**
 * `attach` of the client module before the real server: each title at its place on the element's clock. With an element whose clock the test
 * moves, and with Chromium's own; there also on a page without TLS, and over a restart of the server.
 */

import { chromium, type Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { attach } from '../../src/client/attach.js';
import type { AttachOptions, PlayState } from '../../src/client/types.js';
import { otherOrigin } from '../kit/browser.js';
import { shows } from '../kit/listener-page.js';
import { MovedAudio } from '../kit/moved-audio.js';
import { block, pause, quietFor } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { freePort } from '../kit/process.js';
import { missing } from '../kit/program.js';
import { demoYaml, startServer, type TestServer } from '../kit/server.js';
import { until, untilPromised } from '../kit/until.js';

// They wait more than they compute.
t.jobs = 4;
t.setTimeout(120_000);

/** Begins to play at once the stream that it is given. */
class StreamAudio extends MovedAudio {
  readonly #port: number;
  player: Player | null = null;

  constructor(t: Test, port: number) {
    super();
    this.#port = port;
    t.teardown(() => this.player?.close());
  }

  override get src(): string {
    return super.src;
  }

  override set src(url: string) {
    super.src = url;
    this.player?.close();
    this.player = null;
  }

  override async play(): Promise<void> {
    if (this.paused && this.player === null) this.connect();
    return super.play();
  }

  /** Asks for what it plays, as a browser may do again by itself. */
  connect(): void {
    const { pathname, search } = new URL(this.src);
    this.player?.close();
    this.player = new Player(this.#port, pathname + search);
  }

  get metaid(): string {
    return new URL(this.src).searchParams.get('metaid')!;
  }
}

async function push(server: TestServer, song: string, more = ''): Promise<void> {
  const answer = await fetch(`${server.base}/metapush/demo/demo-token?artist=A&song=${song}${more}`);
  if (answer.status !== 200) throw new Error(`push: ${answer.status}`);
}

/** What the server last wrote to this listener. */
async function written(server: TestServer, metaid: string): Promise<{ song: string; position: string } | null> {
  const answer = await fetch(`${server.base}/metadata/listener/${metaid}.json?sync=wire`);
  return answer.status === 200 ? ((await answer.json()) as { song: string; position: string }) : null;
}

/** Moves the clock before each look at what is waited for. */
function moved(audio: StreamAudio, to: () => number, isReady: () => boolean): () => boolean {
  return () => {
    audio.moveTo(to());
    return isReady();
  };
}

/** Pushes a title, and waits until it is the one that listeners begin with. */
async function pushFirst(server: TestServer): Promise<void> {
  await push(server, 'first');
  let joins = 0;
  const beginsWithIt = async () => {
    const metaid = `join-${joins++}`;
    const player = new Player(server.port, `/demo.mp3?metaid=${metaid}`);
    await player.until(({ audioBytes }) => audioBytes > 0, 10_000);
    player.close();
    return (await written(server, metaid))?.position === '0';
  };
  await until(beginsWithIt, 20_000, () => 'it lies behind the beginning', 100);
}

/** An attachment to an element whose clock is moved, and what it called. */
async function attached(t: Test, options: AttachOptions = {}, yaml = demoYaml('streams: { burstSeconds: 2 }')) {
  const server = await startServer(t, yaml);
  const audio = new StreamAudio(t, server.port);
  const calls: string[] = [];
  const messages: Readonly<Record<string, string>>[] = [];
  class WatchedSocket extends WebSocket {
    constructor(url: string) {
      super(url);
      this.on('message', (data) => messages.push(JSON.parse(data.toString()) as Record<string, string>));
    }
  }
  const attachment = attach(audio, '/demo.mp3', {
    server: server.base,
    WebSocket: WatchedSocket,
    onNow: ({ song }) => calls.push(song),
    onNext: (record) => calls.push(`next ${record?.song ?? 'none'}`),
    onState: (state) => calls.push(`(${state})`),
    ...options,
  });
  t.teardown(() => attachment.close());
  /** The position of this title, in seconds, as soon as it has come for so many times. */
  const placeOf = async (song: string, count = 1): Promise<number> => {
    const all = () => messages.filter((message) => message['type'] === 'now' && message['song'] === song);
    await until(
      () => all().length >= count,
      20_000,
      () => `${song} has not come`,
    );
    return Number(all().at(-1)!['position']) / 1000;
  };
  const has = (call: string) =>
    until(
      () => calls.includes(call),
      20_000,
      () => `no ${call} in: ${calls}`,
    );
  return { server, audio, calls, attachment, placeOf, has };
}

t.test('each title when the clock reaches its place: the first at once, the others one by one', async (t) => {
  const { server, audio, calls, attachment, placeOf, has } = await attached(t);
  await pushFirst(server);
  await push(server, 'soon', '&tracktype=next');
  t.match(audio.src, /\/demo\.mp3\?metaid=[0-9a-f]{32}$/);
  t.equal(audio.preload, 'none');
  await attachment.play();
  await placeOf('first');
  await push(server, 'second');
  const second = await placeOf('second');
  await push(server, 'third');
  const third = await placeOf('third');
  t.ok(second > 0 && third > second, `${second}, ${third}`);
  await has('next none');
  t.notOk(calls.includes('first'), 'nothing is heard before the clock moves');
  t.equal(attachment.now, null);

  audio.moveTo(0.02);
  t.strictSame(calls.slice(-2), ['(playing)', 'first']);
  t.match(attachment.now, { song: 'first', positionMs: 0 });
  audio.moveTo(second - 0.05);
  t.equal(calls.at(-1), 'first');
  audio.moveTo(second);
  t.equal(calls.at(-1), 'second');
  audio.moveTo(third + 1);
  t.equal(calls.at(-1), 'third');
  t.strictSame(
    calls.filter((call) => !/next/.test(call)),
    ['(connecting)', '(playing)', 'first', 'second', 'third'],
  );
  attachment.stop();
  t.equal(calls.at(-1), '(stopped)');
  t.equal(attachment.now, null);
});

t.test('a clock that jumps over two places: both are reported, in order', async (t) => {
  const { server, audio, calls, attachment, placeOf } = await attached(t);
  await pushFirst(server);
  await attachment.play();
  await placeOf('first');
  audio.moveTo(0.02);
  await push(server, 'second');
  await placeOf('second');
  await push(server, 'third');
  const third = await placeOf('third');
  audio.moveTo(third);
  t.strictSame(calls, ['(connecting)', '(playing)', 'first', 'second', 'third']);
});

t.test('between the looks of the element a timer reports it', async (t) => {
  const { server, audio, attachment, placeOf, has } = await attached(t);
  await pushFirst(server);
  await attachment.play();
  await placeOf('first');
  audio.moveTo(0.02);
  const lateMs: number[] = [];
  for (const song of ['second', 'third', 'fourth']) {
    await push(server, song);
    const place = await placeOf(song);
    // 300 ms before; then it goes on, and the element says nothing more.
    const fromMs = performance.now();
    audio.advance(() => place - 0.3 + (performance.now() - fromMs) / 1000);
    await has(song);
    lateMs.push(performance.now() - fromMs - 300);
    audio.clock = () => place;
  }
  // A busy machine is late now and then.
  t.ok(Math.min(...lateMs) >= -10 && Math.min(...lateMs) < 100, `${lateMs} ms`);
});

t.test('a pause ends the stream, and the next play has another metaid; or it is kept for a while', async (t) => {
  const { server, audio, calls, attachment, placeOf } = await attached(t);
  await pushFirst(server);
  await attachment.play();
  await placeOf('first');
  audio.moveTo(0.02);
  const { metaid } = audio;
  audio.pause();
  t.equal(calls.at(-1), '(stopped)');
  t.not(audio.metaid, metaid);
  t.equal(audio.player, null, 'the download has ended');
  await push(server, 'meanwhile');
  await attachment.play();
  await placeOf('meanwhile');
  audio.moveTo(0.02);

  const kept = await attached(t, { keepPausedMs: 600 });
  await pushFirst(kept.server);
  await kept.attachment.play();
  await kept.placeOf('first');
  kept.audio.moveTo(0.02);
  const before = kept.audio.metaid;
  await push(kept.server, 'second');
  const second = await kept.placeOf('second');
  kept.audio.pause();
  t.equal(kept.attachment.state, 'paused');
  kept.audio.moveTo(second);
  await quietFor(100);
  t.equal(kept.calls.at(-1), '(paused)', 'nothing is heard in a pause');
  await kept.attachment.play();
  await until(() => kept.calls.at(-1) === 'second', 5000);
  t.equal(kept.audio.metaid, before, 'it is the same stream');
  kept.audio.pause();
  await until(() => kept.calls.at(-1) === '(stopped)', 5000);
  t.not(kept.audio.metaid, before, 'a long pause ends it');

  const always = await attached(t, { keepPausedMs: Number.POSITIVE_INFINITY });
  await always.attachment.play();
  always.audio.moveTo(0.02);
  always.audio.pause();
  await quietFor(100);
  t.equal(always.attachment.state, 'paused', 'however long');
});

t.test('a stream that ends is asked for again, and its titles come anew', async (t) => {
  const { server, audio, calls, attachment, placeOf, has } = await attached(t);
  await pushFirst(server);
  await attachment.play();
  await placeOf('first');
  audio.moveTo(0.02);
  const { metaid } = audio;
  audio.end();
  t.equal(attachment.state, 'retrying');
  await until(() => attachment.state === 'connecting', 10_000);
  t.not(audio.metaid, metaid);
  await placeOf('first', 2);
  audio.moveTo(0.02);
  t.equal(calls.filter((call) => call === 'first').length, 2);
  await has('(retrying)');
  audio.end();
  attachment.stop();
  t.equal(attachment.state, 'stopped', 'a stop ends the tries too');
});

t.test(
  'a clock that stands still: for a moment it does not count, without data it waits, with data it asks again',
  async (t) => {
    const { server, audio, calls, attachment, placeOf } = await attached(t);
    await pushFirst(server);
    await attachment.play();
    await placeOf('first');
    audio.moveTo(0.02);
    t.equal(attachment.state, 'playing');
    // As Firefox has it at a link of Ogg.
    audio.dispatchEvent(new Event('waiting'));
    audio.dispatchEvent(new Event('playing'));
    const { metaid } = audio;
    await quietFor(1500);
    t.strictSame(calls, ['(connecting)', '(playing)', 'first']);

    audio.standsStill = true;
    audio.readyState = 2;
    await untilPromised(() => attachment.state === 'stalled', 3000);
    await quietFor(3000);
    t.equal(attachment.state, 'stalled', 'what it waits for may come');
    audio.moveTo(1);
    audio.readyState = 4;
    t.equal(attachment.state, 'playing');

    await untilPromised(
      () => attachment.state === 'retrying',
      4000,
      () => calls.join(),
    );
    t.strictSame(calls, ['(connecting)', '(playing)', 'first', '(stalled)', '(playing)', '(stalled)', '(retrying)']);
    await until(() => attachment.state === 'connecting', 10_000);
    t.not(audio.metaid, metaid);
    await quietFor(3500);
    t.equal(attachment.state, 'connecting', 'one that has not begun has its time');
  },
);

t.test('a page that was held for seconds shows a stall before it asks again', async (t) => {
  const { server, audio, calls, attachment, placeOf } = await attached(t);
  await pushFirst(server);
  await attachment.play();
  await placeOf('first');
  audio.standsStill = true;
  audio.moveTo(0.02);
  audio.readyState = 4;
  block(3000);
  await until(() => attachment.state === 'retrying', 10_000);
  t.strictSame(calls, ['(connecting)', '(playing)', 'first', '(stalled)', '(retrying)']);
});

t.test(
  'an element that asks for its stream again by itself goes on: the new session follows what was received',
  async (t) => {
    const { server, audio, calls, attachment, placeOf } = await attached(t);
    await pushFirst(server);
    await attachment.play();
    await placeOf('first');
    audio.moveTo(10);
    audio.buffered = { length: 1, end: () => 12 };
    const session = attachment.now!.session;
    audio.connect();
    await placeOf('first', 2);
    audio.moveTo(11.9);
    t.equal(attachment.now!.session, session);
    audio.moveTo(12);
    t.not(attachment.now!.session, session);
    t.equal(calls.filter((call) => call === 'first').length, 2);
    await push(server, 'second');
    const second = await placeOf('second');
    audio.moveTo(12 + second - 0.1);
    t.equal(calls.at(-1), 'first');
    audio.moveTo(12 + second);
    t.equal(calls.at(-1), 'second');
  },
);

t.test('a feed that opens after two titles were written asks which of them is heard', async (t) => {
  class LateSocket extends WebSocket {
    constructor(url: string) {
      super(url.replace('/metadata/', '/nothing/'));
    }
  }
  let isLate = true;
  // The first try fails; meanwhile both are written.
  const Late = function (this: unknown, url: string) {
    const socket = isLate ? new LateSocket(url) : new WebSocket(url);
    isLate = false;
    return socket;
  } as unknown as typeof WebSocket;
  const { server, audio, calls, attachment, has } = await attached(t, { WebSocket: Late });
  await pushFirst(server);
  await attachment.play();
  await until(async () => (await written(server, audio.metaid))?.song === 'first', 10_000);
  await push(server, 'second');
  await until(async () => (await written(server, audio.metaid))?.song === 'second', 10_000);
  audio.moveTo(0.1);
  await has('first');
  t.notOk(calls.includes('second'));
  audio.moveTo(30);
  t.equal(calls.at(-1), 'second');
});

t.test(
  'it reports where the player is: soon, when it has stood still, and by POST where there is no WebSocket',
  async (t) => {
    const sent: { heardMs: number; atMs: number }[] = [];
    class Watched extends WebSocket {
      override send(text: string): void {
        sent.push({ heardMs: (JSON.parse(text) as { heardMs: number }).heardMs, atMs: performance.now() });
      }
    }
    const { audio, attachment, server } = await attached(t, { WebSocket: Watched });
    await pushFirst(server);
    await attachment.play();
    await until(() => audio.player!.audioBytes > 0, 10_000);
    const fromMs = performance.now();
    let stoodMs = 0;
    audio.clock = () => (performance.now() - fromMs - stoodMs) / 1000;
    await until(() => sent.length === 1, 10_000);
    t.ok(Math.abs(sent[0]!.heardMs - (sent[0]!.atMs - fromMs)) < 100, 'where it is');
    await quietFor(2500);
    t.equal(sent.length, 1, 'a player in real time is silent');
    stoodMs = 500;
    await until(() => sent.length === 2, 10_000);
    t.ok(Math.abs(sent[1]!.heardMs - (sent[1]!.atMs - fromMs - 500)) < 100, 'it has stood still');
    t.ok(sent[1]!.atMs - sent[0]!.atMs >= 1000, 'at most once a second');
    attachment.stop();
    await quietFor(1500);
    t.equal(sent.length, 2, 'only while it plays');

    const posts: string[] = [];
    const real = globalThis.fetch;
    globalThis.fetch = (input, init) => {
      // Other tests of this file push.
      if (init?.method !== 'POST' || !String(input).endsWith('/heard')) return real(input, init);
      posts.push(`${new URL(String(input)).pathname} ${init.body}`);
      return Promise.resolve(new Response(null, { status: 404 }));
    };
    t.teardown(() => {
      globalThis.fetch = real;
    });
    const other = await attached(t, { transport: 'sse' });
    await other.attachment.play();
    let step = 0;
    await until(
      moved(
        other.audio,
        () => (step += 0.5),
        () => posts.length === 1,
      ),
      10_000,
      undefined,
      100,
    );
    const [path, body] = posts[0]!.split(' ') as [string, string];
    t.equal(path, `/metadata/listener/${other.audio.metaid}/heard`);
    t.match(JSON.parse(body), { heardMs: Number });
    const untilMs = performance.now() + 3500;
    await until(
      moved(
        other.audio,
        () => (step += 0.5),
        () => performance.now() > untilMs,
      ),
      10_000,
      undefined,
      100,
    );
    t.equal(posts.length, 2, 'a server that knows no reports is asked once more');

    const silent = await attached(t, { transport: 'sse', reports: false });
    await silent.attachment.play();
    const againMs = performance.now() + 1500;
    await until(
      moved(
        silent.audio,
        () => (step += 0.5),
        () => performance.now() > againMs,
      ),
      10_000,
      undefined,
      100,
    );
    t.equal(posts.length, 2, 'one that is not to know gets none');
  },
);

t.test('a try that the browser refuses when it was closed meanwhile', async (t) => {
  for (const end of ['none', 'close'] as const) {
    const { audio, calls, attachment } = await attached(t, { reports: false });
    await attachment.play();
    let refuse: (() => void) | null = null;
    audio.play = () =>
      new Promise((_, reject) => {
        refuse = () => reject(Object.assign(new Error('no'), { name: 'NotAllowedError' }));
      });
    audio.dispatchEvent(new Event('error'));
    await until(() => refuse !== null, 10_000);
    if (end === 'close') attachment.close();
    refuse!();
    await new Promise(setImmediate);
    t.equal(calls.includes('(failed)'), end === 'none', end);
  }
});

t.test('a mount may be a whole URL; closed is closed', async (t) => {
  const server = await startServer(t, demoYaml());
  const audio = new StreamAudio(t, server.port);
  const states: PlayState[] = [];
  const options = { WebSocket, onState: (state: PlayState) => states.push(state) };
  const attachment = attach(audio, `${server.base}/demo.mp3?a=b`, options);
  t.match(audio.src, /^http:\/\/127\.0\.0\.1:\d+\/demo\.mp3\?a=b&metaid=[0-9a-f]{32}$/);
  await pushFirst(server);
  await attachment.play();
  await until(
    moved(
      audio,
      () => 0.02,
      () => attachment.now?.song === 'first',
    ),
    10_000,
  );
  attachment.close();
  attachment.close();
  t.equal(audio.player, null);
  await audio.play();
  audio.moveTo(1);
  t.strictSame(states, ['connecting', 'playing']);
  t.throws(() => attach(audio, '/demo.mp3'), TypeError, 'outside of a page a server is needed');
});

const CHROMIUM = '/usr/bin/chromium';
const SKIP = missing('chromium');

async function openPage(t: Test, url: string): Promise<Page> {
  const args = ['--no-sandbox', '--disable-gpu', '--mute-audio', '--autoplay-policy=no-user-gesture-required'];
  args.push('--host-resolver-rules=MAP radio.test 127.0.0.1');
  const browser = await chromium.launch({ executablePath: CHROMIUM, args });
  t.teardown(() => browser.close());
  const page = await browser.newPage();
  page.on('pageerror', (error) => t.fail(String(error)));
  await page.goto(url);
  return page;
}

/** What a page below has written down. */
interface Heard {
  readonly calls: readonly string[];
  readonly titles: readonly { readonly song: string; readonly positionMs: number; readonly atMs: number }[];
  readonly system: {
    readonly title: string;
    readonly artist: string;
    readonly artwork: string;
    readonly state: string;
  };
}

/** Attaches an element in the page, imports the module from the server, as pages do. */
function attachIn(page: Page, base: string): Promise<void> {
  return page.evaluate(`(async () => {
    const { attach } = await import('${base}/client.js');
    const audio = document.body.appendChild(document.createElement('audio'));
    window.calls = [];
    window.titles = [];
    window.attachment = attach(audio, '${base}/demo.mp3', {
      onNow: ({ song, positionMs }) => {
        calls.push(song);
        titles.push({ song, positionMs, atMs: audio.currentTime * 1000 });
      },
      onState: (state) => calls.push('(' + state + ')'),
    });
    await attachment.play();
  })()`);
}

function heardIn(page: Page): Promise<Heard> {
  return page.evaluate(`(() => {
    const { metadata, playbackState } = navigator.mediaSession ?? {};
    const { title = '', artist = '', artwork = [] } = metadata ?? {};
    const system = { title, artist, artwork: artwork.map(({ src }) => src).join(), state: playbackState };
    return { calls, titles, system };
  })()`);
}

t.test('in Chromium', { skip: SKIP, timeout: 110_000 }, async (t) => {
  const yaml = demoYaml('streams: { burstSeconds: 1 }', await freePort());
  let server = await startServer(t, yaml);
  const page = await openPage(t, await otherOrigin(t));
  let heard = await heardIn(page).catch(() => null);
  const has = async (song: string, count = 1) => {
    const isHeard = async () => {
      heard = await heardIn(page);
      return heard.calls.filter((call) => call === song).length >= count;
    };
    await until(isHeard, 30_000, () => `no ${song} in: ${heard?.calls}`);
  };
  await pushFirst(server);
  await attachIn(page, server.base);
  await has('first');
  await push(server, 'second');
  // Two titles in the same moment are one to a player that looks a moment later.
  await pause(2000);
  const artwork = `${server.base}/favicon.ico`;
  await fetch(`${server.base}/metapush/demo/demo-token`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ artist: 'A', song: 'third', duration: 60, images: { large: { url: artwork } } }),
  });
  await has('third');
  const late = heard!.titles.map(({ atMs, positionMs }) => atMs - positionMs);
  t.comment(`after their places, on the element's clock: ${late.map((ms) => ms.toFixed(1)).join(', ')} ms`);
  t.strictSame(
    heard!.calls.filter((call) => !call.startsWith('(')),
    ['first', 'second', 'third'],
  );
  for (const ms of late.slice(1)) t.ok(ms >= -5 && ms < 250, `${ms} ms after its place`);
  t.match(heard!.system, { title: 'third', artist: 'A', artwork, state: 'playing' });

  await server.app.stop();
  await has('(retrying)');
  server = await startServer(t, yaml, server.folder);
  await has('third', 2);
  t.equal(heard!.system.title, 'third');
  await page.evaluate('attachment.stop()');
  await has('(stopped)');
  t.match(heard!.system, { title: '', artwork: '', state: 'paused' });
  await until(
    async () => (await (await fetch(`${server.base}/metrics`)).text()).includes('listeners{channel="demo"} 0'),
    10_000,
  );
});

t.test('a page without TLS has no randomUUID, and plays all the same', { skip: SKIP, timeout: 60_000 }, async (t) => {
  const server = await startServer(t, demoYaml('streams: { burstSeconds: 1 }'));
  await pushFirst(server);
  const page = await openPage(t, `http://radio.test:${server.port}/`);
  t.equal(await page.evaluate('isSecureContext'), false);
  t.equal(await page.evaluate('typeof crypto.randomUUID'), 'undefined');
  await page.locator('.play').first().click();
  await shows(page, '.song', 'first', 20_000);
  t.pass('its title is shown when it is heard');
});
