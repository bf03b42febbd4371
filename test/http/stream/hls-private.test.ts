/** Private listeners of HLS, with the whole server: who is admitted, where it counts, how long it is there, and what its token opens. */

import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ADMIN_USERS, AdminClient } from '../../kit/admin-client.js';
import { readPlaylist } from '../../kit/hls-channel.js';
import { pause } from '../../kit/pause.js';
import { Player } from '../../kit/player.js';
import { DEMO_AUDIO, metricsOf, startServer, type TestServer } from '../../kit/server.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until, untilPromised } from '../../kit/until.js';
import { ask } from '../../kit/wire.js';

// They wait more than they compute.
t.jobs = 6;

const KEY = 'a key that is as long as it has to be';
process.env['HLS_PRIVATE_KEY'] = KEY;
const AUDIO = `sources: [{ type: file, path: ${DEMO_AUDIO} }]`;

/** A channel of each kind, each with two mounts. @param limits of the channel `open` */
function yaml(limits = '', extra = ''): string {
  return `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations:
  house:
    channels:
      open: { bitrateKbps: 128, mounts: [/open.mp3], pushTokens: [demo-token], ${limits}${AUDIO} }
      signed: { bitrateKbps: 128, mounts: [/signed.mp3], access: signed, ${AUDIO} }
signedUrls: { keys: ['env:HLS_PRIVATE_KEY'] }
streams: { hls: { enabled: true, segmentSeconds: 2 } }
${extra}
`;
}

function signature(path: string, expires = Math.floor(Date.now() / 1000) + 3600): string {
  const sig = createHmac('sha256', KEY).update(`${path}\n${expires}`).digest('hex');
  return `expires=${expires}&sig=${sig}`;
}

/** The path of the media playlist that a multivariant one names, once there is one. */
async function admitted(t: Test, { port }: TestServer, path: string, headers = ''): Promise<string> {
  let answer = await ask(t, port, `GET ${path} HTTP/1.1${headers}`);
  await until(async () => {
    if (answer.status === 503) answer = await ask(t, port, `GET ${path} HTTP/1.1${headers}`);
    return answer.status !== 503;
  }, 30_000);
  t.equal(answer.status, 200, `${path}: ${answer.body}`);
  t.equal(answer.headers.get('cache-control'), 'no-store');
  const [, uri] = /^(hls\/live\.m3u8\?s=[A-Za-z0-9_-]{22})$/m.exec(answer.body) ?? [];
  return new URL(uri ?? 'none', `http://x${path}`).href.slice('http://x'.length);
}

/** Every process knows that this is refused by now: so many requests in a row reach each of them. */
async function refusedEverywhere(t: Test, { port }: TestServer, path: string, headers = ''): Promise<void> {
  for (let inRow = 0; inRow < 20; ) {
    const { status } = await ask(t, port, `HEAD ${path} HTTP/1.1${headers}`);
    inRow = status === 503 || status === 302 ? inRow + 1 : 0;
    if (inRow === 0) await pause(50);
  }
}

const tokenOf = (path: string) => path.slice(path.indexOf('?'));

/** Private listeners as an operator sees them. */
async function listenersOf(server: TestServer) {
  const { body } = await new AdminClient(server).get('listeners');
  // biome-ignore lint/suspicious/noExplicitAny: tests look into what they expect
  return body.listeners.filter(({ hls }: any) => hls) as any[];
}

t.test('a metaid at an open mount: a playlist of its own, of the segments that all share', async (t) => {
  const server = await startServer(t, yaml());
  const { port } = server;
  const path = await admitted(t, server, '/open.mp3/hls.m3u8?metaid=alice');
  const own = await ask(t, port, `GET ${path} HTTP/1.1`);
  t.strictSame([own.status, own.headers.get('cache-control')], [200, 'no-store']);
  const shared = await ask(t, port, 'GET /open.mp3/hls/live.m3u8 HTTP/1.1');
  t.equal(shared.headers.get('cache-control'), 'public, max-age=1');
  const { name } = readPlaylist(own.body).segments.at(-1)!;
  t.equal(
    (await ask(t, port, `GET /open.mp3/hls/${name} HTTP/1.1`)).headers.get('cache-control'),
    'public, max-age=3600, immutable',
  );
  t.equal((await ask(t, port, `HEAD ${path} HTTP/1.1`)).status, 200);
  // Who asks without is not known, and gets what all get.
  const plain = await ask(t, port, 'GET /open.mp3/hls.m3u8 HTTP/1.1');
  t.match(plain.body, /^hls\/live\.m3u8$/m);
  const led = await ask(t, port, 'GET /open.mp3.m3u8?metaid=alice HTTP/1.1');
  t.match(led.headers.get('location'), /\/open\.mp3\/hls\.m3u8\?metaid=alice$/);
});

t.test('the same request again is the same listener, another one another', async (t) => {
  const server = await startServer(t, yaml('', ADMIN_USERS));
  const first = await admitted(t, server, '/open.mp3/hls.m3u8?metaid=alice');
  t.equal(await admitted(t, server, '/open.mp3/hls.m3u8?metaid=alice'), first);
  t.not(tokenOf(await admitted(t, server, '/open.mp3/hls.m3u8?metaid=bob')), tokenOf(first));
  t.not(tokenOf(await admitted(t, server, '/open/hls.m3u8?metaid=alice')), tokenOf(first), 'at another mount');
  t.not(
    tokenOf(await admitted(t, server, '/open.mp3/hls.m3u8?metaid=alice&x=1')),
    tokenOf(first),
    'with another query',
  );
  const apple = '\nX-Playback-Session-Id: 0815';
  const signed = `/signed.mp3/hls.m3u8?${signature('/signed.mp3')}`;
  t.equal(await admitted(t, server, signed, apple), await admitted(t, server, signed, apple), 'named by its header');
  t.not(await admitted(t, server, signed), await admitted(t, server, signed), 'without a name');
  t.equal((await listenersOf(server)).length, 7);
});

t.test(
  'requests that are admitted one after the other while both wait: one listener, in whichever process',
  async (t) => {
    const ANSWERS_MS = 400;
    const hook = createServer((_, response) => {
      void pause(ANSWERS_MS).then(() => response.writeHead(200, { 'icecast-auth-user': '1' }).end());
    });
    await new Promise<void>((done) => hook.listen(0, '127.0.0.1', done));
    t.teardown(() => hook.close());
    const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`;
    const server = await startServer(
      t,
      yaml('access: hook, ', `listenerHook: { url: '${url}', cacheSeconds: 0 }\n${ADMIN_USERS}`),
    );
    // Each process has its playlist.
    for (let i = 0; i < 8; i++) await admitted(t, server, '/signed.mp3/hls.m3u8?'.concat(signature('/signed.mp3')));
    const before = (await listenersOf(server)).length;
    const players = Array.from({ length: 8 }, async (_, i) => {
      const path = `/open.mp3/hls.m3u8?metaid=player${i}`;
      const first = admitted(t, server, path);
      // Its turn comes when the first one was admitted, and the other processes have been told.
      await pause(ANSWERS_MS / 2);
      t.equal(await admitted(t, server, path), await first);
    });
    await Promise.all(players);
    t.equal((await listenersOf(server)).length - before, 8);
  },
);

t.test('a mount that is not open: nothing without a signature, and no way around it', async (t) => {
  const server = await startServer(t, yaml());
  const { port } = server;
  const path = await admitted(t, server, `/signed.mp3/hls.m3u8?${signature('/signed.mp3')}`);
  const { name } = readPlaylist((await ask(t, port, `GET ${path} HTTP/1.1`)).body).segments[0]!;
  t.equal((await ask(t, port, `GET /signed.mp3/hls/${name} HTTP/1.1`)).status, 200, 'who has its name may have it');
  const [before] = signature('/signed.mp3').split('&sig=');
  const refused = [
    ...['hls.m3u8', 'hls/live.m3u8', 'hls.m3u8?metaid=alice', 'hls/live.m3u8?metaid=alice', 'hls.m3u8?s=x'],
    ...[`hls.m3u8?${before}&sig=${'0'.repeat(64)}`, `hls.m3u8?${signature('/signed.mp3', 1)}`],
    ...[`hls.m3u8?${signature('/open.mp3')}`, `hls.m3u8?${signature('/signed.mp3/hls.m3u8')}`],
    ...[`hls/live.m3u8?${signature('/signed.mp3')}`, 'hls/live.m3u8?s=', 'hls/live.m3u8?s=%00'],
    ...[`hls/live.m3u8?s=${'x'.repeat(22)}`, `hls/live.m3u8?s=${'x'.repeat(8000)}`, `hls.m3u8?${'x'.repeat(8000)}`],
  ];
  for (const each of refused) {
    const answer = await ask(t, port, `GET /signed.mp3/${each} HTTP/1.1`);
    t.equal(answer.status, 403, each.slice(0, 80));
    t.equal(answer.headers.get('access-control-allow-origin'), '*');
    t.notMatch(answer.body, /EXTM3U/);
  }
  t.equal((await ask(t, port, 'HEAD /signed.mp3/hls.m3u8 HTTP/1.1')).status, 403);
  const head = await ask(t, port, `HEAD /signed.mp3/hls.m3u8?${signature('/signed.mp3')} HTTP/1.1`);
  t.strictSame([head.status, head.headers.get('cache-control')], [200, 'no-store']);
  // At the channel's other mount, whose path is signed otherwise.
  t.equal((await ask(t, port, `GET /signed/hls.m3u8?${signature('/signed.mp3')} HTTP/1.1`)).status, 403);
});

t.test('who knows all that a request says cannot make its token', async (t) => {
  const url = '/open.mp3?metaid=alice';
  const request = `/open.mp3/hls.m3u8?metaid=alice`;
  const server = await startServer(t, yaml());
  const path = await admitted(t, server, request);
  // As another server makes it.
  t.not(await admitted(t, await startServer(t, yaml()), request), path);
  for (const whole of [['/open.mp3', 'alice', url, '', '127.0.0.1'], [url], ['alice']]) {
    for (const digest of [createHash('sha256'), createHmac('sha256', ''), createHmac('sha256', Buffer.alloc(32))]) {
      const made = digest.update(JSON.stringify(whole)).digest().subarray(0, 16).toString('base64url');
      const { status } = await ask(t, server.port, `GET /open.mp3/hls/live.m3u8?s=${made} HTTP/1.1`);
      t.equal(status, 403);
    }
  }
});

t.test('a token opens the playlist of its mount, and no other', async (t) => {
  const server = await startServer(t, yaml());
  const { port } = server;
  const open = await admitted(t, server, '/open.mp3/hls.m3u8?metaid=alice');
  const signed = await admitted(t, server, `/signed.mp3/hls.m3u8?${signature('/signed.mp3')}`);
  for (const path of [`/signed.mp3/hls/live.m3u8${tokenOf(open)}`, `/open/hls/live.m3u8${tokenOf(open)}`]) {
    t.equal((await ask(t, port, `GET ${path} HTTP/1.1`)).status, 403, path);
  }
  t.equal((await ask(t, port, `GET /open.mp3/hls/live.m3u8${tokenOf(signed)} HTTP/1.1`)).status, 403);
  t.equal((await ask(t, port, `GET ${signed} HTTP/1.1`)).status, 200);
  t.equal((await ask(t, port, `GET /open.mp3/hls/live.m3u8?s=${'y'.repeat(22)} HTTP/1.1`)).status, 403, 'unknown');
});

t.test('a token opens nothing of another channel, which a reload has given its path', async (t) => {
  const text = yaml();
  const server = await startServer(t, text);
  const path = await admitted(t, server, '/open.mp3/hls.m3u8?metaid=alice');
  t.equal((await ask(t, server.port, `GET ${path} HTTP/1.1`)).status, 200);
  await admitted(t, server, `/signed.mp3/hls.m3u8?${signature('/signed.mp3')}`);
  await server.reload(text.replace('/open.mp3', '/other.mp3').replace('/signed.mp3', '/open.mp3'));
  t.equal((await ask(t, server.port, `GET ${path} HTTP/1.1`)).status, 403);
  await admitted(t, server, `/open.mp3/hls.m3u8?${signature('/open.mp3')}`);
});

t.test('it counts where a listener of the stream does, as long as it asks; then its place is free', async (t) => {
  const folder = tempFolder(t);
  const log = join(folder, 'access.log');
  const extra = `accessLog: { file: '${log}' }\n${ADMIN_USERS}`;
  const server = await startServer(t, yaml('maxListeners: 1, ', extra), folder);
  const { port } = server;
  const beganMs = performance.now();
  const path = await admitted(t, server, '/open.mp3/hls.m3u8?metaid=alice&app=x', '\nUser-Agent: Player/1');
  const keeper = setInterval(() => void fetch(`${server.base}${path}`), 1000);
  t.teardown(() => clearInterval(keeper));
  await refusedEverywhere(t, server, '/open.mp3/hls.m3u8?metaid=bob');
  t.equal((await ask(t, port, 'GET /open.mp3/hls.m3u8?metaid=bob HTTP/1.1')).status, 503, 'no room for another');
  t.equal((await ask(t, port, 'GET /open.mp3 HTTP/1.1')).status, 503, 'of the stream neither');
  t.equal((await ask(t, port, 'GET /open.mp3/hls/live.m3u8 HTTP/1.1')).status, 200, 'who is not known is not counted');
  await admitted(t, server, '/open.mp3/hls.m3u8?metaid=alice&app=x');

  const [listener] = await listenersOf(server);
  const { channel, mount, agent, hls, icy, metaid, title, hears } = listener;
  t.strictSame(
    { channel, mount, agent, hls, icy, metaid },
    { channel: 'open', mount: '/open.mp3', agent: 'Player/1', hls: true, icy: false, metaid: 'a…' },
  );
  t.strictSame([typeof title, typeof hears], ['string', 'string']);
  await until(async () => {
    const { body } = await new AdminClient(server).get('channels');
    return body[0].listeners === 1 && body[0].connections === 1;
  }, 5000);
  // Longer than it may be silent.
  await pause(13_000);
  t.equal((await listenersOf(server)).length, 1);
  t.ok((await listenersOf(server))[0].bytes > listener.bytes);
  const lag = (await listenersOf(server))[0].lagMs;
  t.ok(lag > 5000 && lag < 12_000, `some segments behind: ${lag}`);

  clearInterval(keeper);
  const stoppedMs = performance.now();
  await untilPromised(async () => (await listenersOf(server)).length === 0, 15_000);
  t.ok(performance.now() - stoppedMs > 9000, 'not before it is due');
  t.equal((await ask(t, port, `GET ${path} HTTP/1.1`)).status, 403);
  await until(() => readFileSync(log, 'latin1').split('\n').length > 1, 5000);
  const [line] = readFileSync(log, 'latin1')
    .split('\n')
    .filter((each) => each.includes('alice') || each.includes('hls'));
  t.match(line, /"GET \/open\.mp3\/hls\.m3u8\?metaid=-&app=x HTTP\/1\.0" 200 \d{3,} "-" "Player\/1" \d+$/);
  const heardSeconds = Number(line!.split(' ').at(-1));
  t.ok(heardSeconds >= 10 && heardSeconds <= (stoppedMs - beganMs) / 1000 + 2, `${heardSeconds} s`);
  await admitted(t, server, '/open.mp3/hls.m3u8?metaid=bob');
  const left = /airsplice_listener_endings_total\{reason="left"\} [1-9]/;
  await until(async () => left.test((await metricsOf(server)).join('')), 5000);
});

t.test('an operator ends it: its next request is refused, and it may begin again', async (t) => {
  const server = await startServer(t, yaml('', ADMIN_USERS));
  const { port } = server;
  const path = await admitted(t, server, '/open.mp3/hls.m3u8?metaid=alice');
  const other = await admitted(t, server, '/open.mp3/hls.m3u8?metaid=bob');
  const admin = new AdminClient(server);
  const { id } = (await listenersOf(server))[0];
  const moved = await admin.post('listeners/move', { ids: [id], to: 'signed' });
  t.strictSame([moved.body.moved, moved.body.refused], [0, 1], 'it cannot be moved');
  t.match((await admin.delete(`listeners/${id}`)).status, /20[04]/);
  t.equal((await ask(t, port, `GET ${path} HTTP/1.1`)).status, 403);
  t.equal((await ask(t, port, `GET ${other} HTTP/1.1`)).status, 200);
  t.equal((await listenersOf(server)).length, 1);
  t.equal(await admitted(t, server, '/open.mp3/hls.m3u8?metaid=alice'), path);
  t.equal((await ask(t, port, `GET ${path} HTTP/1.1`)).status, 200);
});

t.test('limits of the server, of an address, of time; another node that may have room', async (t) => {
  const server = await startServer(
    t,
    yaml(
      "maxListenSeconds: 10, overflowUrl: 'https://other.example/{mount}?a=b', ",
      `limits: { listeners: 3, listenersPerAddress: 2 }\n${ADMIN_USERS}`,
    ),
  );
  const { port } = server;
  const path = await admitted(t, server, '/open.mp3/hls.m3u8?metaid=a');
  await admitted(t, server, `/signed.mp3/hls.m3u8?${signature('/signed.mp3')}`);
  await refusedEverywhere(t, server, '/open.mp3/hls.m3u8?metaid=c');
  const full = await ask(t, port, 'GET /open.mp3/hls.m3u8?metaid=c HTTP/1.1');
  t.strictSame([full.status, /address/.test(full.body)], [503, true]);
  await untilPromised(async () => {
    const { status } = await ask(t, port, `GET ${path} HTTP/1.1`);
    return status === 403;
  }, 13_000);
  const none = await startServer(t, yaml("maxListeners: 1, overflowUrl: 'https://other.example/{mount}?a=b', "));
  await admitted(t, none, '/open.mp3/hls.m3u8?metaid=a');
  await refusedEverywhere(t, none, '/open.mp3/hls.m3u8?metaid=c');
  for (const method of ['GET', 'HEAD']) {
    const elsewhere = await ask(t, none.port, `${method} /open.mp3/hls.m3u8?metaid=c HTTP/1.1`);
    t.strictSame(
      [elsewhere.status, elsewhere.headers.get('location')],
      [302, 'https://other.example/open.mp3/hls.m3u8?a=b&metaid=c'],
    );
  }
});

t.test('an address has no more of them than it may have connections, though they need none', async (t) => {
  const from = (address: string) => `\nX-Forwarded-For: ${address}`;
  const limits = (own: string) => `proxies: { trusted: [127.0.0.1] }\nlimits: { connectionsPerAddress: 5${own} }\n`;
  const server = await startServer(t, yaml('', limits('')));
  const admit = (name: string, headers: string, of = server) =>
    admitted(t, of, `/open.mp3/hls.m3u8?metaid=${name}`, headers);
  for (let i = 0; i < 5; i++) await admit(`a${i}`, from('192.0.2.1'));
  await refusedEverywhere(t, server, '/open.mp3/hls.m3u8?metaid=a5', from('192.0.2.1'));
  const full = await ask(t, server.port, `GET /open.mp3/hls.m3u8?metaid=a5 HTTP/1.1${from('192.0.2.1')}`);
  t.strictSame([full.status, /address/.test(full.body)], [503, true], 'one past it');
  await admit('b', from('192.0.2.2'));
  const signed = `/signed.mp3/hls.m3u8?${signature('/signed.mp3')}`;
  t.equal((await ask(t, server.port, `GET ${signed} HTTP/1.1${from('192.0.2.1')}`)).status, 503, 'at no mount');
  for (let i = 0; i < 7; i++) await admit(`own${i}`, '');
  const told = await startServer(t, yaml('', limits(', listenersPerAddress: 6')));
  for (let i = 0; i < 6; i++) await admit(`a${i}`, from('192.0.2.1'), told);
  await refusedEverywhere(t, told, '/open.mp3/hls.m3u8?metaid=a6', from('192.0.2.1'));
});

t.test('the hook is asked once, about the mount, and hears of the end', async (t) => {
  const calls: URLSearchParams[] = [];
  const hook = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      const form = new URLSearchParams(body);
      calls.push(form);
      response.writeHead(200, form.get('user') === 'bad' ? {} : { 'icecast-auth-user': '1' }).end();
    });
  });
  await new Promise<void>((done) => hook.listen(0, '127.0.0.1', done));
  t.teardown(() => hook.close());
  const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`;
  const server = await startServer(t, yaml('access: hook, ', `listenerHook: { url: '${url}', cacheSeconds: 0 }`));
  const { port } = server;
  const login = `\nAuthorization: Basic ${Buffer.from('alice:secret').toString('base64')}`;
  const path = await admitted(t, server, '/open.mp3/hls.m3u8?metaid=alice', login);
  // Whichever process is asked waits until it knows the token.
  for (let i = 0; i < 8; i++) t.equal((await ask(t, port, `GET ${path} HTTP/1.1`)).status, 200);
  await admitted(t, server, '/open.mp3/hls.m3u8?metaid=alice', login);
  const added = calls.filter((form) => form.get('action') === 'listener_add');
  t.strictSame(
    added.map((form) => [form.get('mount'), form.get('user'), form.get('pass')]),
    [['/open.mp3?metaid=alice', 'alice', 'secret']],
  );
  const bad = `\nAuthorization: Basic ${Buffer.from('bad:secret').toString('base64')}`;
  t.equal((await ask(t, port, `GET /open.mp3/hls.m3u8 HTTP/1.1${bad}`)).status, 403);
  t.equal((await ask(t, port, 'GET /open.mp3/hls/live.m3u8 HTTP/1.1')).status, 403);
  await untilPromised(() => calls.some((form) => form.get('action') === 'listener_remove'), 15_000);
  const removed = calls.find((form) => form.get('action') === 'listener_remove')!;
  t.equal(removed.get('client'), added[0]!.get('client'));
});

t.test('those who are not known are estimated: each once, for three target durations', async (t) => {
  const server = await startServer(t, yaml('', `limits: { listeners: 3 }\n${ADMIN_USERS}`));
  const { port } = server;
  const count = async () => (await new AdminClient(server).get('channels')).body[0].hlsListeners;
  const list = (headers: string) => ask(t, port, `GET /open.mp3/hls/live.m3u8 HTTP/1.1${headers}`);
  await until(async () => (await list('\nUser-Agent: A')).status === 200, 30_000);
  // A player asks all the time: on a busy machine what it asked first is forgotten by the time that it is looked at.
  const counted = (wanted: number, ...players: string[]) =>
    until(async () => {
      for (const player of players) await list(player);
      return (await count()) === wanted;
    }, 5000);
  const a = '\nUser-Agent: A';
  const same = ['\nUser-Agent: B\nX-Playback-Session-Id: 1', '\nUser-Agent: C\nX-Playback-Session-Id: 1'];
  await counted(1, a, a, a);
  await counted(2, a, ...same);
  await ask(t, port, 'HEAD /open.mp3/hls/live.m3u8 HTTP/1.1\nUser-Agent: D');
  await list('\nUser-Agent: E');
  await list('\nUser-Agent: F');
  const found = await count();
  // What others count is of a moment ago.
  t.ok(found <= (server.serving > 1 ? 4 : 3), `no more than limits.listeners: ${found}`);
  const shown = /airsplice_hls_listeners\{channel="open"\} [23]/;
  await until(async () => {
    await list(a);
    await list(same[0]!);
    return shown.test((await metricsOf(server)).join(''));
  }, 5000);
  const { body } = await new AdminClient(server).get('channels');
  t.strictSame([body[0].listeners, body[0].connections], [0, 0], 'apart from the others');
  const player = new Player(port, '/open.mp3');
  t.teardown(() => player.close());
  await player.until((p) => p.audioBytes > 0);
  await untilPromised(async () => (await count()) === 0, 10_000);
});

t.test('it ends with its channel, and with the server: one line each, and the hook hears of it', async (t) => {
  const folder = tempFolder(t);
  const log = join(folder, 'access.log');
  const text = yaml('', `accessLog: { file: '${log}' }\n${ADMIN_USERS}`);
  const server = await startServer(t, text, folder);
  const { port } = server;
  const gone = await admitted(t, server, `/signed.mp3/hls.m3u8?${signature('/signed.mp3')}`);
  const path = await admitted(t, server, '/open.mp3/hls.m3u8?metaid=alice');
  await server.reload(text.replace(/^ *signed: .*$/m, ''));
  await until(async () => (await listenersOf(server)).length === 1, 5000);
  t.equal((await ask(t, port, `GET ${gone} HTTP/1.1`)).status, 404);
  t.equal((await ask(t, port, `GET ${path} HTTP/1.1`)).status, 200);
  const off = text.replace('hls: { enabled: true', 'hls: { enabled: false');
  await server.reload(off.replace(/^ *signed: .*$/m, ''));
  t.equal((await ask(t, port, `GET ${path} HTTP/1.1`)).status, 404);
  await server.app.stop();
  const lines = readFileSync(log, 'latin1').split('\n').slice(0, -1);
  t.strictSame(
    // Each worker writes its own when it can.
    lines.map((line) => /"GET ([^?]*)/.exec(line)?.[1]).sort(),
    ['/open.mp3/hls.m3u8', '/signed.mp3/hls.m3u8'],
  );
  t.notMatch(lines.join(), /sig=[0-9a-f]/, 'a signature is a secret');
});
