/**
 * Encoders that have a window or are found no more, by the bytes that they write (taken from the programs themselves), against the whole
 * server: BUTT by PUT, by SOURCE and in its SHOUTcast mode, nsvcap's kin, DarkIce. Each waits for its answer where the program does; a
 * listener hears what they send, and their titles arrive though they hang up at once. At every split point: test/behaviour/encoder-transcripts.test.ts.
 */

import t, { type Test } from 'tap';
import { DEMO_FRAMES } from '../kit/feeder.js';
import { Player } from '../kit/player.js';
import { freePorts } from '../kit/process.js';
import { demoYaml, startServer, type TestServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { Watching, Wire } from '../kit/wire.js';

const BASIC = Buffer.from('source:demo-source').toString('base64');

interface Transcript {
  readonly name: string;
  /** What it sends, and the answers so far that it wants before it goes on. */
  readonly steps: readonly (readonly [send: string, wants: RegExp])[];
  /** 1: it connects to the next port, as SHOUTcast's do; its titles go to the port itself. */
  readonly portsOn?: number;
  /** A connection of its own, closed without a look at the answer. */
  readonly title?: string;
}

const crlf = (...lines: string[]) => lines.map((line) => `${line}\r\n`).join('');
/** BUTT writes its headers with CRLF, one by one. */
const BUTT_HEADS = [
  `Authorization: Basic ${BASIC}`,
  'User-Agent: butt 0.1.37',
  'Content-Type: audio/mpeg',
  'ice-name: Pr\u00c3\u00b6gramm',
  'ice-public: 0',
  'ice-genre: Demo',
  'ice-audio-info: ice-bitrate=128;ice-channels=2;ice-samplerate=44100',
];
const icecastTitle = (charset: string, song: string) =>
  crlf(
    `GET /admin/metadata?mode=updinfo&mount=/studio.mp3${charset}&song=${song} HTTP/1.0`,
    'User-Agent: butt 0.1.37',
    `Authorization: Basic ${BASIC}`,
    '',
  );
const TRANSCRIPTS: readonly Transcript[] = [
  {
    name: 'BUTT, PUT',
    steps: [[crlf('PUT /studio.mp3 HTTP/1.1', ...BUTT_HEADS, 'Expect: 100-continue', ''), /^HTTP\/1\.[01] 100 /]],
    title: icecastTitle('&charset=UTF-8', 'Sigur%20R%c3%b3s%20-%20Gl%c3%b3s%c3%b3li'),
  },
  {
    name: 'BUTT, SOURCE',
    steps: [[crlf('SOURCE /studio.mp3 HTTP/1.0', ...BUTT_HEADS, ''), /^HTTP\/1\.[01] 200 /]],
    title: icecastTitle('', 'Sigur%20R%f3s%20-%20Gl%f3s%f3li'),
  },
  {
    name: 'BUTT, SHOUTcast',
    portsOn: 1,
    steps: [
      ['demo-source\r\n', /^OK2\r\nicy-caps:11\r\n\r\n$/],
      [
        crlf(
          'icy-name:Pr\u00c3\u00b6gramm',
          'icy-genre:Demo',
          'icy-url:http://example.org',
          'icy-irc:',
          'icy-icq:',
          'icy-aim:',
          'icy-pub:0',
          'icy-br:128',
          'content-type:audio/mpeg',
          '',
        ),
        /^/,
      ],
    ],
    title: crlf(
      'GET /admin.cgi?pass=demo-source&mode=updinfo&song=Sigur%20R%c3%b3s%20-%20Gl%c3%b3s%c3%b3li&url= HTTP/1.0',
      'User-Agent: ShoutcastDSP (Mozilla Compatible)',
      '',
    ),
  },
  {
    name: "nsvcap's kin: icy-reset, one head twice, no content type",
    portsOn: 1,
    steps: [
      ['demo-source\n', /^OK2\r\nicy-caps:11\r\n\r\n$/],
      [
        crlf(
          'icy-name:Pr\u00f6gramm',
          'icy-genre:Demo',
          'icy-pub:0',
          'icy-br:128',
          'icy-url:http://example.org',
          'icy-irc:#demo',
          'icy-genre:Demo',
          'icy-reset:1',
          '',
        ),
        /^/,
      ],
    ],
    title: crlf(
      'GET /admin.cgi?pass=demo-source&mode=updinfo&song=Sigur%20R%f3s%20-%20Gl%f3s%f3li HTTP/1.0',
      'User-Agent:Cockos WDL scsrc (Mozilla)',
      'Accept:*/*',
      '',
    ),
  },
  {
    name: 'DarkIce: bare line feeds, and one CRLF pair at the end',
    steps: [
      [
        `SOURCE /studio.mp3 HTTP/1.0\nAuthorization: Basic ${BASIC}\nUser-Agent: DarkIce/1.3 (http://code.google.com/p/darkice/)\n` +
          'ice-bitrate: 128\nice-public: 0\nice-name: DarkIce Pr\u00c3\u00b6gramm\nice-genre: Demo\r\n\r\n',
        /^HTTP\/1\.[01] 200 /,
      ],
    ],
  },
];

/** The demo's frames backwards: the file that plays while no encoder does never has these two in this order. */
const SENT = DEMO_FRAMES.slice(0, 200).reverse();
const MARK = Buffer.concat(SENT.slice(20, 22)).subarray(36);

async function play(t: Test, server: TestServer, { portsOn, steps, title }: Transcript): Promise<void> {
  const { port } = server;
  const player = new Player(port, '/studio.mp3', { keep: true });
  t.teardown(() => player.close());
  const watching = await new Watching(t, `${server.ws}/metadata/channel/studio`).opened();
  await player.until(({ audioBytes }) => audioBytes > 0);
  const fileBytes = player.audioBytes;
  const wire = new Wire(t, port + (portsOn ?? 0));
  for (const [send, wants] of steps) {
    wire.send(send);
    const answer = () => wire.got;
    await until(() => wants.test(answer()), 10_000, answer);
  }
  let at = 0;
  const sending = setInterval(() => wire.send(Buffer.concat(SENT.slice(at, (at += 4)))), 104);
  t.teardown(() => clearInterval(sending));
  await player.until((one) => one.audioFrom(fileBytes).includes(MARK));
  if (title !== undefined) {
    const { socket } = new Wire(t, port).send(title);
    socket.end();
    socket.once('data', () => socket.destroy());
    await watching.has(1, 10_000);
    t.match(watching.records[0], { artist: 'Sigur Rós', song: 'Glósóli', source: 'encoder' });
    await player.until(({ titles }) => titles.at(-1)?.title === 'Sigur Rós - Glósóli');
  }
  clearInterval(sending);
  wire.socket.end();
  const upTo = player.audioBytes;
  await player.until(({ audioBytes }) => audioBytes > upTo + 16_000);
  t.notOk(player.closed, 'the listener stays');
}

t.test('encoders, transcribed', { jobs: TRANSCRIPTS.length }, async (t) => {
  const firstPort = await freePorts(2 * TRANSCRIPTS.length);
  await Promise.all(
    TRANSCRIPTS.map((transcript, i) =>
      t.test(transcript.name, { buffered: true }, async (t) => {
        await play(t, await startServer(t, demoYaml('', firstPort + 2 * i)), transcript);
      }),
    ),
  );
});
