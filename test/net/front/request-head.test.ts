import t from 'tap';
import {
  basicCredentials,
  type RequestHead,
  type RequestHeadFault,
  type RequestHeadLimits,
  RequestHeadParser,
} from '../../../src/net/front/request-head.js';
import { Random } from '../../kit/random.js';

const LIMITS: RequestHeadLimits = { headBytes: 8192, headLines: 64 };

/** Pushes the pieces until the parser has an answer. */
function parse(pieces: readonly Buffer[], limits = LIMITS): RequestHead | 'more' | RequestHeadFault {
  const parser = new RequestHeadParser(limits);
  for (const piece of pieces) {
    const result = parser.push(piece);
    if (result !== 'more') return result;
  }
  return 'more';
}

function parseText(head: string | Buffer, limits = LIMITS): RequestHead {
  const result = parse([Buffer.from(head as string)], limits);
  if (result === 'more' || 'kind' in result) throw new Error(`no handshake: ${JSON.stringify(result)}`);
  return result;
}

const credentialsOf = ({ headers }: RequestHead) => basicCredentials(headers.get('authorization'));

const crlf = (...lines: string[]) => `${lines.join('\r\n')}\r\n\r\n`;

/** `source:hackme` */
const BASIC = 'Basic c291cmNlOmhhY2ttZQ==';
const HACKME = { user: 'source', password: 'hackme' };

interface Transcript {
  readonly head: string;
  readonly want: Partial<Omit<RequestHead, 'headers' | 'rest'>> & { headers: Record<string, string> };
  readonly credentials: ReturnType<typeof basicCredentials>;
}

const TRANSCRIPTS: Record<string, Transcript> = {
  // Both recorded from ffmpeg 5.1 (libavformat 59).
  'ffmpeg, PUT': {
    head: crlf(
      'PUT /live.mp3 HTTP/1.1',
      ...['User-Agent: Lavf/59.27.100', 'Accept: */*', 'Expect: 100-continue', 'Connection: close'],
      ...['Host: 127.0.0.1:41583', 'Content-Type: audio/mpeg', 'Icy-MetaData: 1'],
      ...['Ice-Name: Radio Tést', 'Ice-Genre: Jazz', 'Ice-Public: 1', `Authorization: ${BASIC}`],
    ),
    want: {
      method: 'PUT',
      path: '/live.mp3',
      query: '',
      protocol: 'HTTP/1.1',
      headers: { expect: '100-continue', 'content-type': 'audio/mpeg', 'ice-name': 'Radio Tést', 'ice-public': '1' },
    },
    credentials: HACKME,
  },
  'ffmpeg -legacy_icecast 1': {
    head: crlf(
      'SOURCE /live.mp3 HTTP/1.1',
      ...['User-Agent: Lavf/59.27.100', 'Accept: */*', 'Connection: close', 'Host: 127.0.0.1:41583'],
      ...['Content-Type: audio/mpeg', 'Icy-MetaData: 1', 'Ice-Name: Radio Tést', `Authorization: ${BASIC}`],
    ),
    want: { method: 'SOURCE', path: '/live.mp3', protocol: 'HTTP/1.1', headers: { 'icy-metadata': '1' } },
    credentials: HACKME,
  },
  BUTT: {
    head: crlf(
      'PUT /stream HTTP/1.1',
      ...[`Authorization: ${BASIC}`, 'Host: radio.example.org:8000', 'User-Agent: butt 0.1.34'],
      ...['Content-Type: audio/mpeg', 'ice-name: no name', 'ice-public: 0', 'ice-url: ', 'ice-genre: '],
      ...['ice-description: ', 'ice-audio-info: ice-bitrate=128;ice-channels=2;ice-samplerate=44100'],
      'Expect: 100-continue',
    ),
    want: {
      method: 'PUT',
      path: '/stream',
      protocol: 'HTTP/1.1',
      headers: {
        'ice-url': '',
        'ice-name': 'no name',
        expect: '100-continue',
        'ice-audio-info': 'ice-bitrate=128;ice-channels=2;ice-samplerate=44100',
      },
    },
    credentials: HACKME,
  },
  'libshout, the probe': {
    head: crlf(
      'SOURCE /caf%c3%a9.mp3 HTTP/1.0',
      ...['Host: localhost:8000', 'User-Agent: libshout/2.4.6', 'Content-Type: audio/mpeg', 'Content-Length: 0'],
      ...['Connection: Keep-Alive', 'ice-public: 1', 'ice-name: no name', 'ice-audio-info: bitrate=128'],
    ),
    want: { method: 'SOURCE', path: '/caf%c3%a9.mp3', protocol: 'HTTP/1.0', headers: { 'content-length': '0' } },
    credentials: null,
  },
  'libshout, PUT': {
    head: crlf(
      'PUT /live HTTP/1.1',
      ...[`Authorization: ${BASIC}`, 'Host: localhost:8000', 'User-Agent: libshout/2.4.6'],
      ...['Content-Type: audio/mpeg', 'Expect: 100-continue', 'ice-public: 1', 'ice-name: no name'],
    ),
    want: { method: 'PUT', path: '/live', protocol: 'HTTP/1.1', headers: { 'user-agent': 'libshout/2.4.6' } },
    credentials: HACKME,
  },
  'Liquidsoap, SOURCE': {
    head: crlf(
      'SOURCE /live.mp3 HTTP/1.0',
      ...[`Authorization: ${BASIC}`, 'ice-public: 1', 'User-Agent: Liquidsoap/2.2.4 (Unix; OCaml 4.14.1)'],
      ...['Host: localhost:8000', 'ice-name: Liquidsoap Radio!', 'ice-audio-info: quality=4;channels=2'],
      'Content-Type: audio/mpeg',
    ),
    want: { method: 'SOURCE', protocol: 'HTTP/1.0', headers: { 'ice-name': 'Liquidsoap Radio!' } },
    credentials: HACKME,
  },
  'Liquidsoap, PUT': {
    head: crlf(
      'PUT /live.mp3 HTTP/1.0',
      ...['Expect: 100-continue', `Authorization: ${BASIC}`, 'Host: localhost:8000', 'Content-Type: audio/mpeg'],
    ),
    want: { method: 'PUT', protocol: 'HTTP/1.0', headers: { expect: '100-continue' } },
    credentials: HACKME,
  },
  'Liquidsoap, PUT in chunks': {
    head: crlf(
      'PUT /live.mp3 HTTP/1.1',
      ...['Expect: 100-continue', 'Transfer-Encoding: chunked', `Authorization: ${BASIC}`, 'Host: localhost:8000'],
      'Content-Type: audio/mpeg',
    ),
    want: { method: 'PUT', protocol: 'HTTP/1.1', headers: { 'transfer-encoding': 'chunked' } },
    credentials: HACKME,
  },
  'Liquidsoap, a title': {
    head: crlf(
      'GET /admin/metadata?mode=updinfo&mount=/live.mp3&charset=UTF-8&artist=A&title=B%3F HTTP/1.0',
      ...[`Authorization: ${BASIC}`, 'Host: localhost:8000'],
    ),
    want: {
      method: 'GET',
      path: '/admin/metadata',
      protocol: 'HTTP/1.0',
      query: 'mode=updinfo&mount=/live.mp3&charset=UTF-8&artist=A&title=B%3F',
      headers: {},
    },
    credentials: HACKME,
  },
  'DarkIce, LF alone': {
    head: [
      'SOURCE /live HTTP/1.0',
      ...['Content-type: audio/mpeg', `Authorization: ${BASIC}`],
      ...['User-Agent: DarkIce/1.4 (http://code.google.com/p/darkice/)', 'ice-bitrate: 128', 'ice-public: 0'],
      ...['ice-name: DarkIce trial', 'ice-description: a : b', 'ice-url: http://example.org:80/', 'ice-genre: x'],
      ...['', ''],
    ].join('\n'),
    want: {
      method: 'SOURCE',
      path: '/live',
      protocol: 'HTTP/1.0',
      headers: { 'content-type': 'audio/mpeg', 'ice-url': 'http://example.org:80/', 'ice-description': 'a : b' },
    },
    credentials: HACKME,
  },
  'DarkIce of old, ICE/1.0': {
    head: 'SOURCE /live ICE/1.0\nice-password: hackme\nice-bitrate: 128\n\n',
    want: { method: 'SOURCE', path: '/live', protocol: 'ICE/1.0', headers: { 'ice-password': 'hackme' } },
    credentials: null,
  },
};

/** Audio that looks like more of a head. */
const BODY = Buffer.from([0xff, 0xfb, 0x90, 0x64, 0x0a, 0x0a, 0x0d, 0x0a, 0x3a, 0x00]);

for (const [encoder, { head, want, credentials }] of Object.entries(TRANSCRIPTS)) {
  t.test(encoder, async (t) => {
    const bytes = Buffer.concat([Buffer.from(head), BODY]);
    const headBytes = bytes.length - BODY.length;
    const whole = parse([bytes]);
    if (whole === 'more' || 'kind' in whole) return void t.fail(JSON.stringify(whole));
    const { headers, rest, ...line } = whole;
    t.match({ ...line, headers: Object.fromEntries(headers) }, want);
    t.same(rest, BODY, 'the body is left');
    t.same(credentialsOf(whole), credentials);

    for (let at = 0; at <= bytes.length; at++) {
      const split = parse([bytes.subarray(0, at), bytes.subarray(at)]);
      const expected = { ...whole, rest: at < headBytes ? BODY : bytes.subarray(headBytes, at) };
      if (!t.strictSame(split, expected, `split at ${at}`)) return;
    }
    const bytewise = parse(Array.from(bytes, (byte) => Buffer.of(byte)));
    t.strictSame(bytewise, { ...whole, rest: Buffer.alloc(0) }, 'byte by byte');
    t.equal(parse([bytes.subarray(0, headBytes - 1)]), 'more', 'not before its blank line');
  });
}

t.test('what encoders get away with', async (t) => {
  const headersOf = (head: string | Buffer) => Object.fromEntries(parseText(head).headers);
  const colons = 'SOURCE /m HTTP/1.0\r\nicy-name:no blank\r\nicy-br:  128 \t\r\nicy-url:\r\n\r\n';
  t.same(headersOf(colons), { 'icy-name': 'no blank', 'icy-br': '128', 'icy-url': '' }, 'blanks behind the colon');
  const mixed = 'SOURCE /m HTTP/1.0\r\r\nA: 1\nB: 2\r\nC: 3\r\r\n\r\r\nD: body\r\n\r\n';
  t.same(headersOf(mixed), { a: '1', b: '2', c: '3' }, 'line ends of three kinds, mixed');
  t.same(parseText(mixed).rest.toString(), 'D: body\r\n\r\n', 'the first blank line ends the head');
  t.match(parseText('\r\n\n\r\r\nPUT /m HTTP/1.1\r\n\r\n'), { method: 'PUT', path: '/m' }, 'blank lines before it');
  t.same(headersOf('PUT /m HTTP/1.1\nX: 1\nx: 2\nX: 3\n\n'), { x: '3' }, 'of a repeated header the last counts');
  const loose = 'PUT /m HTTP/1.1\nice-description: two\nlines\nof them : no\n: nameless\nX: 1\n\n';
  t.same(headersOf(loose), { 'ice-description': 'two', x: '1' }, 'lines without a name are skipped');
  t.match(parseText('put  /my mount?a=b c?d   http/1.1 \n\n'), {
    method: 'put',
    path: '/my mount',
    query: 'a=b c?d',
    protocol: 'http/1.1',
  });
  t.same(headersOf('PUT /m HTTP/1.1\nX: d\te\n\n'), { x: 'd e' }, 'no tab is left in a value');
  t.equal(headersOf('PUT /m HTTP/1.1\n__proto__: 1\n\n')['constructor'], Object);
});

t.test('what two readers could take for two requests is refused, but in SHOUTcast’s heads', async (t) => {
  for (const [what, lines] of Object.entries({
    'a blank before a colon': 'X : 1\n',
    'a head that goes on': 'X: 1\n folded\n',
    'a bare CR': 'X: a\rb\n',
    'a NUL': 'X: a\0b\n',
    'a delete': 'X: a\x7fb\n',
    'two lengths': 'Content-Length: 1\ncontent-length: 1\n',
    'a length and chunks': 'Content-Length: 1\nTransfer-Encoding: chunked\n',
    'chunks twice': 'Transfer-Encoding: chunked\nTransfer-Encoding: chunked\n',
  })) {
    t.match(parse([Buffer.from(`PUT /m HTTP/1.1\n${lines}\n`)]), { kind: 'malformed' }, what);
  }
  t.match(parse([Buffer.from('PUT /m\0 HTTP/1.1\n\n')]), { kind: 'malformed' }, 'in the first line');
  const icy = new RequestHeadParser(LIMITS, { method: '', path: '', query: '', protocol: '' });
  const heads = icy.push(Buffer.from('icy-br :  128\nX: a\rb\0c\x7fd\te\n folded: no\n\n'));
  t.same(Object.fromEntries((heads as RequestHead).headers), { 'icy-br': '128', x: 'a b c d e' });
});

t.test('charsets of header values', async (t) => {
  const name = (value: Buffer) =>
    parseText(
      Buffer.concat([Buffer.from('PUT /m HTTP/1.1\r\nice-name: '), value, Buffer.from('\r\n\r\n')]),
    ).headers.get('ice-name');
  t.equal(name(Buffer.from('Ħal Għawdex 🎵')), 'Ħal Għawdex 🎵', 'UTF-8');
  t.equal(name(Buffer.from('Caf\xe9 \x93Bleu\x94 5\x80', 'latin1')), 'Café “Bleu” 5€', 'else Windows-1252');
  t.equal(parseText(Buffer.from('PUT /caf\xe9 HTTP/1.1\n\n', 'latin1')).path, '/café', 'in the path too');
});

t.test('limits: at the limit and one past it', async (t) => {
  const at = (length: number) => Buffer.from(`PUT /m HTTP/1.1\r\nX: ${'x'.repeat(length - 24)}\r\n\r\n`);
  t.equal(at(8192).length, 8192);
  t.equal(parseText(at(8192)).headers.get('x')?.length, 8192 - 24);
  const bytes = { kind: 'too-large', message: 'The head of the request is larger than 8192 bytes' } as const;
  t.same(parse([at(8193)]), bytes);
  t.equal(parse([Buffer.alloc(8192, 'A')]), 'more');
  t.same(parse([Buffer.alloc(8193, 'A')]), bytes, 'a line without an end');
  t.same(parse([Buffer.alloc(4096), Buffer.alloc(4096), Buffer.from('\n')]), bytes);
  t.ok(
    parseText(Buffer.concat([at(8192), Buffer.alloc(100_000, '\n')])).rest.length === 100_000,
    'the body is no head',
  );

  const lines = (headers: number) => `PUT /m HTTP/1.1\r\n${'X: 1\r\n'.repeat(headers)}\r\n`;
  t.equal(parseText(lines(63)).headers.get('x'), '1', 'with the request line 64 lines');
  const many = { kind: 'too-large', message: 'The head of the request is larger than 64 lines' } as const;
  t.same(parse([Buffer.from(lines(64))]), many);
  t.same(parseText(`\r\n\n${lines(61)}`).method, 'PUT');
  t.same(parse([Buffer.from(`\r\n\n${lines(62)}`)]), many, 'blank lines before it count');
  t.same(parse([Buffer.from('\n'.repeat(65))]), many);
});

t.test('malformed', async (t) => {
  const heads = [
    ...['hackme\n', 'PUT\n', 'PUT /m\n', 'PUT HTTP/1.1\n', 'PUT  HTTP/1.1\n', '/m HTTP/1.1\n', ' \n', '!POKE\n'],
    ...['PUT /m HTTP/11\n', 'PUT /m HTTP/1.1x\n', 'P(T /m HTTP/1.1\n', 'PUT /m 1.1\n', '\x16\x03\x01\x02\n', ': \n'],
    `PUT${' '.repeat(5000)}\n`,
  ];
  for (const head of heads) {
    const result = parse([Buffer.from(head)]);
    t.match(result, { kind: 'malformed' }, JSON.stringify(head.slice(0, 20)));
    t.notMatch(result, /hackme/);
  }
});

t.test('credentials', async (t) => {
  const of = (value: string) => credentialsOf(parseText(`PUT /m HTTP/1.1\r\nAuthorization: ${value}\r\n\r\n`));
  const encoded = (text: string, charset: BufferEncoding = 'utf8') => Buffer.from(text, charset).toString('base64');
  t.same(of(`Basic ${encoded('source:a:b::c')}`), { user: 'source', password: 'a:b::c' }, 'a password with colons');
  t.same(of(`basic   ${encoded('dj:')}`), { user: 'dj', password: '' });
  t.same(of(`BASIC ${encoded(':secret')}`), { user: '', password: 'secret' });
  t.same(of(`Basic ${encoded('dj:pässwörd €')}`), { user: 'dj', password: 'pässwörd €' });
  t.same(of(`Basic ${encoded('dj:p\xe4ss', 'latin1')}`), { user: 'dj', password: 'päss' });
  t.same(of('Basic c291cmNlOmhhY2ttZQ'), HACKME, 'padding may be missing');
  for (const bad of [
    '',
    'Basic',
    'Basic ',
    'Basic %%%',
    'Basic c291cmNlOmhhY2ttZQ=== ',
    'Basic c291c mNlOmhhY2ttZQ==',
  ]) {
    t.equal(of(bad), null, bad);
  }
  for (const bad of [
    'Basic c291cmNlOmhhY2tt_-',
    'Basic YTpia',
    'Bearer c291cmNlOmhhY2ttZQ==',
    `Basic ${encoded('nocolon')}`,
  ]) {
    t.equal(of(bad), null, bad);
  }
  t.equal(credentialsOf(parseText('PUT /m HTTP/1.1\n\n')), null, 'no header at all');
});

t.test('20,000 random inputs: an answer, the same however they are split', async (t) => {
  const source = new Random();
  const random = (below: number) => source.int(0, below - 1);
  const limits = { headBytes: 600, headLines: 16 };
  const heads = Object.values(TRANSCRIPTS).map(({ head }) => Buffer.from(head));
  const tokens = [
    '\r\n',
    '\n',
    '\r',
    '\n\n',
    ':',
    ' ',
    '?',
    '\0',
    '\xff',
    'PUT /m HTTP/1.1\r\n',
    'Authorization: Basic ',
    'YTpi',
  ];
  const shapes: (() => Buffer)[] = [
    () => Buffer.from(Array.from({ length: random(40) }, () => random(256))),
    () => Buffer.from(Array.from({ length: random(60) }, () => tokens[random(tokens.length)]!).join(''), 'latin1'),
    () => {
      const head = Buffer.concat([heads[random(heads.length)]!, BODY]);
      for (let flips = random(6); flips > 0; flips--) head[random(head.length)] = random(256);
      return head.subarray(random(4) === 0 ? random(head.length) : 0);
    },
  ];
  const counts = { handshake: 0, more: 0, fault: 0 };
  for (let run = 0; run < 20_000; run++) {
    const bytes = shapes[run % shapes.length]!();
    const whole = parse([bytes], limits);
    const pieces: Buffer[] = [];
    for (let from = 0; from < bytes.length; ) {
      const to = from + 1 + random(1 << random(10));
      pieces.push(bytes.subarray(from, to));
      from = to;
    }
    const split = parse(pieces, limits);
    const why = `seed ${source.seed}, run ${run}: ${JSON.stringify(bytes.toString('latin1'))}`;
    counts[whole === 'more' ? 'more' : 'kind' in whole ? 'fault' : 'handshake']++;
    if (whole === 'more' || 'kind' in whole || split === 'more' || 'kind' in split) {
      if (JSON.stringify(whole) !== JSON.stringify(split)) return void t.strictSame(split, whole, why);
      continue;
    }
    const same =
      JSON.stringify({ ...whole, headers: [...whole.headers], rest: 0 }) ===
        JSON.stringify({ ...split, headers: [...split.headers], rest: 0 }) &&
      whole.rest.subarray(0, split.rest.length).equals(split.rest);
    if (!same) return void t.strictSame(split, whole, why);
    if (/[\u0000-\u001f\u007f]/.test([...whole.headers].join())) return void t.fail(`a control is left: ${why}`);
    credentialsOf(whole);
  }
  t.ok(Math.min(...Object.values(counts)) > 1000, `each kind of answer was seen: ${JSON.stringify(counts)}`);
});
