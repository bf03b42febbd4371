/** Paths that lead to a mount: its own, that one written in another way, and SHOUTcast's listen URLs; of listeners and of encoders. */

import t, { type Test } from 'tap';
import { Feeder } from '../../kit/feeder.js';
import { keepLines, sourceChanges } from '../../kit/log-lines.js';
import { DEMO_AUDIO, NODES, startServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';
import { ask, Wire } from '../../kit/wire.js';

// They wait more than they compute.
t.jobs = 4;

const FILE = `sources: [{ type: file, path: ${DEMO_AUDIO} }]`;
const yaml = (extra = '') => `
addresses: [{ host: 127.0.0.1, port: 0 }]
${extra}
stations:
  demo:
    channels:
      one: { mounts: [/one.mp3, /one/high/], ${FILE} }
      two: { mounts: ['/a;b'], ${FILE} }
      live: { sources: [{ type: encoder, password: demo-source, takeover: always }] }
`;

/** The channel that answers, by the first request of a connection and by a later one; or the statuses. */
async function channelsAt(t: Test, port: number, target: string): Promise<string> {
  const get = `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`;
  const got: string[] = [];
  for (const before of ['', `GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n`]) {
    const wire = new Wire(t, port).send(before);
    if (before !== '') await until(() => wire.answers().length === 1, 10_000);
    const start = wire.got.length;
    wire.send(get);
    const answer = () => wire.got.slice(start);
    await until(
      () => answer().includes('\r\n\r\n'),
      10_000,
      () => `${target}: ${wire.got}`,
    );
    got.push(/x-channelkey: (\w+)/i.exec(answer())?.[1] ?? answer().split(' ')[1]!);
    wire.socket.destroy();
  }
  t.equal(got[0], got[1], `${target}: the same by either way in`);
  return got[0]!;
}

t.test('a path in another form', async (t) => {
  const { one: server } = await startServer(t, yaml());
  const paths = {
    one: [
      '/one',
      '//one',
      '/%6fne',
      '/one%2Emp3',
      '//one.mp3?x=1',
      'http://elsewhere/one',
      '/one/high/',
      '/one//high//',
    ],
    two: ['/a;b', '/a%3bb', 'http://elsewhere//a%3Bb?y'],
    404: ['/One', '/one/', '/one/high', '/%2Fone', '/;', '/;stream.mp3', '/one;', '/stream/1/', '/a;', '/a;c'],
  };
  for (const [channel, targets] of Object.entries(paths)) {
    for (const target of targets) t.equal(await channelsAt(t, server.port, target), channel, target);
  }
});

t.test("SHOUTcast's listen URLs, where they are of a channel, and no longer where they are of none", async (t) => {
  const { one: server, reload } = await startServer(t, yaml('shoutcastListenUrls: two'));
  const paths = {
    one: ['/one;', '/one/;', '/one;stream.nsv', '/one.mp3;', '/one/high/;', '/one/high;x', '//%6fne%3B'],
    two: [
      '/;',
      '/;stream.mp3',
      '/;stream/1',
      '/;?sid=1',
      '/stream/1',
      '/stream/1/',
      '/stream/1/;x',
      '/stream/1;',
      '/a;b',
      '/a;b;',
    ],
    404: ['/', '/none;', '/stream/2/', '/stream/11/', '/stream/', '/a;', '/one;;', '/x/;'],
  };
  for (const [channel, targets] of Object.entries(paths)) {
    for (const target of targets) {
      const found = await channelsAt(t, server.port, target);
      if (target === '/') t.equal(found, '200', 'the page');
      else t.equal(found, channel, target);
    }
  }
  for (const target of ['/stream/2/', '//stream/2', '/stream/2/;x']) {
    const other = await ask(t, server.port, `GET ${target} HTTP/1.1`);
    t.match([other.status, other.json().detail], [404, 'There is no stream 2: only /stream/1/ is served.'], target);
  }
  const head = await ask(t, server.port, 'HEAD /;stream.mp3 HTTP/1.1');
  t.equal(head.headers.get('x-channelkey'), 'two');
  await reload(yaml('shoutcastListenUrls: one'));
  t.equal(await channelsAt(t, server.port, '/;'), 'one');
  await reload(yaml());
  t.equal(await channelsAt(t, server.port, '/;'), '404');
  await t.rejects(reload(yaml('shoutcastListenUrls: gone')), /is not a channel/);
});

t.test('encoders and their titles', async (t) => {
  const { log, lines } = keepLines();
  const { one: server } = await startServer(t, yaml(), undefined, log);
  for (const path of ['/live', '//live', '/%6Cive', 'http://elsewhere/live', 'http://elsewhere//l%69ve', 'live']) {
    const feeder = new Feeder(t, server.port, path);
    t.equal(await feeder.answered(), 200, path);
    feeder.send(40);
    // The other channels' files may begin meanwhile.
    const heard = () => sourceChanges(lines, 'live').at(-1);
    await until(
      () => heard() === 'encoder',
      10_000,
      () => `${path}: ${JSON.stringify(lines)}`,
    );
    for (const mount of [path, encodeURIComponent(path), 'http%3A%2F%2Felsewhere%2Flive']) {
      const target = `/admin/metadata?mode=updinfo&mount=${mount}&song=x`;
      const login = `Authorization: Basic ${Buffer.from('source:demo-source').toString('base64')}`;
      for (const host of ['', 'http://elsewhere'])
        t.equal((await ask(t, server.port, `GET ${host}${target} HTTP/1.1\n${login}`)).status, 200, `${host}${target}`);
    }
    feeder.socket.destroy();
    await until(() => heard() === null, 10_000);
  }
  const mounts = lines.filter(({ message }) => message === 'encoder connected').map(({ mount }) => mount);
  t.same(mounts, Array(6).fill('/live'), 'as the configuration has it');
});

t.test('a refusal names the mount that was asked for, and no secret that stands in its place', async (t) => {
  const { log, lines } = keepLines();
  const { one: server } = await startServer(t, yaml('limits: { encodersRefusedPerMinute: 1000 }'), undefined, log);
  const named: [path: string, mount: string | undefined, password?: string][] = [
    ['/nowhere', '/nowhere'],
    ['//%6eowhere/x', '/nowhere/x'],
    ['http://elsewhere/nowhere2', '/nowhere2'],
    [`/${'x'.repeat(200)}`, `/${'x'.repeat(99)}`],
    ['/live', '/live', 'wrong'],
    ['/nowhere3?pass=secret', '/nowhere3'],
    ['//metapush/live/the-token', '/metapush/…'],
    ['http://elsewhere/%6detapush/live/the-token', '/metapush/…'],
    ['/demo-source', undefined],
    ['/demo%2Dsource', undefined],
    ['/%64emo-source', undefined],
  ];
  for (const [i, [path, mount, password = 'demo-source']] of named.entries()) {
    // Each from an address of its own: of one there is a line a second for each reason.
    const wire = new Wire(t, server.port, { from: `127.0.0.${i + 2}` });
    const login = Buffer.from(`source:${password}`).toString('base64');
    const head = `PUT ${path} HTTP/1.1\nAuthorization: Basic ${login}\nUser-Agent: ${i}.`;
    t.equal((await ask(t, server.port, head, '', wire)).status, password === 'wrong' ? 401 : 404, path);
    const line = () => lines.find((each) => each.message === 'encoder refused' && each['agent'] === `${i}.`);
    // In front of two machines all have one address.
    if (NODES === 0 || i === 0)
      await until(
        () => line() !== undefined,
        10_000,
        () => path,
      );
    if (line() !== undefined) t.equal(line()!['mount'], mount, path);
  }
  t.notMatch(JSON.stringify(lines), /the-token|demo-source|pass=/);
});
