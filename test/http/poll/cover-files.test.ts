/** Pictures of covers: clients that do not read theirs hold so many bytes, and no more; half of one is not served. */

import { randomBytes } from 'node:crypto';
import { existsSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as immediately } from 'node:timers/promises';
import t from 'tap';
import { MAX_PICTURE_BYTES } from '../../../src/covers/cover-folder.js';
import { DEMO_AUDIO, startServer } from '../../kit/server.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until } from '../../kit/until.js';
import { Wire } from '../../kit/wire.js';

/** Of the largest, as many as one address may leave unread: 16 MiB, each counted twice. */
const UNREAD = 4;

const yaml = (folder: string) => `
addresses: [{ host: 127.0.0.1, port: 0 }]
proxies: { trusted: [127.0.0.1] }
streams: { publicUrl: 'http://radio.example' }
stations: { house: { channels: { a: { covers: { folder: '${folder}' }, sources: [{ type: file, path: ${DEMO_AUDIO} }] } } } }
`;

t.test('past the limit of an address 503, until one is read or gone', async (t) => {
  const folder = tempFolder(t);
  const names = Array.from({ length: UNREAD + 1 }, (_, i) => `${i}.jpg`);
  for (const name of names) writeFileSync(join(folder, name), randomBytes(MAX_PICTURE_BYTES));
  const { port } = await startServer(t, yaml(folder));
  const get = async (name: string, from: string) => {
    const headers = { 'X-Forwarded-For': from, Connection: 'close' };
    const answer = await fetch(`http://127.0.0.1:${port}/metadata/channel/a/cover/${name}`, { headers });
    await answer.arrayBuffer();
    return answer.status;
  };
  const wires: Wire[] = [];
  for (const name of names.slice(0, UNREAD)) {
    const wire = new Wire(t, port);
    wires.push(wire);
    // More than the kernel's buffers take.
    wire.send(
      `GET /metadata/channel/a/cover/${name} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n`.repeat(12),
    );
    wire.socket.pause();
  }
  await until(async () => (await get(names[UNREAD]!, '192.0.2.1')) === 503, 5000);
  t.equal(await get(names[0]!, '192.0.2.1'), 200, 'one that is under way is shared');
  t.equal(await get(names[UNREAD]!, '192.0.2.2'), 200, 'other addresses');
  wires[0]!.socket.destroy();
  await until(async () => (await get(names[UNREAD]!, '192.0.2.1')) === 200, 5000);
});

/** The kernel says that it has 4096 bytes; it has fewer, as a file that is being written. */
const SHORTER = '/sys/devices/system/cpu/online';

t.test('one that is being written is neither served nor kept', { skip: !existsSync(SHORTER) }, async (t) => {
  const folder = tempFolder(t);
  const { base } = await startServer(t, yaml(folder));
  const url = `${base}/metadata/channel/a/cover/x.png`;
  symlinkSync(SHORTER, join(folder, 'x.png'));
  const answer = await fetch(url);
  t.match([answer.status, answer.headers.get('retry-after')], [503, '1']);
  rmSync(join(folder, 'x.png'));
  writeFileSync(join(folder, 'x.png'), 'whole');
  t.equal(await (await fetch(url)).text(), 'whole');
});

t.test('one that goes while it is read is not there', async (t) => {
  const folder = tempFolder(t);
  const { base } = await startServer(t, yaml(folder));
  const path = join(folder, 'x.png');
  const seen = new Set<number>();
  for (let round = 0; round < 300; round += 1) {
    writeFileSync(path, `${round}`);
    const asked = fetch(`${base}/metadata/channel/a/cover/x.png`);
    for (let turns = round % 60; turns > 0; turns -= 1) await immediately();
    rmSync(path);
    const answer = await asked;
    await answer.arrayBuffer();
    seen.add(answer.status);
  }
  t.strictSame([...seen].sort(), [200, 404]);
});
