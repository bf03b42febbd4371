/** What the server answers to an authority of certificates, by host and token, and nothing else. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { certificateFolder } from '../../../src/config/addresses/tls.js';
import { AcmeAnswers } from '../../../src/net/acme/acme-answers.js';
import { newKey, thumbprintOf } from '../../../src/net/acme/acme-key.js';
import { FakeClock } from '../../kit/clock.js';
import { tempFolder } from '../../kit/temp-folder.js';

const TOKEN = 'evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA';
const of = (...domains: string[]) => ({ domains, directoryUrl: 'http://x.test/dir' });

t.test('by the host that it asks', async (t) => {
  const [folder, clock] = [tempFolder(t), new FakeClock()];
  const address = { host: '127.0.0.1', port: 443 };
  const all = [of('a.test', 'b.test'), of('c.test')];
  const config = { data: { folder }, addresses: all.map((acme) => ({ ...address, tls: { acme } })) };
  const answers = new AcmeAnswers(config, clock);
  t.equal(await answers.answer('a.test', TOKEN), null, 'there is no account yet');
  clock.advance(1000);
  const keys = all.map((acme) => {
    const key = newKey();
    const kept = certificateFolder(acme, folder);
    mkdirSync(kept, { recursive: true });
    writeFileSync(join(kept, 'account.pem'), key);
    return key;
  });
  const [one, two] = keys.map((key) => `${TOKEN}.${thumbprintOf(key)}`);
  for (const host of ['a.test', 'A.TEST', 'b.test:80', 'a.test.', 'b.test.:8080']) {
    t.equal(await answers.answer(host, TOKEN), one, host);
  }
  t.equal(await answers.answer('c.test', TOKEN), two);
  for (const host of [undefined, '', 'd.test', 'x.a.test', 'a.test.evil']) {
    t.equal(await answers.answer(host, TOKEN), null, `${host}`);
  }
  for (const token of [
    '',
    'x'.repeat(15),
    'x'.repeat(257),
    `${TOKEN}.x`,
    `../${TOKEN}`,
    `${TOKEN}\n`,
    '<script>alert()</script>',
  ]) {
    t.equal(await answers.answer('a.test', token), null, token);
  }
  for (const token of ['x'.repeat(16), 'x'.repeat(256)]) t.ok(await answers.answer('a.test', token));
  // Behind a proxy that asks by a name of its own, where there is no doubt.
  config.addresses.pop();
  t.equal(await answers.answer('upstream', TOKEN), one);
  config.addresses.pop();
  t.equal(await answers.answer('a.test', TOKEN), null);
});
