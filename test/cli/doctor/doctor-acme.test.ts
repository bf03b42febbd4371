/** What `airsplice doctor` says of a certificate that the server gets by itself. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { acmeFindings } from '../../../src/cli/doctor/doctor-acme.js';
import { certificateFolder } from '../../../src/config/addresses/tls.js';
import { newKey, thumbprintOf } from '../../../src/net/acme/acme-key.js';
import { ONE } from '../../kit/certificate.js';
import { tempFolder } from '../../kit/temp-folder.js';

t.test('whether a domain leads here', async (t) => {
  const folder = tempFolder(t);
  const acme = { domains: ['localhost'], directoryUrl: 'http://x.test/dir' };
  const key = newKey();
  const answers = { status: 404, by: thumbprintOf(key) };
  const server = createServer(({ url }, response) => {
    response.writeHead(answers.status).end(`${url!.split('/').at(-1)}.${answers.by}`);
  });
  await new Promise<void>((done) => server.listen(0, 'localhost', done));
  const { port } = server.address() as AddressInfo;
  const found = async () => {
    const all = await acmeFindings(acme, folder, '', new AbortController().signal, port);
    return all.map(({ verdict, text }) => `${verdict} ${text}`.replaceAll(`${port}`, 'PORT'));
  };
  const none = 'note no certificate for localhost yet';
  t.same(await found(), [
    none,
    'bad http://localhost:PORT answers a challenge with 404: the authority cannot verify the domain',
  ]);
  answers.status = 200;
  const good = 'good http://localhost:PORT reaches this server: the authority can verify the domain';
  t.same(await found(), [none, good]);
  const kept = certificateFolder(acme, folder);
  mkdirSync(kept, { recursive: true });
  writeFileSync(join(kept, 'account.pem'), key);
  t.same(await found(), [none, good]);
  answers.by = thumbprintOf(newKey());
  t.same(await found(), [none, 'bad http://localhost:PORT is answered by another airsplice server']);
  writeFileSync(join(kept, 'certificate.pem'), `${ONE.cert}${ONE.key}`);
  t.match((await found())[0], /^(good|bad) .*certificate\.pem/);
  await new Promise((done) => {
    server.close(done);
    server.closeAllConnections();
  });
  t.match((await found()).at(-1), /^bad the authority may be unable to reach localhost: .*cannot be reached/);
});
