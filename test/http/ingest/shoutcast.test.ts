/** SHOUTcast v1 against the whole server: at the port and at the next one, titles by /admin.cgi, framed bodies, and a port that is taken. */

import net from 'node:net';
import t, { type Test } from 'tap';
import { openLog } from '../../../src/base/log.js';
import { Player } from '../../kit/player.js';
import { freePort } from '../../kit/process.js';
import { Random } from '../../kit/random.js';
import { demoYaml, startServer } from '../../kit/server.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until, untilPromised } from '../../kit/until.js';
import { accepted, ask, ENDS_MS, Wire } from '../../kit/wire.js';

// They wait more than they compute.
t.jobs = 4;

const OK2 = 'OK2\r\nicy-caps:11\r\n\r\n';
const GOOD = `Authorization: Basic ${Buffer.from('source:demo-source').toString('base64')}\r\n`;

/** MPEG 1 layer III, 128 kb/s at 44.1 kHz. */
function audioOf(random: Random, frames: number): Buffer {
  const bytes = random.bytes(frames * 417);
  for (let i = 0; i < frames; i++) bytes.set([0xff, 0xfb, 0x90, 0x64, 0, 0], i * 417);
  return bytes;
}

/** Whether this audio is heard at a mount. */
async function hears(port: number, mount: string, audio: Buffer): Promise<boolean> {
  const player = new Player(port, mount, { keep: true });
  await player.until(() => player.audio.indexOf(audio) >= 0, 8000);
  player.close();
  return true;
}

const status = (got: string) => Number(got.split(' ')[1]);

async function closed(wire: Wire): Promise<void> {
  await untilPromised(
    () => wire.ended || wire.closed,
    ENDS_MS,
    () => `still open: ${JSON.stringify(wire.got)}`,
  );
}

t.test('the demo’s password feeds the studio, at the port and at the next one', async (t) => {
  const base = await freePort();
  const { app } = await startServer(t, demoYaml('', base));
  t.same(app.shoutcastPorts, [base + 1]);
  const random = new Random();
  for (const port of [base, base + 1]) {
    const wire = new Wire(t, port).send('demo-source\r\n');
    await until(() => wire.got !== '', 5000);
    t.equal(wire.got, OK2);
    const audio = audioOf(random, 200);
    const more = setInterval(() => wire.send(audioOf(random, 4)), 100);
    wire.send('icy-name:Radio\r\nicy-br:128\r\n\r\n').send(audio);
    t.ok(await hears(base, '/studio.mp3', audio.subarray(417 * 190, 417 * 195)), `heard from port ${port}`);
    t.equal(wire.got, OK2, 'nothing else is said');
    const title = await ask(t, port, `GET /admin.cgi?mode=updinfo&pass=demo-source&song=A+-+B${port} HTTP/1.0`);
    t.equal(title.status, 200);
    t.match((await ask(t, base, 'GET /metadata/channel/studio.json HTTP/1.1')).json(), {
      artist: 'A',
      song: `B${port}`,
    });
    clearInterval(more);
    wire.socket.end();
    await closed(wire);
  }
  t.equal((await ask(t, base + 1, 'GET /metadata/channel/studio.json HTTP/1.1')).status, 404, 'encoders only');
  const put = new Wire(t, base + 1).send(`PUT /studio HTTP/1.1\r\n${GOOD}Expect: 100-continue\r\n\r\n`);
  await until(() => put.got !== '', 5000);
  t.equal(status(put.got), 100, 'of every kind');
});

t.test('which port it is, and that it is taken', async (t) => {
  const base = await freePort();
  const yaml = (extra: string) => demoYaml('', base).replace(`port: ${base}`, `port: ${base}${extra}`);
  const ports = async (t: Test, text: string) => (await startServer(t, text)).app.shoutcastPorts;
  await t.test('false', async (t) => t.same(await ports(t, yaml(', shoutcastPort: false')), [undefined]));
  await t.test('no encoders', async (t) => t.same(await ports(t, yaml(', roles: [stream, poll]')), [undefined]));
  await t.test('another address has it', async (t) => {
    const two = `addresses: [{ host: 127.0.0.1, port: ${base} }, { host: 127.0.0.1, port: ${base + 1}, roles: [ops] }]`;
    t.same(await ports(t, yaml('').replace(/addresses: .*/, two)), [undefined, undefined]);
  });
  await t.test('any free one', async (t) => {
    const [port] = await ports(t, demoYaml().replace('port: 0', 'port: 0, shoutcastPort: 0'));
    const wire = new Wire(t, port!).send('wrong\n');
    await closed(wire);
    t.equal(wire.got, 'invalid password\r\n');
  });
  await t.test('none beside a port that is not fixed', async (t) => t.same(await ports(t, demoYaml()), [undefined]));
  const other = net.createServer();
  await new Promise<void>((done) => other.listen(base + 1, '127.0.0.1', done));
  t.teardown(() => other.close());
  await t.rejects(startServer(t, yaml('')), /EADDRINUSE.*SHOUTcast encoders: set another shoutcastPort, or false/);
  const free = net.createServer();
  await new Promise<void>((done) => free.listen(base, '127.0.0.1', done));
  await new Promise((done) => free.close(done));
  t.pass('nothing is left running');
});

t.test('a password that channels share names none of them: the log says why', async (t) => {
  const lines: Record<string, unknown>[] = [];
  const log = { ...openLog('silent', 0).log, warn: (fields: Record<string, unknown>) => void lines.push(fields) };
  const twin = '      twin: { sources: [{ type: encoder, password: demo-source }] }';
  const { port } = await startServer(t, demoYaml(twin), tempFolder(t), log as never);
  const bare = new Wire(t, port).send('demo-source\r\n');
  await closed(bare);
  t.equal(bare.got, 'invalid password\r\n');
  t.match(lines, [
    { reason: 'the channels studio, twin share this password: use /mount:password, or change one of them' },
  ]);
  const named = new Wire(t, port).send('/twin:demo-source\r\n');
  await until(() => named.got === OK2, 5000);
});

t.test('a refusal names the channel that the password has named', async (t) => {
  const lines: Record<string, unknown>[] = [];
  const log = { ...openLog('silent', 0).log, warn: (fields: Record<string, unknown>) => void lines.push(fields) };
  const { port } = await startServer(t, demoYaml(), tempFolder(t), log as never);
  const flac = new Wire(t, port).send(`demo-source\r\ncontent-type:audio/flac\r\n\r\nfLaC${'x'.repeat(28)}`);
  await closed(flac);
  const feeding = new Wire(t, port).send('demo-source\r\n\r\n').send(audioOf(new Random(), 40));
  await until(() => feeding.got === OK2, 5000);
  const isBusy = async () => {
    const second = new Wire(t, port).send('demo-source\r\n');
    await until(() => second.got !== '', 5000);
    second.socket.destroy();
    return second.got !== OK2;
  };
  await until(isBusy, 5000);
  const wrong = new Wire(t, port).send('wrong\r\n');
  await closed(wrong);
  const refused = lines.filter(({ status }) => status !== undefined);
  t.match(refused, [
    { status: 415, channel: 'studio' },
    { status: 409, channel: 'studio' },
    { status: 401, channel: undefined },
  ]);
});

t.test('a body in chunks or of a length is heard, and its end is an end', async (t) => {
  const { port } = await startServer(t, demoYaml());
  const random = new Random();
  const put = (headers: string) => `PUT /studio HTTP/1.1\r\n${GOOD}Content-Type: audio/mpeg\r\n${headers}\r\n`;
  /** Of each body some frames that lie in a whole segment: what comes behind the last of them waits for more. */
  const inside = (audio: Buffer) => audio.subarray(417 * 100, 417 * 105);
  const chunks = (audio: Buffer) => {
    const parts: Buffer[] = [];
    for (let from = 0; from < audio.length; ) {
      const part = audio.subarray(from, from + random.int(1, 5000));
      from += part.length;
      parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
    }
    return Buffer.concat(parts);
  };
  const CHUNKED = 'Transfer-Encoding: chunked\r\n';
  const EXPECT = 'Expect: 100-continue\r\n';

  const [first, second, third] = [audioOf(random, 200), audioOf(random, 200), audioOf(random, 200)];
  const chunked = new Wire(t, port, { halfOpen: true }).send(put(CHUNKED + EXPECT)).send(chunks(first));
  t.ok(await hears(port, '/studio', inside(first)), 'chunks');
  chunked.send('0\r\n\r\n');
  await untilPromised(() => chunked.ended, ENDS_MS);
  t.match(chunked.got, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\nContent-Length: 0\r\n/);
  const isGone = () => !accepted(port).some(({ remotePort }) => remotePort === chunked.socket.localPort);
  await untilPromised(isGone, ENDS_MS, () => 'an encoder that has finished and does not close is held');

  const sized = new Wire(t, port).send(put(`Content-Length: ${second.length}\r\n`)).send(second.subarray(0, -1));
  t.ok(await hears(port, '/studio', inside(second)), 'a length');
  sized.send(second.subarray(-1));
  await closed(sized);
  t.equal(sized.got.match(/HTTP/g)?.length, 1, 'one answer: it had its 200');

  const broken = new Wire(t, port).send(put(CHUNKED)).send(chunks(third));
  t.ok(await hears(port, '/studio', inside(third)), 'chunks that break');
  broken.send('no chunk');
  await broken.untilClosed();
  const next = new Wire(t, port).send(put(''));
  await until(() => next.got !== '', 5000);
  t.equal(status(next.got), 200, 'the mount is free');
});
