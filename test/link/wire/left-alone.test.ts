/** A peer that sent a bad message is left alone for a time that grows, and no longer. */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import t from 'tap';
import { LeftAlone, machineOf } from '../../../src/link/wire/left-alone.js';
import { BadMessage, LinkConnection, LinkSilent } from '../../../src/link/wire/link-connection.js';
import { greeting } from '../../../src/link/wire/link-version.js';
import { FakeClock } from '../../kit/clock.js';
import { framed } from '../../kit/lies.js';
import { asStream, linkPipe } from '../../kit/link-pipe.js';

t.test('the time doubles up to five minutes, and begins anew after five good ones', async (t) => {
  const clock = new FakeClock();
  const alone = new LeftAlone(clock);
  const lie = () => alone.note(new BadMessage('machine b', 'x'));
  t.equal(alone.leftMs('machine b'), 0);
  for (const seconds of [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]) {
    lie();
    t.equal(alone.leftMs('machine b'), seconds * 1000);
    t.equal(alone.has('machine c'), false, 'nobody else');
    clock.advance(seconds * 1000 - 1);
    t.ok(alone.has('machine b'));
    clock.advance(1);
    t.notOk(alone.has('machine b'));
  }
  clock.advance(299_999);
  lie();
  t.equal(alone.leftMs('machine b'), 300_000, 'a millisecond too soon');
  clock.advance(600_000);
  lie();
  t.equal(alone.leftMs('machine b'), 1000);
});

t.test('a peer that is silent or gone is not left alone; of a thousand and one the first is forgotten', async (t) => {
  const alone = new LeftAlone(new FakeClock());
  alone.note(new LinkSilent('machine b', 'it says nothing'));
  alone.note(new Error('machine b'));
  t.notOk(alone.has('machine b'));
  for (let i = 0; i <= 1000; i++) alone.note(new BadMessage(`machine ${i}`, 'x'));
  t.notOk(alone.has('machine 0'));
  t.ok(alone.has('machine 1'));
  t.ok(alone.has('machine 1000'));
});

t.test('a machine that uses the name of another one is left alone, and the other is not', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const alone = new LeftAlone(new FakeClock());
  const came: Socket[] = [];
  for (const localAddress of ['127.0.0.1', '127.0.0.2']) {
    const { port } = server.address() as AddressInfo;
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    t.teardown(() => socket.destroy());
    came.push(...((await once(server, 'connection')) as Socket[]));
  }
  const [honest, liar] = came as [Socket, Socket];
  alone.note(new BadMessage(machineOf('b', liar), 'x'));
  t.ok(alone.has(machineOf('b', liar)));
  t.notOk(alone.has(machineOf('b', honest)));
  server.close();
});

t.test('the error of a link names the peer and the message', async (t) => {
  const pipe = linkPipe();
  const errors: unknown[] = [];
  const connection = new LinkConnection(asStream(pipe.hub), (error) => errors.push(error), { peer: 'machine b' });
  connection.handle(8, 8, {
    onMessage: () => {
      throw new TypeError('whatever goes wrong while it is read');
    },
    onDrain: () => undefined,
    onClosed: () => undefined,
  });
  pipe.worker.write(greeting());
  pipe.worker.write(framed(8, Buffer.alloc(0)));
  pipe.worker.deliver(Number.POSITIVE_INFINITY);
  const [error] = errors as [BadMessage];
  t.type(error, BadMessage);
  t.equal(error.peer, 'machine b');
  t.equal(error.message, 'machine b: message TAPE: whatever goes wrong while it is read');
  t.ok(connection.isClosed);
});
