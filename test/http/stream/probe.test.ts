/** What looks at a mount and does not listen, HEAD and a probe of some bytes: answered as a GET that listens, and no listener. */

import { isDeepStrictEqual } from 'node:util';
import t, { type Test } from 'tap';
import { MAX_PROBE_BYTES, probedBytes } from '../../../src/http/stream/probe.js';
import { quietFor } from '../../kit/pause.js';
import { Player } from '../../kit/player.js';
import { DEMO_AUDIO, startServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';
import { ask, Wire } from '../../kit/wire.js';

// They wait more than they compute.
t.jobs = 4;

const FILE = `sources: [{ type: file, path: ${DEMO_AUDIO} }]`;
const yaml = `
addresses: [{ host: 127.0.0.1, port: 0 }]
limits: { listenersPerAddress: 2 }
streams: { startTimeoutSeconds: 5 }
stations:
  demo:
    channels:
      demo: { ${FILE} }
      small: { maxListeners: 1, overflowUrl: 'http://elsewhere/{mount}', ${FILE} }
      silent: { sources: [{ type: encoder, password: demo-source }] }
`;

t.test('which ranges are probes', async (t) => {
  const ranges: Record<string, number> = {
    'bytes=0-1': 2,
    ' Bytes=0-0 ': 1,
    'bytes=7-9': 3,
    [`bytes=0-${MAX_PROBE_BYTES - 1}`]: MAX_PROBE_BYTES,
    [`bytes=0-${MAX_PROBE_BYTES}`]: 0,
    'bytes=0-': 0,
    'bytes=-2': 0,
    'bytes=1-0': 0,
    'bytes=0-1,3-4': 0,
    'bytes = 0-1': 0,
    'bits=0-1': 0,
    '': 0,
    [`bytes=0-${'9'.repeat(30)}`]: 0,
  };
  for (const [range, bytes] of Object.entries(ranges)) t.equal(probedBytes({ header: () => range }), bytes, range);
  t.equal(probedBytes({ header: () => undefined }), 0);
});

/** Once its files play: before that a probe waits, and has a place. */
async function started(t: Test) {
  const { one: server } = await startServer(t, yaml);
  for (const path of ['/demo', '/small'])
    await until(async () => (await ask(t, server.port, `HEAD ${path} HTTP/1.1`)).status === 200, 10_000);
  return server;
}

/** What listens at a channel, by the metrics; and how many listeners it has had. */
async function counted(base: string, channel = 'demo'): Promise<number[]> {
  const text = await (await fetch(`${base}/metrics`)).text();
  return ['airsplice_listeners', 'airsplice_unique_listeners', 'airsplice_peak_listeners'].flatMap((name) => {
    const found = new RegExp(`^${name}\\{channel="${channel}"\\} (\\d+)$`, 'm').exec(text)?.[1];
    return found === undefined ? [] : [Number(found)];
  });
}

function probe(t: Test, port: number, path: string, range = '0-1', more = ''): Wire {
  return new Wire(t, port).send(`GET ${path} HTTP/1.1\r\nHost: x\r\nRange: bytes=${range}\r\n${more}\r\n`);
}

const bodyOf = ({ got }: Wire) => got.slice(got.indexOf('\r\n\r\n') + 4);

t.test('a probe has the bytes that it asks for and ends; it is counted nowhere, and has no session', async (t) => {
  const server = await started(t);
  const before = await counted(server.base);
  const probes: Wire[] = [];
  // One after the other: with workers the tape comes from the hub for the first of each, and who waits for it has a place.
  for (let i = 0; i < 5; i++) {
    const wire = probe(t, server.port, '/demo?metaid=probed', `0-${i}`, 'Icy-MetaData: 1\r\n');
    probes.push(wire);
    await until(
      () => wire.got.includes('\r\n\r\n') && bodyOf(wire).length > i,
      10_000,
      () => wire.got,
    );
    t.match(wire.got, /^HTTP\/1\.0 200 OK\r\n/, 'past two of its address too');
    t.notMatch(wire.got, /content-range|content-length/i);
  }
  t.same(await counted(server.base), before);
  t.equal((await fetch(`${server.base}/metadata/listener/probed.json`)).status, 404);
  for (const wire of probes) await until(() => wire.ended, 10_000);
  for (const [i, wire] of probes.entries()) t.equal(bodyOf(wire).length, i + 1);
  const past = probe(t, server.port, '/demo', `0-${MAX_PROBE_BYTES}`);
  await until(() => past.got.length > 2 * MAX_PROBE_BYTES, 10_000);
  t.equal((await counted(server.base))[0], 1, 'who asks for more listens');
});

t.test('what a probe has is how a listener begins', async (t) => {
  const server = await started(t);
  const wire = probe(t, server.port, '/demo', `0-${MAX_PROBE_BYTES - 1}`);
  await until(() => wire.ended, 10_000);
  const body = Buffer.from(bodyOf(wire), 'latin1');
  t.equal(body.length, MAX_PROBE_BYTES);
  t.match(body.toString('latin1', 0, 3), /^(ID3|\xff[\xe0-\xff])/);
  const [head] = wire.got.split('\r\n\r\n');
  const player = new Player(server.port, '/demo', { icy: false });
  await player.until((p) => p.audioBytes > 0);
  t.equal(player.headers.get('content-type'), /^content-type: (.*)$/im.exec(head!)?.[1]);
  player.close();
});

t.test('HEAD and a probe get what a listener would: no room, another node, no audio, nothing there', async (t) => {
  const server = await started(t);
  const looks = async (path: string) => {
    const head = await ask(t, server.port, `HEAD ${path} HTTP/1.1`);
    const wire = probe(t, server.port, path);
    await until(() => wire.got.includes('\r\n\r\n'), 20_000);
    const status = Number(wire.got.split(' ')[1]);
    const location = /^location: (.*)$/im.exec(wire.got)?.[1];
    const isOne = head.headers.get('location') === location;
    return [head.status, status, isOne ? location : 'HEAD leads elsewhere'];
  };
  // With workers one hears a moment later who listens at another.
  const isSeen = async (path: string, expected: Awaited<ReturnType<typeof looks>>) => {
    let seen: typeof expected = [];
    await until(
      async () => isDeepStrictEqual((seen = await looks(path)), expected),
      20_000,
      () => `${path}: ${seen}`,
    );
  };
  await isSeen('/small', [200, 200, undefined]);
  const player = new Player(server.port, '/small');
  await player.until((p) => p.audioBytes > 0);
  await isSeen('/small?x=1', [302, 302, 'http://elsewhere/small?x=1']);
  await isSeen('/demo', [200, 200, undefined]);
  const second = new Player(server.port, '/demo');
  await second.until((p) => p.audioBytes > 0);
  await isSeen('/demo', [503, 503, undefined]);
  second.close();
  await isSeen('/demo', [200, 200, undefined]);
  await isSeen('/silent', [503, 503, undefined]);
  await isSeen('/none', [404, 404, undefined]);
  player.close();
});

t.test('a probe that goes at once, and one on a connection that was used', async (t) => {
  const server = await started(t);
  const gone = probe(t, server.port, '/demo');
  await until(() => bodyOf(gone).length === 2, 10_000);
  gone.socket.resetAndDestroy();
  const used = new Wire(t, server.port).send('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  await until(() => used.answers().length === 1, 10_000);
  used.got = '';
  used.send('GET /demo HTTP/1.1\r\nHost: x\r\nRange: bytes=0-1\r\n\r\n');
  await until(() => used.ended, 10_000);
  t.match(used.got, /^HTTP\/1\.0 200 OK\r\n/);
  t.equal(bodyOf(used).length, 2);
  await quietFor(100);
  t.equal((await counted(server.base))[0], 0);
});
