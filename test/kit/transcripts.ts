/**
 * What encoders send, byte for byte, from the tables of src/http/ingest/README.md, "What encoders send": the head, then a body that looks like more
 * of the head, as audio may. With each, the server's expected answer, and whether a channel is fed.
 */

const BASIC = `Authorization: Basic ${Buffer.from('source:hackme').toString('base64')}`;
const crlf = (...lines: string[]) => [...lines, '', ''].join('\r\n');
const lf = (...lines: string[]) => [...lines, '', ''].join('\n');
/** nsvcap's text mode doubles the CR. */
const crcrlf = (...lines: string[]) => `${lines.join('\r\r\n')}\r\r\n`;

/** Audio that looks like more of the head. */
export const BODY = Buffer.from([0xff, 0xfb, 0x90, 0x64, 0x0a, 0x0a, 0x0d, 0x0a, 0x3a, 0x00]);

export const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
export const OK = 'HTTP/1.0 200 OK\r\nServer: airsplice\r\nConnection: close\r\n\r\n';
export const OK2 = 'OK2\r\nicy-caps:11\r\n\r\n';
export const INVALID = 'invalid password\r\n';
/** The request reached the HTTP server, which has no routes here (front-harness.ts). */
const NOBODY = /^HTTP\/1\.1 404 Not Found\r\n/;

export interface Transcript {
  readonly bytes: Buffer;
  /** The whole answer; a pattern if the text is for people. */
  readonly answer: string | RegExp;
  /** Whether BODY feeds the channel live. */
  readonly fed: boolean;
}

const chunked = (bytes: Buffer) =>
  Buffer.concat([
    ...[
      Buffer.from('4\r\n'),
      bytes.subarray(0, 4),
      Buffer.from('\r\n'),
      Buffer.from(`${(bytes.length - 4).toString(16)};x=y\r\n`),
    ],
    ...[bytes.subarray(4), Buffer.from('\r\n0\r\nTrailer: 1\r\n\r\n')],
  ]);

function row(head: string, answer: string | RegExp, body: Buffer | null = BODY): Transcript {
  return { bytes: Buffer.concat([Buffer.from(head), body ?? Buffer.alloc(0)]), answer, fed: body !== null };
}

const ICY = ['icy-name:no name', 'icy-genre:', 'icy-pub:1', 'icy-br:128', 'icy-url:http://example.org:80/'];
const PUT = [
  ...[
    BASIC,
    'Host: radio.example.org:8000',
    'User-Agent: butt 0.1.34',
    'Content-Type: audio/mpeg',
    'ice-name: no name',
  ],
  ...['ice-public: 0', 'ice-url: ', 'ice-audio-info: ice-bitrate=128;ice-channels=2;ice-samplerate=44100'],
];

export const TRANSCRIPTS: Readonly<Record<string, Transcript>> = {
  'ffmpeg, PUT': row(
    crlf(
      'PUT /live HTTP/1.1',
      ...[
        'User-Agent: Lavf/59.27.100',
        'Accept: */*',
        'Expect: 100-continue',
        'Connection: close',
        'Host: 127.0.0.1:41583',
      ],
      ...['Content-Type: audio/mpeg', 'Icy-MetaData: 1', 'Ice-Name: Radio Tést', 'Ice-Public: 1', BASIC],
    ),
    CONTINUE,
  ),
  'ffmpeg -legacy_icecast 1': row(
    crlf('SOURCE /live HTTP/1.1', 'User-Agent: Lavf/59.27.100', 'Accept: */*', 'Content-Type: audio/mpeg', BASIC),
    OK,
  ),
  'BUTT, Icecast': row(crlf('PUT /live HTTP/1.1', ...PUT, 'Expect: 100-continue'), CONTINUE),
  'BUTT, the second try': row(crlf('SOURCE /live HTTP/1.0', ...PUT), OK),
  'BUTT, SHOUTcast': row(`hackme\r\n${crlf('content-type:audio/mpeg', ...ICY)}`, OK2),
  'libshout, the probe': row(
    crlf(
      'SOURCE /live HTTP/1.0',
      'User-Agent: libshout/2.4.6',
      'Content-Type: audio/mpeg',
      'Content-Length: 0',
      'Connection: Keep-Alive',
    ),
    /^HTTP\/1\.0 401 Unauthorized\r\n[\s\S]*\r\nWWW-Authenticate: Basic realm="airsplice"\r\nAllow: PUT, SOURCE, POST\r\n\r\n/,
    null,
  ),
  'libshout, a probe that knows the password': row(
    crlf('SOURCE /live HTTP/1.0', BASIC, 'Content-Length: 0'),
    'HTTP/1.0 200 OK\r\nServer: airsplice\r\nConnection: close\r\nContent-Length: 0\r\n\r\n',
    null,
  ),
  'libshout, PUT': row(
    crlf('PUT /live HTTP/1.1', BASIC, 'User-Agent: libshout/2.4.6', 'Expect: 100-continue'),
    CONTINUE,
  ),
  'libshout, SOURCE': row(crlf('SOURCE /live HTTP/1.0', BASIC, 'User-Agent: libshout/2.4.6'), OK),
  'libshout, ICY, all in one go': row(`hackme\n${lf(...ICY, 'icy-irc:', 'icy-aim:')}`, OK2),
  'libshout, ICY, its poke': row('!POKE\nicy-name:no name\n\n', INVALID, null),
  'Liquidsoap, SOURCE': row(
    crlf(
      'SOURCE /live HTTP/1.0',
      BASIC,
      'User-Agent: Liquidsoap/2.2.4 (Unix; OCaml 4.14.1)',
      'Content-Type: audio/mpeg',
    ),
    OK,
  ),
  'Liquidsoap, PUT': row(
    crlf('PUT /live HTTP/1.0', 'Expect: 100-continue', BASIC, 'Content-Type: audio/mpeg'),
    CONTINUE,
  ),
  'Liquidsoap, PUT in chunks': row(
    crlf('PUT /live HTTP/1.1', 'Expect: 100-continue', 'Transfer-Encoding: chunked', BASIC, 'Content-Type: audio/mpeg'),
    CONTINUE,
    chunked(BODY),
  ),
  'Liquidsoap, SHOUTcast': row(`hackme\r\n${crlf(...ICY, 'content-type:audio/mpeg')}`, OK2),
  'DarkIce, LF alone': row(
    lf('SOURCE /live HTTP/1.0', 'Content-type: audio/mpeg', BASIC, 'User-Agent: DarkIce/1.4', 'ice-name: a : b'),
    OK,
  ),
  'DarkIce of old, ICE/1.0': row(lf('SOURCE /live ICE/1.0', BASIC, 'ice-bitrate: 128'), OK),
  'a head in CR CR LF': row(`${crcrlf('SOURCE /live HTTP/1.0', BASIC)}\r\n`, OK),
  'PUT without Expect, of a length': row(crlf('PUT /live HTTP/1.1', BASIC, `Content-Length: ${BODY.length}`), OK),
  nsvcap: row(`${crcrlf('hackme', ...ICY)}\r\r\n`, OK2),
  'SHOUTcast, blanks after the colons': row(
    `hackme\r\n${crlf('icy-name: no name', 'icy-br: 128', 'Content-Type: audio/mpeg')}`,
    OK2,
  ),
  'SHOUTcast, a content type that is empty': row(`hackme\r\n${crlf('content-type:', 'icy-br:128')}`, OK2),
  'PUT, a content type that is empty': row(crlf('PUT /live HTTP/1.1', BASIC, 'Content-Type: '), OK),
  'SHOUTcast, no headers at all': row('hackme\r\n\r\n', OK2),
  'SHOUTcast, user:password': row(`dj:hackme\r\n${crlf(...ICY)}`, OK2),
  'SHOUTcast, password:#sid': row(`hackme:#2\r\n${crlf(...ICY)}`, OK2),
  'SHOUTcast, user:password:#sid': row(`dj:hackme:#2\n${lf(...ICY)}`, OK2),
  'SHOUTcast, /mount:password': row(`/live:hackme\r\n${crlf(...ICY)}`, OK2),
  'SHOUTcast, a wrong password': row('hackmf\r\n', INVALID, null),
  'SHOUTcast, a wrong user': row('nobody:hackme\r\n', INVALID, null),
  'SHOUTcast, a password that two channels share': row('both\r\n', INVALID, null),
  'SHOUTcast, no such mount': row('/none:hackme\r\n', INVALID, null),
  'a title, LF alone': row(
    lf('GET /admin.cgi?pass=hackme&mode=updinfo&song=a b HTTP/1.1', 'User-Agent: Mozilla'),
    NOBODY,
    null,
  ),
  'a title, CR CR LF': row(`${crcrlf('GET /admin/metadata?mode=updinfo&song=x HTTP/1.0', BASIC)}\r\r\n`, NOBODY, null),
  'SHOUTcast, another mount’s password': row('/twin:hackme\r\n', INVALID, null),
};
