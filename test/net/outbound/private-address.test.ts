/**
 * Where a pulled source may connect: private addresses of every kind, by literal, by name, by redirect and by playlist; and that what
 * was checked is what is connected to. The lookup is the lowest level that can be replaced: it is asked where the system would be.
 */

import type { LookupAddress } from 'node:dns';
import net, { type LookupFunction } from 'node:net';
import t from 'tap';
import { isPrivate, PRIVATE_REASON, publicOnly } from '../../../src/net/outbound/private-address.js';
import { Target } from '../../../src/net/outbound/target.js';
import { Random } from '../../kit/random.js';
import { until } from '../../kit/until.js';
import { audioOf, setUp, streamHead, Upstream } from '../../kit/upstream.js';

t.jobs = 4;

/** Public, but allocated to no network: nothing answers there, and most machines have no route to it. */
const UNALLOCATED = '2000::1';

/** First and last address of each private range, and its neighbours outside where those are public. */
const IPV4: [first: string, last: string, before: string | null, after: string | null][] = [
  ['0.0.0.0', '0.255.255.255', null, '1.0.0.0'],
  ['10.0.0.0', '10.255.255.255', '9.255.255.255', '11.0.0.0'],
  ['100.64.0.0', '100.127.255.255', '100.63.255.255', '100.128.0.0'],
  ['127.0.0.0', '127.255.255.255', '126.255.255.255', '128.0.0.0'],
  ['169.254.0.0', '169.254.255.255', '169.253.255.255', '169.255.0.0'],
  ['172.16.0.0', '172.31.255.255', '172.15.255.255', '172.32.0.0'],
  ['192.0.0.0', '192.0.0.255', '191.255.255.255', '192.0.1.0'],
  ['192.0.2.0', '192.0.2.255', '192.0.1.255', '192.0.3.0'],
  ['192.88.99.0', '192.88.99.255', '192.88.98.255', '192.88.100.0'],
  ['192.168.0.0', '192.168.255.255', '192.167.255.255', '192.169.0.0'],
  ['198.18.0.0', '198.19.255.255', '198.17.255.255', '198.20.0.0'],
  ['198.51.100.0', '198.51.100.255', '198.51.99.255', '198.51.101.0'],
  ['203.0.113.0', '203.0.113.255', '203.0.112.255', '203.0.114.0'],
  ['224.0.0.0', '255.255.255.255', '223.255.255.255', null],
];
const PRIVATE_IPV6 = [
  ...['::', '::1', '::2', '::7f00:1', '::10.0.0.1', '::ffff:0:127.0.0.1', '64:ff9b:1::1', '64:ff9b:1::8.8.8.8'],
  ...[
    '100::',
    '100:0:0:1::1',
    '1fff:ffff::',
    '2001::',
    '2001:1ff:ffff::',
    '2001:10::1',
    '2001:db8::',
    '2001:db8:ffff::',
  ],
  ...[
    '2002::',
    '2002:7f00:1::',
    '2002:ffff:ffff::',
    '3fff::',
    '3fff:fff:ffff::',
    '4000::',
    '5f00::',
    'fc00::',
    'fd12::1',
  ],
  ...['fe80::1', 'fe80::1%1', 'fe80::1%eth0', '2606:4700::1%eth0', 'fec0::1', 'ff02::1', 'ffff:ffff::'],
];
const PUBLIC_IPV6 = [
  ...['2000::', '2000::1', '2001:200::', '2001:db7:ffff::', '2001:db9::', '2001:4860:4860::8888', '2003::'],
  ...['2606:4700::1', '3ffe:ffff::', '3fff:1000::', '3fff:ffff::', '64:ff9b::8.8.8.8', '::ffff:8.8.8.8'],
];

t.test('every special range, at both ends and one past; mapped and behind NAT64 as well', async (t) => {
  for (const [first, last, before, after] of IPV4) {
    for (const address of [first, last]) {
      for (const form of [address, `::ffff:${address}`, `64:ff9b::${address}`]) {
        if (!isPrivate(form)) t.fail(`${form} is private`);
      }
    }
    for (const address of [before, after]) {
      if (address === null) continue;
      for (const form of [address, `::ffff:${address}`, `64:ff9b::${address}`]) {
        if (isPrivate(form)) t.fail(`${form} is public`);
      }
    }
  }
  t.strictSame(
    PRIVATE_IPV6.filter((address) => !isPrivate(address)),
    [],
  );
  t.strictSame(PUBLIC_IPV6.filter(isPrivate), []);
  t.strictSame(
    ['', 'localhost', '1.2.3', '[::1]', '8.8.8.8:80'].filter((text) => !isPrivate(text)),
    [],
    'no address',
  );
});

const answers = (...found: string[]): LookupAddress[] =>
  found.map((address) => ({ address, family: net.isIP(address) }));

/** A resolver that gives these answers one after the other, the last for ever. */
function resolver(...turns: LookupAddress[][]) {
  const asked: string[] = [];
  const lookup: LookupFunction = (host, options, callback) => {
    const found = turns[Math.min(asked.length, turns.length - 1)]!;
    asked.push(host);
    setImmediate(() => {
      if (options.all) callback(null, found);
      else callback(null, found[0]!.address, found[0]!.family);
    });
  };
  return { lookup, asked };
}

const looked = (lookup: LookupFunction, all: boolean) =>
  new Promise<unknown[]>((done) => publicOnly(lookup)('radio.example', { all }, (...result) => done(result)));

t.test('of several addresses only the public ones are handed on, whichever way they are asked for', async (t) => {
  const { lookup } = resolver(answers('10.0.0.1', '8.8.8.8', '::1', '2606:4700::1', '::ffff:127.0.0.1'));
  t.strictSame(await looked(lookup, true), [null, answers('8.8.8.8', '2606:4700::1')]);
  t.strictSame(await looked(lookup, false), [null, '8.8.8.8', 4]);
  for (const all of [true, false]) {
    for (const found of [answers('127.0.0.1', 'fe80::1%lo'), answers()]) {
      const [error] = await looked(resolver(found).lookup, all);
      t.match(error, { message: PRIVATE_REASON });
    }
    const failure = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
    const [error] = await looked((_host, _options, callback) => callback(failure, ''), all);
    t.equal(error, failure);
  }
});

const PATIENT = { retryMinMs: 60_000, retryMaxMs: 60_000, connectTimeoutMs: 10_000 };

/** Tries once, and returns why it failed. */
async function reasonOf(t: Parameters<typeof setUp>[0], url: string, options: Parameters<typeof setUp>[2] = {}) {
  const { tap, source } = setUp(t, { url }, { ...PATIENT, ...options });
  source.start();
  await until(() => tap.losses.length === 1 || tap.audioBytes > 0, 15_000);
  source.stop();
  return tap.losses[0] ?? 'plays';
}

t.test('a name that leads to a private address is refused, unless it is allowed', async (t) => {
  const upstream = await Upstream.open(t);
  upstream.answer = (socket) => void socket.write(Buffer.concat([Buffer.from(streamHead()), audioOf(new Random(), 9)]));
  const url = `http://radio.example:${upstream.port}/live`;
  for (const address of ['127.0.0.1', '::ffff:127.0.0.1']) {
    const { lookup } = resolver(answers(address));
    t.equal(await reasonOf(t, url, { lookup }), PRIVATE_REASON);
    t.equal(upstream.sockets.length, 0, 'nothing was connected to');
  }
  const { lookup } = resolver(answers('127.0.0.1'));
  t.equal(await reasonOf(t, url, { lookup, allowPrivate: true }), 'plays');
  t.match(upstream.requestHeads[0], new RegExp(`^host: radio\\.example:${upstream.port}\r$`, 'im'));
});

t.test(
  'the address that was checked is the one that is connected to: no second look at a name that changes',
  async (t) => {
    const upstream = await Upstream.open(t);
    const url = `http://radio.example:${upstream.port}/live`;
    const { lookup, asked } = resolver(answers(UNALLOCATED), answers('127.0.0.1'));
    const { tap, source } = setUp(t, { url }, { lookup, connectTimeoutMs: 500, retryMinMs: 2000, retryMaxMs: 2000 });
    source.start();
    await until(() => tap.losses.length === 1, 5000);
    t.not(tap.losses[0], PRIVATE_REASON, 'the first answer was public, and was tried');
    t.strictSame([asked.length, upstream.sockets.length], [1, 0]);
    await until(() => tap.losses.length === 2, 5000);
    source.stop();
    t.equal(tap.losses[1], PRIVATE_REASON, 'the next connection was checked anew');
    t.strictSame([asked.length, upstream.sockets.length], [2, 0]);
  },
);

t.test('a redirect or a playlist of a public place leads to nothing private', async (t) => {
  const [outside, inside] = [await Upstream.open(t), await Upstream.open(t)];
  // Named by its address, the first upstream may be private; where it leads to may not.
  const places = [
    inside.url,
    inside.url.replace('127.0.0.1', 'localhost'),
    inside.url.replace('127.0.0.1', '2130706433'),
    inside.url.replace('127.0.0.1', '[::ffff:127.0.0.1]'),
    inside.url.replace('127.0.0.1', 'radio.example'),
  ];
  const { lookup } = resolver(answers('127.0.0.1'));
  for (const place of places) {
    for (const answer of [
      `HTTP/1.1 302 Found\r\nLocation: ${place}\r\nContent-Length: 0\r\n\r\n`,
      `HTTP/1.1 200 OK\r\nContent-Type: audio/x-mpegurl\r\nContent-Length: ${place.length}\r\n\r\n${place}`,
      `HTTP/1.0 200 OK\r\nContent-Type: audio/x-scpls\r\n\r\n[playlist]\r\nFile1=${place}\r\n`,
    ]) {
      outside.answer = (socket) => void socket.end(answer);
      t.equal(await reasonOf(t, outside.url, { lookup }), PRIVATE_REASON, answer);
    }
  }
  t.equal(inside.sockets.length, 0);
  t.equal(outside.requestHeads.length, places.length * 3);
});

t.test('who is named may lead to itself: same scheme, host and port, and no further', async (t) => {
  const [first, second] = [await Upstream.open(t), await Upstream.open(t)];
  for (const upstream of [first, second]) {
    upstream.answer = (socket, head) => {
      const to = /^GET \/(live|again)/.exec(head)?.[1] === 'live' ? '/again' : 'http://radio.example/x';
      socket.end(`HTTP/1.1 302 Found\r\nLocation: ${to}\r\nContent-Length: 0\r\n\r\n`);
    };
  }
  const { lookup, asked } = resolver(answers('127.0.0.1'));
  t.equal(await reasonOf(t, first.url, { lookup }), PRIVATE_REASON);
  t.strictSame([first.requestHeads.length, asked], [2, ['radio.example']]);

  const named = (href: string) => Target.named(href, undefined, false);
  t.equal(named('http://127.0.0.1:8000/a').to('/b')?.mayBePrivate, true);
  t.equal(named('http://[::1]:8000/a').to('b')?.mayBePrivate, true);
  t.equal(named('http://localhost:8000/a').mayBePrivate, true);
  for (const href of ['http://localhost./a', 'http://radio.example/a', 'http://localhost.example/']) {
    t.equal(named(href).mayBePrivate, false, href);
  }
  for (const away of [
    'http://127.0.0.1:8001/a',
    'https://127.0.0.1:8000/a',
    'http://127.0.0.2:8000/',
    '//localhost:8000/',
  ]) {
    const target = named('http://127.0.0.1:8000/a').to(away)!;
    t.equal(target.mayBePrivate, false, away);
    t.equal(target.to('http://127.0.0.1:8000/a')?.mayBePrivate, false, 'nor on the way back');
  }
  t.equal(Target.named('http://x.example/', undefined, true).to('http://10.0.0.1/')?.mayBePrivate, true);
});
