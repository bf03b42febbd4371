/** The hub's local socket: each kind comes to its taker with all of its bytes, in any pieces, before that taker is there and after. */

import net, { type Socket } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { greeting } from '../../src/link/wire/link-version.js';
import { connectToHub, HubSocket, type SocketKind } from '../../src/processes/hub-socket.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

const KINDS: readonly SocketKind[] = ['link', 'tapes', 'encoder'];

/** A hub, and what came to it of each kind. */
async function hub(t: Test) {
  const local = new HubSocket();
  const path = join(tempFolder(t), 'hub');
  await local.listen(path);
  const sockets: Socket[] = [];
  const seen = { link: '', tapes: '', encoder: '' };
  const take = (kind: SocketKind) =>
    local.take(kind, (socket) => {
      sockets.push(socket.on('error', () => undefined));
      socket.on('data', (chunk: Buffer) => {
        seen[kind] += chunk.toString('latin1');
      });
    });
  t.teardown(() => {
    local.close();
    for (const socket of sockets) socket.destroy();
  });
  return { local, path, sockets, seen, take };
}

function connected(t: Test, socket: Socket): Socket {
  t.teardown(() => socket.destroy());
  return socket.on('error', () => undefined);
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()).resume());
}

t.test('each kind comes to its taker, with all of its bytes', async (t) => {
  const { path, seen, take } = await hub(t);
  for (const kind of KINDS) take(kind);
  for (const kind of KINDS) {
    const socket = connected(t, connectToHub(path, kind));
    for (const byte of greeting()) await new Promise((resolve) => socket.write(Buffer.of(byte), resolve));
    socket.write(kind);
  }
  const wanted = KINDS.map((kind) => greeting().toString('latin1') + kind);
  await until(() => KINDS.every((kind, i) => seen[kind].length >= wanted[i]!.length), 5000);
  t.strictSame(
    KINDS.map((kind) => seen[kind]),
    wanted,
  );
});

t.test('who comes before its taker is there waits for it; when it is refused it ends', async (t) => {
  const { local, path, seen, take, sockets } = await hub(t);
  const [link, tapes, gone] = [connectToHub(path, 'link'), connectToHub(path, 'tapes'), connectToHub(path, 'link')];
  for (const socket of [link, tapes, gone]) connected(t, socket).write(greeting());
  gone.destroy();
  take('encoder');
  const encoder = connected(t, connectToHub(path, 'encoder'));
  encoder.write('one');
  await until(() => seen.encoder === 'one', 5000);
  t.notOk(link.destroyed || tapes.destroyed);
  take('link');
  await until(() => seen.link === greeting().toString('latin1'), 5000);
  const over = closed(tapes);
  local.take('tapes', null);
  await over;
  await closed(connected(t, connectToHub(path, 'tapes')));
  t.equal(sockets.length, 2);
});

t.test('an encoder may end its sending and still read; a link that ends is over', async (t) => {
  const { path, take, sockets } = await hub(t);
  take('encoder');
  take('link');
  const encoder = connected(t, connectToHub(path, 'encoder'));
  encoder.end('all');
  await until(() => sockets.length === 1 && sockets[0]!.readableEnded, 5000);
  sockets[0]!.write('answer');
  const answer = await new Promise<Buffer>((resolve) => encoder.once('data', resolve));
  t.equal(answer.toString(), 'answer');
  const link = connected(t, connectToHub(path, 'link'));
  const over = closed(link);
  link.end(greeting());
  await over;
});

t.test(
  'one that says nothing, and one that ends at once: neither stays; nor does one that waits when it closes',
  async (t) => {
    const { local, path } = await hub(t);
    const quiet = connected(t, net.connect(path));
    const short = connected(t, net.connect(path));
    const ended = closed(short);
    short.end();
    await ended;
    const waiting = connected(t, connectToHub(path, 'link'));
    await new Promise((resolve) => waiting.write(greeting(), resolve));
    await closed(quiet);
    t.notOk(waiting.destroyed);
    const over = closed(waiting);
    local.close();
    await over;
  },
);
