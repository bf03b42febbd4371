/** A worker's connection to the hub: it is found when it comes, and again when it has gone, and there is never more than one. */

import net, { type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import t, { type Test } from 'tap';
import { HubConnection } from '../../src/processes/hub-connection.js';
import { listen } from '../../src/processes/listen.js';
import { quietFor } from '../kit/pause.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

/** Some attempts later. */
const LATER_MS = 200;

class Hub {
  readonly sockets = new Set<Socket>();
  taken = 0;
  readonly #server: Server;

  constructor(t: Test) {
    this.#server = net.createServer((socket) => {
      this.taken++;
      this.sockets.add(socket.on('error', () => undefined));
      socket.on('close', () => this.sockets.delete(socket)).resume();
    });
    t.teardown(() => this.end());
  }

  async listen(path: string): Promise<this> {
    await listen(this.#server, path);
    return this;
  }

  end(): void {
    this.#server.close();
    for (const socket of this.sockets) socket.destroy();
  }
}

/** A worker's link, of which only the connections count. */
function worker(t: Test, leftAloneMs = () => 0) {
  const open = new Set<Duplex>();
  const connection = new HubConnection({
    connect: (stream, onEnded) => {
      open.add(stream);
      stream
        .on('error', () => undefined)
        .once('close', () => {
          open.delete(stream);
          onEnded();
        });
      stream.resume();
    },
    ready: () => Promise.resolve(),
    get leftAloneMs() {
      return leftAloneMs();
    },
  });
  t.teardown(() => connection.close());
  return { open, connection };
}

const later = () => quietFor(LATER_MS);

t.test('a hub that is being tried is told to be there: one connection', async (t) => {
  const { open, connection } = worker(t);
  const path = join(tempFolder(t), 'link');
  await connection.open(path);
  await later();
  const hub = await new Hub(t).listen(path);
  await connection.open(path);
  await until(() => open.size > 0, 5000);
  await connection.open(path);
  await later();
  t.same([hub.taken, hub.sockets.size, open.size], [1, 1, 1]);

  for (const socket of hub.sockets) socket.destroy();
  await until(() => hub.taken === 2, 5000);
  await later();
  t.same([hub.taken, hub.sockets.size, open.size], [2, 1, 1], 'made again');
});

t.test('another hub, none, and the end', async (t) => {
  const { open, connection } = worker(t);
  const folder = tempFolder(t);
  const hubs = [await new Hub(t).listen(join(folder, '0')), await new Hub(t).listen(join(folder, '1'))] as const;
  for (const path of ['0', '1', '0', '1']) await connection.open(join(folder, path));
  await until(() => hubs[1].sockets.size === 1, 5000);
  await later();
  t.same([hubs[0].sockets.size, hubs[1].sockets.size, open.size], [0, 1, 1], 'the last one that was said');

  connection.giveUp();
  for (const socket of hubs[1].sockets) socket.destroy();
  await later();
  t.equal(open.size, 0);
  await connection.open(join(folder, '1'));
  await until(() => open.size === 1, 5000);

  connection.close();
  await connection.open(join(folder, '0'));
  await later();
  t.same([hubs[0].sockets.size, hubs[1].sockets.size, open.size], [0, 0, 0]);
});

t.test('a hub that sent a bad message is left alone, and another one is not', async (t) => {
  let leftMs = 0;
  const { open, connection } = worker(t, () => leftMs);
  const folder = tempFolder(t);
  const hubs = [await new Hub(t).listen(join(folder, '0')), await new Hub(t).listen(join(folder, '1'))] as const;
  await connection.open(join(folder, '0'));
  await until(() => open.size === 1, 5000);
  leftMs = 600_000;
  for (const socket of hubs[0].sockets) socket.destroy();
  await later();
  t.same([hubs[0].taken, open.size], [1, 0]);
  await connection.open(join(folder, '1'));
  await until(() => open.size === 1, 5000);
  t.same([hubs[0].taken, hubs[1].taken], [1, 1]);
});
