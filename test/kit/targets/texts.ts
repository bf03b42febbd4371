/** Untrusted texts, parsed by pure functions: pushes, playlists, PROXY headers, addresses in headers. */

import { isIP, type Socket } from 'node:net';
import { Refusal } from '../../../src/base/refusal.js';
import { formFields } from '../../../src/metadata/push-fields.js';
import {
  type PushInput,
  type PushLimits,
  parsePushBody,
  parsePushFields,
  parsePushQuery,
} from '../../../src/metadata/push-input.js';
import { Proxies } from '../../../src/net/front/client-address.js';
import { readProxyHeader } from '../../../src/net/front/proxy-protocol.js';
import { readResponseHead } from '../../../src/net/front/response-head.js';
import { Target } from '../../../src/net/outbound/target.js';
import { readClientHello } from '../../../src/net/tls/client-hello.js';
import { isPlaylist, readPlaylist } from '../../../src/source/upstream-playlist.js';
import type { FuzzTarget } from '../fuzz.js';

const latin = (text: string) => Buffer.from(text, 'latin1');

const LIMITS: PushLimits = {
  parameters: 64,
  textBytes: 256,
  urlBytes: 512,
  timezoneCharacters: 64,
  extdataBytes: 2048,
  extdataDepth: 16,
};

/** Asserts that a push is refused as a client's fault, or is within the limits. */
function pushed(parse: () => PushInput): void {
  let input: PushInput;
  try {
    input = parse();
  } catch (error) {
    if (error instanceof Refusal && error.status >= 400 && error.status < 500) return;
    throw error;
  }
  for (const text of [input.artist, input.song, input.id, input.separator, input.album, input.isrc]) {
    if (text !== undefined && Buffer.byteLength(text) > LIMITS.textBytes) throw new Error(`${text.length} characters`);
    if (text !== undefined && (text !== text.normalize('NFC') || /[\0-\x1f\x7f]/.test(text))) {
      throw new Error(`not clean: ${JSON.stringify(text)}`);
    }
  }
  const { durationSeconds = 0, timeSeconds = 0, extdata = '{}', images = '{}' } = input;
  if (!Number.isInteger(durationSeconds) || durationSeconds < 0) throw new Error(`duration ${durationSeconds}`);
  if (
    Math.abs(timeSeconds * 1000 - Math.round(timeSeconds * 1000)) > 0.1 ||
    Number.isNaN(new Date(timeSeconds * 1000).getTime())
  )
    throw new Error(`time ${timeSeconds}`);
  const urls = Object.values(JSON.parse(images) as object).map((image) => (image as { url?: unknown } | null)?.url);
  for (const url of [input.cover, ...urls]) {
    if (typeof url === 'string' && !/^(https?:\/\/.|$)/i.test(url)) throw new Error(`an image at ${url}`);
  }
  for (const raw of [extdata, images]) {
    if (typeof JSON.parse(raw) !== 'object') throw new Error(`kept as it came, but no object: ${raw.slice(0, 200)}`);
  }
}

const pushQuery: FuzzTarget = {
  name: 'push-query',
  seeds: [
    'song=a&artist=b&duration=174',
    'tracktype=next&song=%C3%BC&etype=1001&id=x',
    'song=%FC&encoding=windows&separator=+-+',
    'time=2026-01-01T00:00:00Z&isrc=DEA123456789',
    'Title=x&time=2026-01-01 00:00:00,5&timezone=Europe/Zurich&duration=00:03:23&strict=1',
    'song=R%u00f3s 100%&encoding=Latin1&other=1',
  ].map(latin),
  words: [
    '&',
    '=',
    '%',
    '%00',
    '%C3',
    '%zz',
    '+',
    'song=',
    'artist=false',
    'song=false',
    '&time=',
    '1e99',
    '-1',
    '9'.repeat(30),
    'duration=',
    'encoding=windows',
    '%F0%9F%98%80',
    '%CC%88',
    '\xfc',
    '\0',
    ';',
    '__proto__=1',
    'constructor=2',
    'tracktype=',
    'isrc=',
    'etype=',
    'NaN',
    '%u',
    '%ud83c',
    'timezone=',
    '+0100',
    ',5',
    '3:23',
    'strict=1',
    'TITLE=',
    '2026-02-30T25:61:61Z',
    '&x',
    '%CC%96',
    '%CD%84',
    '%E0%BD%B3',
  ].map(latin),
  muchBytes: 30_000,
  play: (bytes) => pushed(() => parsePushQuery(bytes.toString('latin1'), LIMITS).input),
};

const BOUNDARY = 'b';

const pushForm: FuzzTarget = {
  name: 'push-form',
  seeds: [
    '--b\r\nContent-Disposition: form-data; name="song"\r\n\r\nx\r\n--b\r\nContent-Disposition: form-data; name=artist\r\n\r\n\xfc\r\n--b--\r\n',
    '--b\r\nContent-Disposition: form-data; name="song"\r\nContent-Type: text/plain; charset=windows-1252\r\n' +
      'Content-Transfer-Encoding: quoted-printable\r\n\r\n=FC=\r\nx\r\n--b--',
  ].map(latin),
  words: [
    '--b',
    '\r\n',
    '--',
    '\r\n--b\r\n',
    '; name="',
    '; charset=utf-16',
    'base64',
    '"',
    '\\',
    '=',
    '=FC',
    'song',
    ':',
    ';',
    '\0',
  ].map(latin),
  muchBytes: 60_000,
  play: (bytes) =>
    pushed(() => {
      const fields = formFields(bytes, `multipart/form-data; boundary=${BOUNDARY}`, 'song=s', LIMITS.parameters);
      return parsePushFields(fields, LIMITS).input;
    }),
};

const pushBody: FuzzTarget = {
  name: 'push-body',
  seeds: [
    { artist: 'Nina', song: 'Feeling Good', duration: 174, etype: 1001 },
    { artist: '', song: 'ü', time: '2026-01-01T00:00:00+01:00', extdata: { a: [{ b: [1, 2] }] }, tracktype: 'next' },
    {
      artist: 'a',
      song: 'b',
      cover: 'https://x/y.jpg',
      images: { small: { url: 'https://x/z.png' } },
      album: 'c',
      timezone: 'Europe/Zurich',
    },
  ].map((value) => Buffer.from(JSON.stringify(value))),
  words: [
    '{',
    '}',
    '[',
    ']',
    '[[[[[[[[',
    '{"a":',
    '"',
    '\\',
    '\\u0000',
    '\\ud800',
    ',',
    ':',
    'null',
    'true',
    '1e999',
    '-0',
    '0.1',
    '"song":',
    '"extdata":',
    '"images":{"a":{"url":"x"}},',
    '"cover":"//x",',
    'javascript:',
    '"__proto__":{},',
    '"constructor":1,',
    '\ufeff',
    '\xff',
    '\0',
    '"duration":"',
    '9'.repeat(40),
    '\u0301',
    '\u0316',
    '\u0344',
    '\u0f73',
  ].map((word) => Buffer.from(word)),
  muchBytes: 60_000,
  play: (bytes) => pushed(() => parsePushBody(bytes, LIMITS).input),
};

const playlist: FuzzTarget = {
  name: 'playlist',
  seeds: [
    '#EXTM3U\r\n#EXTINF:-1,Radio\r\nhttp://radio.example/live.mp3\r\n/other\r\n',
    '[playlist]\nNumberOfEntries=2\nFile1=http://a/\nTitle1=A\nFile2=https://b/x?y#z\nLength1=-1\nVersion=2\n',
    '\ufeffhttp://user:word@a/\n#EXT-X-TARGETDURATION:5\n',
  ].map((text) => Buffer.from(text)),
  words: [
    '\n',
    '\r',
    '\r\n',
    '[playlist]',
    'File1=',
    'File999999999=',
    'file0=',
    'File1 = ',
    '#',
    '#EXT-X-',
    'http://',
    'https://[::1',
    'ftp://x',
    '//',
    '\ufeff',
    '\0',
    ' ',
    '\t',
    '=',
    'http://\xff/',
    '%',
    ':99999',
    'http://127.0.0.1/',
    'javascript:',
  ].map((word) => Buffer.from(word)),
  muchBytes: 60_000,
  play: (bytes) => {
    const text = bytes.toString();
    isPlaylist(text.slice(0, 100), text);
    const { entries } = readPlaylist(text);
    if (entries.length > bytes.length || entries.some((entry) => entry === ''))
      throw new Error('an entry that is none');
    const base = Target.named('http://radio.example/list.m3u', 'Basic c2VjcmV0', false);
    for (const entry of entries.slice(0, 50)) {
      const target = base.to(entry);
      if (target === null) continue;
      if (!/^https?:$/.test(target.url.protocol) || target.url.username !== '' || target.url.password !== '') {
        throw new Error(`leads to ${target.url.href}`);
      }
      if (target.authorization === base.authorization && target.url.origin !== base.url.origin) {
        throw new Error(`credentials go along to ${target.url.origin}`);
      }
    }
  },
};

const V2 = Buffer.from('0d0a0d0a000d0a515549540a', 'hex');
const proxyHead: FuzzTarget = {
  name: 'proxy-head',
  seeds: [
    latin('PROXY TCP4 192.0.2.1 10.0.0.2 56324 443\r\nGET / HTTP/1.1\r\n'),
    latin('PROXY TCP6 2001:db8::1 ::1 1 2\r\nx'),
    latin('PROXY UNKNOWN ffff\r\nx'),
    Buffer.concat([V2, Buffer.from('2111000cc00002010a000002dc0401bb', 'hex'), latin('GET /')]),
    Buffer.concat([V2, Buffer.from('21210024', 'hex'), Buffer.alloc(36, 1), latin('x')]),
    Buffer.concat([V2, Buffer.from('20000000', 'hex'), latin('x')]),
  ],
  words: [
    V2,
    ...[
      'PROXY ',
      'TCP4 ',
      'TCP6 ',
      'UNKNOWN',
      '\r\n',
      '\n',
      ' ',
      '::ffff:1.2.3.4',
      '::',
      'fe80::1%eth0',
      '65536',
      '0',
      '\x21\x11',
      '\x20',
      '\0\x0c',
      '\xff\xff',
      '\0',
      '999.1.1.1',
    ].map(latin),
  ],
  play: (bytes) => {
    // Byte by byte: a verdict must be final, and must not consume further bytes.
    let before: string | undefined;
    for (let length = 1; length <= Math.min(bytes.length, 700); length++) {
      const head = readProxyHeader(bytes.subarray(0, length), 536);
      const said = typeof head === 'string' ? head : JSON.stringify([head.address, length - head.rest.length]);
      if (before !== undefined && before !== 'more' && said !== before)
        throw new Error(`first ${before}, then ${said}`);
      if (typeof head !== 'string' && head.address !== null && isIP(head.address) === 0)
        throw new Error(`address ${head.address}`);
      before = said;
    }
  },
};

const TRUSTING = [
  new Proxies(['10.0.0.0/8', '::1'], 'x-forwarded-for'),
  new Proxies(['10.0.0.0/8'], 'forwarded'),
] as const;
const forwarded: FuzzTarget = {
  name: 'forwarded',
  seeds: [
    '198.51.100.9, 192.0.2.1, 10.0.0.7',
    'for=192.0.2.43;proto=http, for="[2001:db8::17]:4711"',
    '[::1]:80, 10.1.1.1:5, unknown',
  ].map(latin),
  words: [
    ',',
    ' ',
    'for=',
    '"',
    '[',
    ']',
    ':',
    '10.0.0.1',
    '10.0.0.1,',
    ';',
    'for="_hidden"',
    '::1',
    '%',
    '\xff',
    '\t',
    '=',
  ].map(latin),
  muchBytes: 32_000,
  play: (bytes) => {
    const socket = { remoteAddress: '10.0.0.1' } as Socket;
    for (const proxies of TRUSTING) {
      const client = proxies.clientOf(socket, () => bytes.toString('latin1'));
      if (isIP(client) === 0) throw new Error(`client ${JSON.stringify(client)}`);
    }
  },
};

const HELLO = Buffer.from([1, 0, 0, 40, 3, 3, ...Array<number>(38).fill(0)]);
const inRecord = (fragment: Buffer) => Buffer.concat([Buffer.from([0x16, 3, 1, 0, fragment.length]), fragment]);
const clientHello: FuzzTarget = {
  name: 'client-hello',
  seeds: [
    inRecord(HELLO),
    Buffer.concat([inRecord(HELLO.subarray(0, 1)), inRecord(HELLO.subarray(1, 30)), inRecord(HELLO.subarray(30))]),
  ],
  words: ['\x16\x03\x01\0\x01', '\x16\x03\x03\x40\0', '\x16', '\x15', '\x01\0\0', '\x01\xff\xff\xff', '\0', '\xff'].map(
    latin,
  ),
  play: (bytes) => {
    let before = 'more';
    for (let length = 0; length <= Math.min(bytes.length, 700); length++) {
      const said = readClientHello(bytes.subarray(0, length), 500);
      if (before !== 'more' && said !== before) throw new Error(`first ${before}, then ${said}`);
      before = said;
    }
    const limit = 500 + 32 * 5;
    if (bytes.length > limit && before === 'more' && readClientHello(bytes, 500) === 'more')
      throw new Error(`still more after ${bytes.length} bytes`);
  },
};

const responseHead: FuzzTarget = {
  name: 'response-head',
  seeds: [
    'ICY 200 OK\r\nicy-name:a\r\nicy-metaint: 16000\r\n\r\n\xff\xfb',
    'HTTP/1.1 100 Continue\n\nHTTP/1.0 302\nLocation: /\n more\n\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n',
  ].map(latin),
  words: ['ICY ', 'HTTP/1.1 ', '200', '100', '101', '\r', '\n', '\r\n', '\r\r\n', ': ', ' ', '\t', '\0', '\xe9'].map(
    latin,
  ),
  play(bytes, random) {
    let [split, found] = [0, readResponseHead(Buffer.alloc(0))];
    for (let seen = 0; found === 'more' && seen < bytes.length; seen = split) {
      split = Math.min(bytes.length, seen + random.int(1, 40));
      found = readResponseHead(bytes.subarray(0, split), seen);
    }
    const whole = readResponseHead(bytes);
    if (typeof whole === 'string' || typeof found === 'string') {
      if (whole !== found) throw new Error('depends on where it was split');
      return;
    }
    const text = whole.head?.toString('latin1') ?? '';
    const isSame = whole.endAt === found.endAt && text === (found.head?.toString('latin1') ?? '');
    if (!isSame) throw new Error('depends on where it was split');
    if (!/^(HTTP\/1\.1 \d{3} \r\n([!-9;-~]+: [^\0-\x1f\x7f]*\r\n)*\r\n)?$/.test(text)) throw new Error(text);
  },
};

export const TEXT_TARGETS: readonly FuzzTarget[] = [
  ...[pushQuery, pushForm, pushBody, playlist, proxyHead, forwarded, clientHello, responseHead],
];
