/** What becomes of the files of certificates that are configured no more. */

import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { pairOf } from '../../../src/net/acme/acme-files.js';
import { KEPT_MS, removeFormer } from '../../../src/net/acme/former-files.js';
import { PEM } from '../../kit/certificate.js';
import { tempFolder } from '../../kit/temp-folder.js';

const PAIR = readFileSync(`${PEM}one.cert.pem`, 'utf8') + readFileSync(`${PEM}one.key.pem`, 'utf8');
const { endsMs } = pairOf(PAIR)!;
const WRITTEN_MS = endsMs - KEPT_MS;

function folderWith(t: Test, certificates: Readonly<Record<string, readonly string[]>>): string {
  const parent = join(tempFolder(t), 'acme');
  for (const [name, files] of Object.entries(certificates)) {
    const folder = join(parent, name);
    mkdirSync(folder, { recursive: true });
    for (const file of files) {
      writeFileSync(join(folder, file), file === 'certificate.pem' ? PAIR : 'x');
      utimesSync(join(folder, file), WRITTEN_MS / 1000, WRITTEN_MS / 1000);
    }
    utimesSync(folder, WRITTEN_MS / 1000, WRITTEN_MS / 1000);
  }
  return parent;
}

const [OLD, OTHER] = ['a.test-0123456789ab', 'b.test-0123456789ab'];
const ALL = ['account.pem', 'certificate.pem', 'orders.json', 'orders.json.damaged', 'account.pem.new'];

t.test('they go once the certificate has expired, and nothing was written for long', async (t) => {
  const parent = folderWith(t, { [OLD]: ALL, [OTHER]: ['account.pem', 'orders.json'] });
  const configured = new Map();
  t.same(await removeFormer(parent, configured, endsMs - 1), [], 'it serves where domains have changed');
  t.same(await removeFormer(parent, configured, endsMs), [OLD, OTHER]);
  t.same(readdirSync(parent), []);
  t.same(await removeFormer(parent, configured, endsMs), []);
});

t.test('what is configured stays, and what was written lately', async (t) => {
  const parent = folderWith(t, { [OLD]: ALL, [OTHER]: ALL });
  utimesSync(join(parent, OTHER, 'orders.json'), endsMs / 1000, endsMs / 1000);
  t.same(await removeFormer(parent, new Map([[OLD, null]]), endsMs + 1), []);
  t.same(await removeFormer(parent, new Map([[OLD, null]]), endsMs + KEPT_MS), [OTHER]);
  t.same(readdirSync(join(parent, OLD)).sort(), [...ALL].sort());
});

t.test('nothing that is not of a certificate', async (t) => {
  const parent = folderWith(t, { backup: ALL, [OLD]: [...ALL, 'notes.txt'] });
  writeFileSync(join(parent, 'a.test-00000000000f'), '');
  t.same(await removeFormer(parent, new Map(), endsMs + KEPT_MS), []);
  t.same(readdirSync(join(parent, 'backup')).sort(), [...ALL].sort());
  t.same(readdirSync(join(parent, OLD)), ['notes.txt']);
  t.same(await removeFormer(join(parent, 'none'), new Map(), endsMs), []);
});
