/** The channels at a glance: once, as JSON, and live in terminals of several sizes, beside a real server. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { airsplice } from '../kit/command-line.js';
import { Player } from '../kit/player.js';
import { missing } from '../kit/program.js';
import { demoYaml, startServer } from '../kit/server.js';
import { TerminalProgram } from '../kit/terminal.js';
import { until } from '../kit/until.js';

const ENV = { AIRSPLICE_TOKEN: 'demo-token' };
const YAML = demoYaml(`      silent:
        sources: [{ type: encoder, password: demo-source }]
`);

async function serverWithTitle(t: Test): Promise<string> {
  const { base } = await startServer(t, YAML);
  const title = ['--artist', '美空 ひばり', '--song', 'Ringo Oiwake, a song with a name that is long enough to be cut'];
  t.equal((await airsplice(['push', 'demo', '--url', base, ...title], ENV)).code, 0);
  return base;
}

t.test('once, where there is no terminal: plain lines, or one of JSON', async (t) => {
  const base = await serverWithTitle(t);
  const player = new Player(Number(new URL(base).port), '/demo.mp3');
  t.teardown(() => player.socket.destroy());
  await until(() => player.audioBytes > 0, 10_000);
  const { code, out, err } = await airsplice(['status', '--url', `${base}/`]);
  t.strictSame({ code, err }, { code: 0, err: '' });
  const lines = out.split('\n');
  t.match(lines[0], new RegExp(`^${base} {2}ready {2}up 0 min$`));
  t.match(lines[1], /^2 of 3 on air {2}listeners 1 {2}watchers 0/);
  t.match(lines[3], /^ {2}CHANNEL +ON AIR +LISTENERS +PEAK +LAG +TITLE$/);
  t.match(lines[4], /^● demo +file +1 +1 +\S+( s)? +美空 ひばり - Ringo Oiwake/);
  t.match(lines[6], /^○ silent +no audio +0 +– +– +–$/);
  t.notMatch(out, '\u001b', 'no colours');

  const json = JSON.parse((await airsplice(['status', '--url', base, '--json'])).out);
  t.match(json, { isReady: true, listeners: 1, hasMetrics: true });
  t.match(json.channels[1], { key: 'studio', station: 'demo', isOnAir: true, source: 'file', troubles: [] });
});

t.test('a server that is not there, and one that is none of ours', async (t) => {
  const gone = await airsplice(['status', '--url', 'http://127.0.0.1:9']);
  t.match(gone, { code: 1, out: '', err: /^airsplice: the server at http:\/\/127\.0\.0\.1:9 cannot be reached: / });
  const server = createServer((_, response) => response.end('{"a":"\u001b[2J"}'));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => server.close());
  const other = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.match(await airsplice(['status', '--url', other]), { code: 1, out: '', err: /lists no stations \(200\)\n$/ });
  t.match(await airsplice(['status', '--url', 'ftp://x']), { code: 2, err: /--url must be an http:/ });
  t.match(await airsplice(['status', other]), { code: 2, err: /is one argument too many; did you mean --url\?/ });
  t.match(await airsplice(['status', '--url', other, '--once', '--watch']), { code: 2, err: /cannot be combined/ });
});

t.test(
  'live in a terminal, wide and narrow; Ctrl-C leaves the last picture',
  { skip: missing('script') },
  async (t) => {
    const base = await serverWithTitle(t);
    const wide = new TerminalProgram(t, 110, 30, ['status', '--url', base, '--every', '0.5']);
    const narrow = new TerminalProgram(t, 36, 8, ['status', '--url', base, '--every', '0.5'], { NO_COLOR: '1' });
    for (const one of [wide, narrow]) await one.until(() => one.picture.some((line) => line.includes('demo')), 'empty');
    t.match(wide.said, '\u001b[32m', 'with colours');
    t.notMatch(narrow.said, '\u001b[32m', 'without');
    await airsplice(['push', 'demo', '--url', base, '--song', 'Another'], ENV);
    for (const one of [wide, narrow])
      await one.until(() => one.picture.some((line) => line.includes('Another')), 'old');
    t.ok(
      wide.picture.some((line) => /^● demo .* Another$/.test(line)),
      wide.picture.join('\n'),
    );
    t.ok(narrow.picture.length <= 8, 'no more rows than there are');
    for (const line of narrow.picture) t.ok([...line].length <= 36, line);
    t.match(narrow.picture.at(-1), /^… \d more$/);
    t.equal(await wide.interrupt(), 0);
    t.match(wide.behind, /● demo .* Another\n/);
  },
);

t.test('live: a server that goes away is said to be, and comes back', { skip: missing('script') }, async (t) => {
  const { base, app } = await startServer(t, YAML);
  const live = new TerminalProgram(t, 100, 30, ['status', '--url', base, '--every', '0.5']);
  await live.until(() => live.picture.some((line) => line.includes('studio')), 'empty');
  await app.stop();
  await live.until(() => live.picture[0]!.includes('cannot be reached'), 'it is not said');
  t.ok(
    live.picture.some((line) => line.includes('studio')),
    'what was known stays',
  );
  t.equal(await live.interrupt(), 0);
});
