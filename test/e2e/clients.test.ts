/**
 * The ways of clients that exist, written as they are: each knows only what its author once saw, and breaks on anything else. Whole
 * server, real sockets, Chromium for the one that lives in a page.
 */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import t from 'tap';
import { WebSocket } from 'ws';
import { Player } from '../kit/player.js';
import { LATE_MS } from '../kit/pushed.js';
import { demoYaml, startServer } from '../kit/server.js';
import { until, untilPromised } from '../kit/until.js';

// They wait more than they compute.
t.jobs = 4;

const run = promisify(execFile);
const CHROMIUM = '/usr/bin/chromium';
const noChromium = existsSync(CHROMIUM) ? false : `${CHROMIUM} is missing`;

async function push(base: string, query: string): Promise<void> {
  const answer = await fetch(`${base}/metapush/demo/demo-token?${query}`);
  if (answer.status !== 200) throw new Error(`push: ${answer.status}`);
}

t.test('a display that shows the last WebSocket frame, whatever its type', async (t) => {
  const { base, ws } = await startServer(t, demoYaml());
  await push(base, 'song=on+air');
  await push(base, 'song=coming&tracktype=next');
  let display = '';
  let frames = 0;
  const open = () => {
    const socket = new WebSocket(`${ws}/metadata/channel/demo`);
    t.teardown(() => socket.terminate());
    socket.on('message', (data) => {
      frames++;
      display = JSON.parse(data.toString()).song;
    });
    return socket;
  };
  const socket = open();
  await until(() => frames === 2, 5000);
  t.equal(display, 'on air', 'after connecting it shows what is on air, not what comes');
  socket.terminate();
  await push(base, 'song=coming');
  frames = 0;
  open();
  await until(() => frames === 1, 5000);
  t.equal(display, 'coming');
});

t.test('a pusher that wants exactly 200 and numbers, and fails on an empty body', async (t) => {
  const { base } = await startServer(t, demoYaml());
  /** As a strictly typed client decodes it. */
  const strict = async (answer: Response) => {
    if (answer.status !== 200) throw new Error(`status ${answer.status}`);
    const text = await answer.text();
    if (text === '') throw new Error('empty body');
    const record = JSON.parse(text);
    for (const name of ['start_timestamp', 'duration', 'etype']) {
      if (!Number.isInteger(record[name])) throw new TypeError(`${name} is no integer: ${record[name]}`);
    }
    for (const name of [
      'time',
      'start',
      'song',
      'artist',
      'code',
      'channelkey',
      'channel',
      'timezone',
      'id',
      'separator',
    ]) {
      if (typeof record[name] !== 'string') throw new TypeError(`${name} is no text`);
    }
    for (const name of ['album', 'type', 'isrc']) if (typeof record[name] !== 'string') throw new TypeError(name);
    if (typeof record.userplayout !== 'boolean') throw new TypeError('userplayout');
    return record;
  };
  const url = `${base}/metapush/demo/demo-token`;
  const post = (body: object) =>
    fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });

  t.match(await strict(await post({ song: 'a', artist: 'b', duration: '61.7' })), { duration: 61, song: 'a' });
  t.match(await strict(await post({ song: 'a', artist: 'b', duration: null })), { duration: 0 });
  t.match(await strict(await fetch(`${url}?song=c&duration=12`)), { duration: 12, artist: '' });
  t.match(await strict(await fetch(url)), { song: '', artist: '' }, 'nothing at all clears the title');
  const twice = { song: 'same', artist: 'b', duration: 5, id: 'x' };
  await strict(await post(twice));
  t.match(await strict(await post(twice)), { id: 'x' }, 'a repeat is answered in full too');
  t.match(await strict(await fetch(`${base}/metadata/channel/demo.json`)), { song: 'same', duration: 5 });
  const station = await fetch(`${base}/metadata/station/demo.json`);
  t.equal(station.status, 200);
  t.ok(Array.isArray(JSON.parse(await station.text())));
  const empty = await fetch(`${base}/metadata/channel/studio.json`);
  t.equal(empty.status, 204, 'where nothing was pushed there is no 200 with an empty body');
});

t.test('a playout that posts its time with an offset, 60 s ahead, in escapes', async (t) => {
  const { base, ws } = await startServer(t, demoYaml());
  await push(base, 'artist=A&song=before');
  const seen: string[] = [];
  const socket = new WebSocket(`${ws}/metadata/channel/demo`);
  t.teardown(() => socket.terminate());
  socket.on('message', (data) => seen.push(JSON.parse(data.toString()).song));
  await until(() => seen.length === 1, 5000);
  /** Local time with an offset, as such programs write it. */
  const local = (unixSeconds: number) =>
    `${new Date((unixSeconds + 7200) * 1000).toISOString().replace(/\.\d+Z$/, '')}+02:00`;
  const post = async (unixSeconds: number, song: string) => {
    const body = `{"id":"item","time":"${local(unixSeconds)}","duration":200,"artist":"Bj\\u00f6rk","song":"${song}"}`;
    const answer = await fetch(`${base}/metapush/demo/demo-token`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body,
    });
    return { status: answer.status, record: JSON.parse(await answer.text()) };
  };
  const now = Math.floor(Date.now() / 1000);
  const held = await post(now + 60, 'H\\u00e6 \\ud83c\\udfb5 \\"q\\"');
  t.equal(held.status, 200, 'answered at once');
  t.match(held.record, { artist: 'Björk', song: 'Hæ 🎵 "q"', start_timestamp: now + 60, type: 'now' });
  t.equal(held.record.time, new Date((now + 60) * 1000).toISOString().replace('.000', ''), 'in UTC');
  const current = async () => JSON.parse(await (await fetch(`${base}/metadata/channel/demo.json`)).text());
  t.equal((await current()).song, 'before', 'not before its time');
  // Its program corrects itself: the same item, some seconds from now.
  const soon = Math.floor(Date.now() / 1000) + 4;
  t.equal((await post(soon, 'H\\u00e6')).status, 200);
  t.strictSame(seen, ['before'], 'readers hear of it when it takes effect');
  await untilPromised(() => seen.length === 2, 4000 + LATE_MS);
  t.ok(Date.now() >= soon * 1000, 'not too early');
  t.ok(Date.now() < soon * 1000 + LATE_MS, `${Date.now() - soon * 1000} ms late`);
  t.match(await current(), { artist: 'Björk', song: 'Hæ', start_timestamp: soon });
});

t.test("a player of another server's streams: a Server prefix, a key head of another name, then polling", async (t) => {
  const yaml = demoYaml(`
streams:
  server: OtherCast 4.2 (compatible)
  headers: { X-Other-Channel: '{channelkey}' }
`);
  const { port, base } = await startServer(t, yaml);
  await push(base, 'artist=A&song=by+its+key');
  const player = new Player(port, '/demo.mp3');
  t.teardown(() => player.close());
  await player.until((p) => p.audioBytes > 0);
  t.ok(player.headers.get('server')?.startsWith('OtherCast'), 'else it would take it for a file');
  const key = player.headers.get('x-other-channel');
  const answer = await fetch(`${base}/metadata/channel/${key}.json`);
  t.equal(answer.status, 200);
  t.match(JSON.parse(await answer.text()), { song: 'by its key', channelkey: key });
});

t.test('a script that takes the text form', async (t) => {
  const { base } = await startServer(t, demoYaml());
  await push(base, `artist=${encodeURIComponent('Sigur Rós')}&song=${encodeURIComponent('( )')}`);
  const { stdout } = await run('sh', [
    '-ec',
    `TITLE=$(curl -fsS ${base}/metadata/channel/demo.txt); printf '%s|' "$TITLE"`,
  ]);
  t.equal(stdout, 'Sigur Rós - ( )|', 'one line');
});

t.test('a page of another origin', { skip: noChromium }, async (t) => {
  const { base, ws } = await startServer(t, demoYaml('streams: { burstSeconds: 1 }'));
  const site = http.createServer((_, response) => {
    response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>Another origin</title>');
  });
  await new Promise<void>((done) => site.listen(0, '127.0.0.1', done));
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  });
  t.teardown(async () => {
    await browser.close();
    site.closeAllConnections();
    site.close();
  });
  const page = await browser.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  await page.goto(`http://localhost:${(site.address() as AddressInfo).port}/`);
  await push(base, 'artist=A&song=over+there');

  await t.test('polls, with an ETag of its own', async (t) => {
    const seen = await page.evaluate(async (url) => {
      const first = await fetch(url);
      const etag = first.headers.get('ETag') ?? '';
      const again = await fetch(url, { headers: { 'If-None-Match': etag } });
      const json = await first.json();
      return { etag, song: (json as { song: string }).song, again: again.status };
    }, `${base}/metadata/channel/demo.json`);
    t.match(seen, { etag: /^"/, song: 'over there', again: 304 });
  });

  await t.test('watches by WebSocket and by SSE', async (t) => {
    const songs = await page.evaluate(
      `Promise.all([
        new Promise((done) => { new WebSocket('${ws}/metadata/channel/demo').onmessage = (m) => done(JSON.parse(m.data).song); }),
        new Promise((done) => { new EventSource('${base}/metadata/sse/channel/demo').onmessage = (m) => done(JSON.parse(m.data).song); }),
      ])`,
    );
    t.strictSame(songs, ['over there', 'over there']);
  });

  await t.test('reads the stream by fetch, and a title out of it', async (t) => {
    const seen = (await page.evaluate(`(async () => {
      const stop = new AbortController();
      const answer = await fetch('${base}/demo.mp3', { headers: { 'Icy-MetaData': '1' }, signal: stop.signal });
      const metaint = Number(answer.headers.get('icy-metaint'));
      const reader = answer.body.getReader();
      let bytes = new Uint8Array(0);
      const need = async (length) => {
        while (bytes.length < length) {
          const { value } = await reader.read();
          const joined = new Uint8Array(bytes.length + value.length);
          joined.set(bytes);
          joined.set(value, bytes.length);
          bytes = joined;
        }
      };
      let title = '';
      while (title === '') {
        await need(metaint + 1);
        const length = bytes[metaint] * 16;
        await need(metaint + 1 + length);
        title = new TextDecoder().decode(bytes.subarray(metaint + 1, metaint + 1 + length)).replace(/\\0+$/, '');
        bytes = bytes.slice(metaint + 1 + length);
      }
      stop.abort();
      return { metaint, title, name: answer.headers.get('icy-name'), key: answer.headers.get('x-channelkey') };
    })()`)) as { metaint: number; title: string; name: string; key: string };
    t.strictSame(seen, { metaint: 4000, title: "StreamTitle='A - over there';", name: 'Demo Channel', key: 'demo' });
  });

  t.strictSame(complaints, []);
});
