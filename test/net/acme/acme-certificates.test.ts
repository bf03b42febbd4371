/** The certificates of a configuration, over a reload. */

import { existsSync, mkdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { AcmeConfig } from '../../../src/config/addresses/tls.js';
import type { LoadedConfig } from '../../../src/config/load.js';
import { AcmeCertificates } from '../../../src/net/acme/acme-certificates.js';
import { FakeClock } from '../../kit/clock.js';
import { FakeAuthority } from '../../kit/fake-authority.js';
import { keepLines } from '../../kit/log-lines.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until } from '../../kit/until.js';

t.test('what could not be ordered is ordered again as soon as a reload changes what it is ordered with', async (t) => {
  const authority = await FakeAuthority.open(t);
  authority.answers.account = (response) =>
    response
      .writeHead(403, { 'Content-Type': 'application/problem+json' })
      .end(JSON.stringify({ type: 'urn:ietf:params:acme:error:invalidContact', detail: 'not this e-mail' }));
  const addresses = (email: string) => {
    const acme: AcmeConfig = { domains: ['a.test'], directoryUrl: authority.directory, email };
    return [{ host: '127.0.0.1', port: 0, tls: { acme } }];
  };
  const config = { addresses: addresses('office@bad.example'), data: { folder: tempFolder(t) } };
  const former = join(config.data.folder, 'acme', 'former.test-0123456789ab');
  mkdirSync(former, { recursive: true });
  utimesSync(former, 1, 1);
  const clock = new FakeClock(1_000_000, Date.now());
  const certificates = new AcmeCertificates({
    config: config as unknown as LoadedConfig,
    clock,
    log: keepLines().log,
    turnOf: () => null,
    onGone: () => undefined,
  });
  t.teardown(() => certificates.close());
  const failed = () => [...certificates.all.values()][0]!.counts.failed;
  const look = async () => {
    clock.spend(3000);
    certificates.look(clock.now());
    await until(() => ![...certificates.all.values()].some(({ isBusy }) => isBusy), 10_000);
  };
  certificates.follow();
  await look();
  t.equal(failed(), 1);
  await look();
  certificates.follow();
  await look();
  t.equal(failed(), 1, 'it waits, also over a reload that changes nothing of it');
  config.addresses = addresses('office@good.example');
  certificates.follow();
  await look();
  t.equal(failed(), 2);
  await until(
    () => !existsSync(former),
    10_000,
    () => 'what is left of another certificate is there',
  );
});
