/** Every handshake of src/http/ingest/README.md's table, at every split point: what it is answered, and what audio comes out. */

import { randomBytes } from 'node:crypto';
import net from 'node:net';
import t from 'tap';
import { FrontHarness, Pipe } from '../kit/front-harness.js';
import { BODY, TRANSCRIPTS, type Transcript } from '../kit/transcripts.js';
import { until } from '../kit/until.js';
import { arrived, Wire } from '../kit/wire.js';

/** What is wrong with how a connection went; "": nothing. */
function problemOf(harness: FrontHarness, { socket, received }: Pipe, { answer, fed }: Transcript): string {
  const feeds = harness.fed.filter((each) => each.socket === socket);
  if (typeof answer === 'string' ? received !== answer : !answer.test(received))
    return `answered ${JSON.stringify(received)}`;
  if (feeds.length !== (fed ? 1 : 0)) return `${feeds.length} fed`;
  if (!fed) return '';
  const { channel, audio, state } = feeds[0]!;
  return channel === 'live' && audio.equals(BODY) && state !== 'broken'
    ? ''
    : `${channel} ${state} ${audio.toString('hex')}`;
}

for (const [name, transcript] of Object.entries(TRANSCRIPTS)) {
  t.test(name, async (t) => {
    const { bytes } = transcript;
    const harness = new FrontHarness();
    t.teardown(() => harness.close());
    const play = async (pieces: readonly Buffer[]) => {
      const pipe = new Pipe(pieces, 'fin');
      const closed = new Promise((done) => pipe.on('close', done));
      harness.front.take(pipe.socket);
      await closed;
      return problemOf(harness, pipe, transcript);
    };
    const cuts = Array.from({ length: bytes.length + 1 }, (_, cut) => cut);
    const problems = await Promise.all(
      cuts.map(async (cut) => {
        const problem = await play([bytes.subarray(0, cut), bytes.subarray(cut)].filter((piece) => piece.length > 0));
        return problem === '' ? [] : [`cut at ${cut}: ${problem}`];
      }),
    );
    t.strictSame(problems.flat(), [], `${cuts.length} splits`);
    t.equal(await play(Array.from(bytes, (byte) => Buffer.of(byte))), '', 'byte by byte');
  });
}

t.test('over a network, and encoders that wait for their answer', async (t) => {
  const harness = new FrontHarness();
  const port = await harness.front.listen();
  t.teardown(() => harness.close());
  const connect = async (first: Buffer, rest: Buffer, waits: boolean) => {
    let received = '';
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    t.teardown(() => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
    });
    socket.on('error', () => undefined);
    let closed = false;
    socket.on('end', () => socket.end());
    socket.on('close', () => {
      closed = true;
    });
    socket.write(first);
    if (waits) await until(() => received.includes('\n'), 5000);
    else await arrived(socket);
    socket.end(rest);
    await until(
      () => closed,
      10_000,
      () => `still open: ${JSON.stringify(received)}`,
    );
    return received;
  };
  for (const [name, transcript] of Object.entries(TRANSCRIPTS)) {
    const { bytes, answer, fed } = transcript;
    const before = harness.fed.length;
    // A head that waits: SHOUTcast's for its OK2 after the password, all others for the answer to all of the head.
    const end =
      typeof answer === 'string' && answer.startsWith('OK2') ? bytes.indexOf('\n') + 1 : bytes.length - BODY.length;
    const cuts = [0, 1, 4, Math.floor(bytes.length / 2), bytes.length - 1];
    await Promise.all(
      cuts.map(async (cut) => {
        const received = await connect(bytes.subarray(0, cut), bytes.subarray(cut), false);
        t.ok(
          typeof answer === 'string' ? received === answer : answer.test(received),
          `${name}, cut at ${cut}: ${received}`,
        );
      }),
    );
    if (fed && !name.includes('chunks')) {
      const received = await connect(bytes.subarray(0, end), bytes.subarray(end), true);
      t.equal(received, answer, `${name}, waiting`);
    }
    for (const { audio } of harness.fed.slice(before)) t.same(audio, BODY, name);
  }
});

t.test('the log says why, and holds no password', async (t) => {
  const harness = new FrontHarness(5000, 2);
  t.teardown(() => harness.close());
  const say = async (text: string) => {
    const pipe = new Pipe([Buffer.from(text)], 'fin');
    harness.front.take(pipe.socket);
    await until(() => pipe.destroyed, 5000);
    return [pipe.received, harness.judged.at(-1)?.status, harness.judged.at(-1)?.why];
  };
  const INVALID = 'invalid password\r\n';
  const shared = 'the channels twin, other share this password: use /mount:password, or change one of them';
  t.same(await say('both\r\n'), [INVALID, 403, shared]);
  t.same(await say('/twin:both\r\n\r\n'), ['OK2\r\nicy-caps:11\r\n\r\n', 200, 'twin']);
  t.same(await say('wrong\r\n'), [INVALID, 401, 'wrong secret']);
  t.same(await say('hackme\ncontent-type:video/nsv\n\n'), ['OK2\r\nicy-caps:11\r\n\r\n', 200, 'live']);
  t.same(await say(`hackme\n${'x'.repeat(9000)}`), [
    'OK2\r\nicy-caps:11\r\n\r\n',
    400,
    'The head of the request is larger than 8192 bytes',
  ]);
  harness.busy = true;
  t.same(await say('hackme\n\n'), [INVALID, 409, 'another encoder feeds this channel']);
  harness.busy = false;
  const count = harness.judged.length;
  t.same((await say('!POKE\nx: y\n\n'))[0], INVALID);
  t.same((await say('PROPFIND / HTTP/1.1\r\n\r\n'))[0], '', 'no password can look so');
  t.equal(harness.judged.length, count, 'neither is a guess');
  t.same(await say('/live:wrong\r\n'), [INVALID, 401, 'wrong secret']);
  t.same(await say('wrong\r\n'), [INVALID, 429, 'too many wrong secrets'], 'past the limit, and none may wait');
  t.same(await say('hackme\n\n'), [INVALID, 429, 'too many wrong secrets'], 'a right one gets the same answer');
  t.notMatch(JSON.stringify(harness.judged), /hackme|"both"|wrong"/);
});

t.test('an encoder that sends its audio while its password waits loses none of it', async (t) => {
  const harness = new FrontHarness(5000, 1, 9);
  const port = await harness.front.listen();
  t.teardown(() => harness.close());
  const audio = randomBytes(1_000_000);
  const headers = [
    `SOURCE /live HTTP/1.0\r\nAuthorization: Basic ${btoa('source:hackme')}\r\n\r\n`,
    'hackme\r\nicy-name:x\r\n\r\n',
  ];
  new Wire(t, port).send('wrong\r\n');
  await until(() => harness.judged.length === 1, 5000);
  for (const [i, head] of headers.entries()) {
    // A client that goes meanwhile, in one way or the other, leaves the queue.
    const gone = [new Wire(t, port).send(head), new Wire(t, port, { halfOpen: true }).send(head.slice(0, -2))];
    const stays = new Wire(t, port).send(head).send(audio);
    await until(
      () => harness.gate.waiting === (i === 0 ? 2 : 3),
      5000,
      () => `${harness.gate.waiting} wait`,
    );
    gone[0]!.socket.resetAndDestroy();
    gone[1]!.socket.end();
    await until(
      () => harness.gate.waiting === 1,
      5000,
      () => `${harness.gate.waiting} wait`,
    );
    t.equal(stays.got, '', 'not even its OK2');
    harness.clock.advance(1040);
    await until(() => harness.fed.length === i + 1 && harness.fed[i]!.audio.length === audio.length, 20_000);
    t.ok(harness.fed[i]!.audio.equals(audio));
    harness.fed[i]!.socket.destroy();
  }
  t.equal(harness.judged.filter(({ status }) => status === 200).length, 2);
});

t.test('an encoder that is overtaken while it sends its headers is let go', async (t) => {
  const harness = new FrontHarness();
  const port = await harness.front.listen();
  t.teardown(() => harness.close());
  const socket = net.connect({ port, host: '127.0.0.1' }).on('error', () => undefined);
  let received = '';
  let ended = false;
  socket.on('data', (chunk: Buffer) => (received += chunk)).on('end', () => (ended = true));
  socket.write('hackme\r\n');
  await until(() => received !== '', 5000);
  harness.busy = true;
  socket.write('icy-name:x\r\n\r\n');
  await until(() => ended, 5000);
  t.equal(received, 'OK2\r\nicy-caps:11\r\n\r\n');
  t.match(harness.judged, [{ status: 409 }]);
  t.equal(harness.fed.length, 0);
});

t.test('a password or its headers that never come to their end', async (t) => {
  const harness = new FrontHarness(200);
  t.teardown(() => harness.close());
  for (const text of ['hack', 'hackme\r\n', 'hackme\r\nicy-name: x\r\n', 'PUT /live HTTP/1.1\r\n', '\r\n']) {
    const pipe = new Pipe([Buffer.from(text)], 'never');
    harness.front.take(pipe.socket);
    await until(
      () => pipe.destroyed,
      3000,
      () => `${JSON.stringify(text)} is still open`,
    );
  }
  t.equal(harness.fed.length, 0);
  const line = (length: number) => `${'x'.repeat(length - 1)}\n`;
  for (const [length, status] of [
    [8192, 401],
    [8193, 400],
  ] as const) {
    const pipe = new Pipe([Buffer.from(line(length))], 'fin');
    harness.front.take(pipe.socket);
    await until(() => pipe.destroyed, 3000);
    t.equal(harness.judged.at(-1)?.status, status, `a line of ${length} bytes`);
  }
});
