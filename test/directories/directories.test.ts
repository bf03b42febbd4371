/** Directories of streams: a server of the published protocol over real sockets; what is listed, when, and what becomes of answers that are none. */

import type { ServerResponse } from 'node:http';
import t, { type Test } from 'tap';
import type { Log } from '../../src/base/log.js';
import { Feeder } from '../kit/feeder.js';
import { keepLines } from '../kit/log-lines.js';
import { quietFor } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { atOnce, DEMO_AUDIO, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { type YpForm, YpServer } from '../kit/yp-server.js';

t.jobs = atOnce(4);

const QUICK = 'touchSeconds: { min: 1, max: 1 }, retrySeconds: { min: 0.2, max: 1 }, timeoutSeconds: 1';
const LIVE = `
      live:
        { name: 'Nina & friends', genre: jazz, description: 'dé', url: 'https://station.example/', public: true, mounts: ['/li~ve;1.mp3'],
          bitrateKbps: 128, maxListeners: 7, pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] }`;

interface Made {
  readonly channels?: string;
  readonly options?: string;
}

function yaml(directories: readonly YpServer[], { channels = LIVE, options = QUICK }: Made = {}): string {
  return `
addresses: [{ host: 127.0.0.1, port: 0 }]
streams: { publicUrl: 'https://radio.example/', silenceSeconds: 1 }
directories: [${directories.map(({ url }) => `{ url: '${url}', ${options} }`).join(', ')}]
stations:
  house:
    channels: ${channels}
`;
}

const start = (t: Test, text: string, log?: Log) => startServer(t, text, undefined, log);

t.test('listed when there is sound, with the title and the listeners of now, removed at the stop', async (t) => {
  const [one, two] = [await YpServer.open(t), await YpServer.open(t)];
  // A busy machine may be silent for longer than a second.
  const server = await start(t, yaml([one, two]).replace('silenceSeconds: 1', 'silenceSeconds: 20'));
  t.strictSame(await one.came('add', 1), {
    action: 'add',
    sn: 'Nina & friends',
    genre: 'jazz',
    cpswd: '',
    desc: 'dé',
    url: 'https://station.example/',
    listenurl: 'https://radio.example/li~ve;1.mp3',
    type: 'audio/mpeg',
    stype: '',
    b: '128',
    'ice-samplerate': '44100',
    'ice-channels': '2',
  });
  await two.came('add', 1);
  await fetch(`${server.base}/metapush/live/demo-token?song=One+%26+two&artist=A`);
  const player = new Player(server.port, '/live');
  await until(() => one.of('touch').some(({ listeners, st }) => listeners === '1' && st === 'A - One & two'), 20_000);
  t.match(one.of('touch').at(-1), { sid: 'sid-1', max_listeners: '7', stype: '' });
  player.close();
  await until(() => one.of('touch').at(-1)!['listeners'] === '0', 20_000);
  await server.app.stop();
  t.equal(one.listed.size + two.listed.size, 0);
  t.equal(one.of('add').length, 1, 'once');
});

t.test('off the air it is removed, and added when it comes back; a private one never', async (t) => {
  const yp = await YpServer.open(t);
  const channels = `
      live: { public: true, sources: [{ type: encoder, password: demo-source, titlesWhileAway: true }] }
      hidden: { public: false, sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      unsaid: { sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      hooked: { access: signed, sources: [{ type: encoder, password: demo-source }] }`;
  process.env['YP_KEY'] = 'x'.repeat(32);
  const server = await start(t, `signedUrls: { keys: [env:YP_KEY] }${yaml([yp], { channels })}`);
  const member = new Feeder(t, server.port, '/hooked', { headers: 'ice-public: 1\r\nContent-Type: audio/mpeg\r\n' });
  t.equal(await member.answered(), 200);
  member.send(100);
  await quietFor(1500);
  t.equal(yp.forms.length, 0);
  const first = new Feeder(t, server.port, '/live');
  await first.answered();
  first.send(100);
  t.match(await yp.came('add', 1), { listenurl: 'https://radio.example/live', sn: 'live' });
  await yp.came('touch', 1);
  first.socket.destroy();
  t.match(await yp.came('remove', 1), { sid: 'sid-1' });
  t.equal(yp.listed.size, 0);
  const second = new Feeder(t, server.port, '/live');
  await second.answered();
  second.send(100);
  await yp.came('add', 2);
  t.strictSame(
    new Set(yp.of('add').map(({ sn }) => sn)),
    new Set(['live']),
    'nothing that is not for all, whatever its encoder says',
  );
});

t.test('a reload: another name, private, another directory, removed', async (t) => {
  const [one, two] = [await YpServer.open(t), await YpServer.open(t)];
  const server = await start(t, yaml([one]));
  await one.came('add', 1);
  await server.reload(yaml([one], { channels: LIVE.replace('friends', 'others') }));
  t.match(await one.came('remove', 1), { sid: 'sid-1' });
  t.match(await one.came('add', 2), { sn: 'Nina & others' });
  await server.reload(yaml([two]));
  t.match(await one.came('remove', 2), { sid: 'sid-2' });
  await two.came('add', 1);
  await server.reload(yaml([two], { channels: LIVE.replace('public: true', 'public: false') }));
  await two.came('remove', 1);
  await server.reload(yaml([two]));
  await two.came('add', 2);
  await server.reload(yaml([two], { channels: LIVE.replace('live:', 'other:') }));
  t.match(await two.came('remove', 2), { sid: 'sid-2' });
  t.match(await two.came('add', 3), { listenurl: 'https://radio.example/li~ve;1.mp3' });
  await server.reload(yaml([]).replace('directories: []\n', ''));
  await two.came('remove', 3);
  t.equal(one.listed.size + two.listed.size, 0);
});

t.test('a directory that has forgotten it gets it again; its SID is in no log', async (t) => {
  const [other, yp] = [await YpServer.open(t), await YpServer.open(t)];
  const { log, lines } = keepLines();
  const server = await start(t, yaml([other, yp]), log);
  await yp.came('touch', 1);
  await server.reload(yaml([yp]));
  yp.listed.clear();
  await yp.came('add', 2);
  await until(() => lines.some(({ message }) => message === 'a directory lists a channel again'), 20_000);
  const refused = lines.filter(({ message }) => message.startsWith('a directory does not list'));
  t.match(refused, [{ directory: 1, channel: 'live', message: /./ }], 'by its place of now');
  for (const secret of ['sid-1', 'of-the-directory', String(yp.port)])
    t.notOk(JSON.stringify(lines.filter((line) => line['directory'] === 1)).includes(secret), secret);
});

const HUGE = Buffer.alloc(65_536, 'x');

/** 100 MB, as far as somebody reads them. */
function endless(response: ServerResponse, sent: { bytes: number }): void {
  while (sent.bytes < 100_000_000 && !response.destroyed) {
    sent.bytes += HUGE.length;
    if (!response.write(HUGE)) return void response.once('drain', () => endless(response, sent));
  }
}

const NONE: Readonly<Record<string, (response: ServerResponse, form: YpForm) => void>> = {
  'never an answer': () => undefined,
  'a redirect': (response) => void response.writeHead(302, { location: '/elsewhere', YPResponse: '1', SID: 'x' }).end(),
  'an error page': (response) => void response.writeHead(500, { YPResponse: '1', SID: 'x' }).end('oops'),
  'a page without the headers': (response) => void response.end('<html>'),
  'a head without end': (response) => void response.socket!.write(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(200_000)}`),
  'no HTTP': (response) => void response.socket!.end('garbage'),
  'a closed connection': (response) => void response.socket!.destroy(),
};

for (const [name, answer] of Object.entries(NONE)) {
  t.test(`${name}: logged once, tried again with growing pauses, and listed when it answers`, async (t) => {
    const yp = await YpServer.open(t);
    const { log, lines } = keepLines();
    yp.answer = (response, form) => {
      answer(response, form);
      return true;
    };
    const options = QUICK.replace('timeoutSeconds: 1', 'timeoutSeconds: 0.3');
    const server = await start(t, yaml([yp], { options }), log);
    await yp.came('add', 3);
    t.equal((await fetch(`${server.base}/healthz`)).status, 200);
    t.equal(lines.filter(({ message }) => message.startsWith('a directory does not answer')).length, 1);
    yp.answer = () => false;
    await yp.came('touch', 1);
    t.equal(lines.filter(({ message }) => message === 'a directory answers again').length, 1);
    t.notOk(yp.forms.some((form) => form['path'] === '/elsewhere'));
  });
}

t.test('100 MB behind an answer are not read', async (t) => {
  const yp = await YpServer.open(t);
  const sent = { bytes: 0 };
  yp.answer = (response, { action }) => {
    if (action !== 'add') return false;
    yp.listed.set('big', {});
    response.writeHead(200, { YPResponse: '1', SID: 'big', TouchFreq: '1' });
    endless(response, sent);
    return true;
  };
  await start(t, yaml([yp]));
  t.match(await yp.came('touch', 1), { sid: 'big' });
  t.ok(sent.bytes < 20_000_000, `${sent.bytes} bytes`);
});

t.test('a SID that is none is no listing', async (t) => {
  const yp = await YpServer.open(t);
  const { log, lines } = keepLines();
  const bad = ['', 'a b', 'a\u00e9', 'x'.repeat(256), 'x\tx'];
  yp.answer = (response) => {
    const sid = bad.shift();
    if (sid === undefined) return false;
    response.socket!.end(
      Buffer.from(`HTTP/1.1 200 OK\r\nYPResponse: 1\r\nSID: ${sid}\r\nContent-Length: 0\r\n\r\n`, 'latin1'),
    );
    return true;
  };
  await start(t, yaml([yp]), log);
  t.match(await yp.came('touch', 1), { sid: 'sid-1' });
  t.equal(yp.of('add').length, 6);
  t.equal(lines.filter(({ message }) => message.startsWith('a directory does not list')).length, 1);
});

for (const touchFreq of ['0', '1e300', '-5', '99999999999999', 'soon', '2']) {
  t.test(`TouchFreq ${touchFreq} is kept within the bounds`, async (t) => {
    const yp = await YpServer.open(t);
    yp.touchFreq = touchFreq;
    await start(t, yaml([yp], { options: QUICK.replace('max: 1 }', 'max: 3 }') }));
    const times: number[] = [];
    for (let i = 1; i <= 3; i++) {
      await yp.came('touch', i);
      times.push(performance.now());
    }
    const apartMs = times[2]! - times[1]!;
    const least = touchFreq === '0' ? 900 : touchFreq === '2' ? 1900 : 2900;
    t.ok(apartMs > least - 100, `${apartMs} ms`);
  });
}

t.test('a directory that never answers does not hold up the stop', async (t) => {
  const yp = await YpServer.open(t);
  const server = await start(t, yaml([yp]));
  await yp.came('touch', 1);
  yp.answer = () => true;
  const startMs = performance.now();
  await server.app.stop();
  t.ok(performance.now() - startMs < 6000);
  t.ok(yp.of('remove').length >= 1);
});
