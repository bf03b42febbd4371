/** What the start prints leads to what it says, whatever each address serves. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { banner } from '../../../src/app/addresses/banner.js';
import { loadConfig } from '../../../src/config/load.js';
import { airsplice } from '../../kit/command-line.js';
import { DEMO_AUDIO, startServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';
import { ask } from '../../kit/wire.js';

const STATIONS = `stations:
  house:
    channels:
      wave:
        pushTokens: [demo-token]
        mounts: [/demo.mp3]
        sources: [{ type: encoder, password: demo-source }, { type: file, path: ${DEMO_AUDIO} }]
`;
const PROXIES = 'proxies: { trusted: [127.0.0.1] }';
const address = (more: string) => `{ host: 127.0.0.1, port: 0, ${more} }`;

t.test('each line leads to an address that serves it', async (t) => {
  const addresses = [
    address('proxyProtocol: true'),
    address('roles: [ops]'),
    address('roles: [poll, watch]'),
    address('roles: [push]'),
    address('roles: [encoder]'),
    address('roles: [stream]'),
  ];
  const hls = 'streams: { hls: { enabled: true, segmentSeconds: 2 } }';
  const yaml = `addresses: [${addresses.join(', ')}]\n${PROXIES}\n${STATIONS}${hls}\n`;
  const { app, folder } = await startServer(t, yaml);
  const text = banner(loadConfig(join(folder, 'config.yaml'), process.env), app.ports, 'airsplice');
  const line = (what: string) => text.split('\n').find((each) => each.startsWith(`  ${what.padEnd(6)} `)) ?? '';
  const get = async (what: string) => {
    const [, port, path] = /http:\/\/127\.0\.0\.1:(\d+)(\/[^\s']*)/.exec(line(what)) ?? [];
    t.ok(port, what);
    return ask(t, Number(port), `${what === 'hear' ? 'HEAD' : 'GET'} ${path} HTTP/1.1`);
  };
  t.equal((await get('open')).status, 200);
  await until(async () => (await get('hear')).status === 200, 10_000);
  t.equal((await get('hls')).status, 200);
  t.equal((await get('push')).status, 200);
  t.equal((await get('poll')).status, 200);
  const [, ...words] = line('watch').trim().split(/\s+/);
  t.strictSame(words.slice(0, 3), ['airsplice', 'watch', 'wave']);
  const { code, out } = await airsplice([...words.slice(1), '--count', '1']);
  t.strictSame([code, out.includes('Feeling Good')], [0, true], out);
  const file = /-i (\S+)/.exec(line('feed'))![1]!;
  t.ok(existsSync(file), `${file}, from here`);
  t.match(line('feed'), `source:demo-source@127.0.0.1:${app.ports[4]}/demo.mp3`);
});

t.test('an operator whose password was made is shown where /admin is served, and nowhere else', async (t) => {
  const operator = { user: 'operator', password: 'made' };
  const lines = async (addresses: string) => {
    const { app, folder } = await startServer(t, `addresses: [${addresses}]\n${STATIONS}`);
    const config = loadConfig(join(folder, 'config.yaml'), process.env);
    t.notMatch(banner(config, app.ports, 'airsplice'), /admin/);
    const text = banner(config, app.ports, 'airsplice', operator);
    return { text, ports: app.ports };
  };
  const { text, ports } = await lines(`${address('roles: [stream]')}, ${address('roles: [admin]')}`);
  t.match(text, `  admin  http://127.0.0.1:${ports[1]}/admin as operator with the password made,`);
  t.notMatch((await lines(address('roles: [stream]'))).text, /password/);
});

t.test('it says that the channel plays only where a file does', async (t) => {
  const text = async (sources: string) => {
    const stations = `stations: { house: { channels: { wave: { sources: [${sources}] } } } }\n`;
    const { app, folder } = await startServer(t, `addresses: [${address('')}]\n${stations}`);
    return banner(loadConfig(join(folder, 'config.yaml'), process.env), app.ports, 'airsplice');
  };
  t.match(await text(`{ type: file, path: ${DEMO_AUDIO} }`), /^\n {2}airsplice plays\.\n/);
  for (const source of ['{ type: encoder, password: demo-source }', '{ type: pull, url: http://127.0.0.1:1/ }'])
    t.match(await text(source), /^\n {2}airsplice runs\. wave plays as soon as its source sends audio\.\n/, source);
});

t.test('what no address serves is not shown', async (t) => {
  const shown = async (addresses: string, more = '') => {
    const { app, folder } = await startServer(t, `addresses: [${addresses}]\n${PROXIES}\n${STATIONS}${more}\n`);
    const text = banner(loadConfig(join(folder, 'config.yaml'), process.env), app.ports, 'airsplice');
    return [...text.matchAll(/^ {2}(\w+) +\S+:\/\/|^ {2}(\w+) .*:\/\//gm)].map(([, a, b]) => a ?? b);
  };
  t.same(await shown(address('roles: [stream]')), ['open', 'hear']);
  t.same(await shown(address('roles: [ops, poll]')), ['poll'], 'a page whose player finds no stream');
  t.same(await shown(address('roles: [stream]'), 'page: { enabled: false }'), ['hear']);
  t.same(await shown(address('proxyProtocol: true')), []);
  t.same(await shown(address('')), ['open', 'hear', 'push', 'poll', 'watch', 'feed']);
});
