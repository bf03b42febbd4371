/** The soak's listeners, encoders and bad requests find what is wrong: each against a server that does it, and one that does not. */

import { type AddressInfo, createServer, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { ask } from '../../../bench/soak/bad-requests.js';
import { Encoder } from '../../../bench/soak/encoder.js';
import { Listener } from '../../../bench/soak/listener.js';
import { Listeners } from '../../../bench/soak/listeners.js';
import { patient, until } from '../../kit/until.js';

const PATIENCE_MS = 20_000;
const HEAD = 'HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\nicy-metaint: 768\r\n\r\n';

/** Two frames, and an empty block. */
function segment(): Buffer {
  const frame = Buffer.alloc(384);
  frame.set([0xff, 0xfb, 0x94]);
  return Buffer.concat([frame, frame, Buffer.of(0)]);
}

async function serve(t: Test, onRequest: (socket: Socket, head: string) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', (head: Buffer) => onRequest(socket, head.toString('latin1')));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

t.test('a listener: whole audio, audio that does not join, an end, a refusal', async (t) => {
  const listen = async (onRequest: (socket: Socket) => void) => {
    const port = await serve(t, onRequest);
    const listener = new Listener({ port, path: '/x', isIcy: true, from: '127.7.0.1' });
    t.teardown(() => listener.close());
    return listener;
  };
  const whole = await listen((socket) => socket.write(Buffer.concat([Buffer.from(HEAD), segment(), segment()])));
  await until(() => whole.reader.audioBytes === 1536, PATIENCE_MS);
  t.same([whole.fault, whole.ending], [undefined, undefined]);
  t.equal(whole.sentMs, 96);

  const torn = await listen((socket) => {
    const bad = segment();
    bad[0] = 0;
    socket.write(Buffer.concat([Buffer.from(HEAD), segment(), segment(), bad, segment()]));
  });
  await until(() => torn.fault !== undefined, PATIENCE_MS);
  t.match(torn.fault, /frames do not join/);

  const ended = await listen((socket) => socket.end(Buffer.concat([Buffer.from(HEAD), segment()])));
  await until(() => ended.ending !== undefined, PATIENCE_MS);
  t.same([ended.fault, ended.ending], [undefined, 'closed by the server']);

  const refused = await listen((socket) => socket.end('HTTP/1.1 503 Service Unavailable\r\n\r\n'));
  await until(() => refused.fault !== undefined, PATIENCE_MS);
  t.equal(refused.fault, 'status 503');
});

t.test('a paused listener reads nothing until it resumes', async (t) => {
  let socket: Socket | undefined;
  const port = await serve(t, (one) => {
    socket = one;
    one.write(Buffer.concat([Buffer.from(HEAD), segment()]));
  });
  const listener = new Listener({ port, path: '/x', isIcy: true, from: '127.7.0.1' });
  t.teardown(() => listener.close());
  await until(() => listener.reader.audioBytes === 768, PATIENCE_MS);
  listener.pause();
  for (let i = 0; i < 20_000; i++) socket!.write(segment());
  await until(() => socket!.writableLength > 0, PATIENCE_MS);
  t.equal(listener.reader.audioBytes, 768);
  listener.resume();
  await until(() => listener.reader.audioBytes === 20_001 * 768, PATIENCE_MS);
  t.equal(listener.fault, undefined);
});

t.test('listeners that stay: one that gets nothing, one that is cut', { timeout: patient(60_000) }, async (t) => {
  const sockets: Socket[] = [];
  const port = await serve(t, (socket) => {
    sockets.push(socket);
    socket.write(Buffer.concat([Buffer.from(HEAD), segment()]));
  });
  const faults: string[] = [];
  const listeners = new Listeners({
    port,
    staying: 3,
    joinsPerSecond: 0,
    channels: ['a', 'b'],
    onFault: (text) => faults.push(text),
  });
  t.teardown(() => listeners.stop());
  listeners.start();
  await until(() => listeners.bytes === 3 * (HEAD.length + 769), PATIENCE_MS);
  listeners.look();
  t.same(faults, []);
  const more = listeners.bytes;
  sockets[0]!.write(segment());
  sockets[1]!.write(segment());
  await until(() => listeners.bytes > more + 769, PATIENCE_MS);
  listeners.look();
  t.equal(faults.length, 1);
  t.match(faults[0], /^listener \d of \/[ab] gets nothing$/);
  sockets[2]!.destroy();
  await until(() => {
    faults.length = 0;
    listeners.look();
    return faults.some((fault) => fault.endsWith('closed by the server'));
  }, PATIENCE_MS);
});

t.test('an encoder sends at its rate, leaves and comes again; a refusal and an end are faults', async (t) => {
  const faults: string[] = [];
  const heads: string[] = [];
  let received = 0;
  const plan = { channel: 'a', password: 'secret', staySeconds: 1, onFault: (text: string) => faults.push(text) };
  const sound = { bytes: Buffer.alloc(100, 'x'), bytesPerSecond: 1000, contentType: 'audio/mpeg' };
  const port = await serve(t, (socket, head) => {
    heads.push(head);
    socket.write('HTTP/1.0 200 OK\r\n\r\n');
    socket.on('data', (bytes: Buffer) => {
      received += bytes.length;
    });
  });
  const encoder = new Encoder({ ...plan, port, sound });
  t.teardown(() => encoder.stop());
  await until(() => encoder.connections === 3, PATIENCE_MS);
  t.ok(received >= 1000 && received <= 2500, `${received} bytes in two connections of a second`);
  t.match(heads[0], /^PUT \/a HTTP[\s\S]*Basic c291cmNlOnNlY3JldA==/);
  t.same(faults, []);
  encoder.stop();

  const refused = new Encoder({
    ...plan,
    port: await serve(t, (socket) => socket.end('HTTP/1.0 401 No\r\n\r\n')),
    sound,
  });
  t.teardown(() => refused.stop());
  await until(() => faults.length > 0, PATIENCE_MS);
  t.equal(faults[0], 'encoder of a: HTTP/1.0 401 No');
  refused.stop();
  faults.length = 0;

  const cut = new Encoder({
    ...plan,
    staySeconds: 60,
    sound,
    port: await serve(t, (socket) => {
      socket.write('HTTP/1.0 200 OK\r\n\r\n');
      socket.once('data', () => socket.end());
    }),
  });
  t.teardown(() => cut.stop());
  await until(() => faults.length > 0, PATIENCE_MS);
  t.match(faults[0], /^encoder of a: /);
});

t.test('a bad request that is let through, and one that is refused', async (t) => {
  const ok = await serve(t, (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'));
  t.match(await ask(ok, 0), /"GET \/nothing-here.*: answered, "HTTP\/1.1 200 OK"/);
  t.match(await ask(ok, 5), /TLS.*closed/);
  const strict = await serve(t, (socket) => socket.end('HTTP/1.1 404 Not Found\r\n\r\n'));
  t.equal(await ask(strict, 0), null);
  const shut = await serve(t, (socket) => socket.destroy());
  t.equal(await ask(shut, 5), null);
});
