/** Local sockets: at the path that was asked for, or not at all. */

import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import net from 'node:net';
import { dirname, join } from 'node:path';
import t from 'tap';
import { listen } from '../../src/processes/listen.js';
import { tempFolder } from '../kit/temp-folder.js';

t.test('a path as long as a socket can have, and a longer one', async (t) => {
  const folder = tempFolder(t);
  const most = process.platform === 'linux' ? 107 : 103;
  const path = join(folder, 'a'.repeat(most - Buffer.byteLength(`${folder}/b.sock/`)), 'b.sock');
  mkdirSync(dirname(path));
  const server = net.createServer();
  t.teardown(() => server.close());
  await listen(server, path);
  t.ok(existsSync(path));
  await t.rejects(listen(net.createServer(), `${path}s`), /too long/);
  t.same(readdirSync(dirname(path)), ['b.sock']);
});
