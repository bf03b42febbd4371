import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Countries } from '../../src/statistics/countries.js';
import { mmdb } from '../kit/mmdb.js';
import { tempFolder } from '../kit/temp-folder.js';

t.test("countries by a file in MaxMind's format, which may be replaced", async (t) => {
  const folder = tempFolder(t);
  const file = join(folder, 'country.mmdb');
  writeFileSync(
    file,
    mmdb({
      '192.0.2.0/24': { country: { iso_code: 'DE' } },
      '198.51.100.0/25': { registered_country: { iso_code: 'ch' } },
      '203.0.113.7/32': { country: 'FR' },
      '2001:db8::/32': { country_code: 'IS' },
      '10.0.0.0/8': { country: { iso_code: '=1' } },
    }),
  );
  const errors: Error[] = [];
  let path = '';
  const countries = new Countries(
    () => path,
    (error) => errors.push(error),
  );
  await countries.refresh();
  t.equal(countries.of('192.0.2.1'), 'unknown', 'without a file');
  path = file;
  await countries.refresh();
  const found = (...addresses: string[]) => addresses.map((address) => countries.of(address));
  t.same(found('192.0.2.0', '192.0.2.255', '192.0.3.0', '::ffff:192.0.2.9'), ['DE', 'DE', 'unknown', 'DE']);
  t.same(found('198.51.100.1', '198.51.100.200', '203.0.113.7', '2001:db8::1'), ['CH', 'unknown', 'FR', 'IS']);
  t.same(found('10.1.2.3', '', 'x', '::1', '127.0.0.1'), Array(5).fill('unknown'));

  writeFileSync(file, 'no such file');
  await countries.refresh();
  await countries.refresh();
  t.equal(errors.length, 1, 'said once');
  t.match(errors[0]!.message, /countryFile cannot be read/);
  t.equal(countries.of('192.0.2.1'), 'DE', 'the last one stays in use');
  writeFileSync(`${file}.new`, mmdb({ '192.0.2.0/24': { country: { iso_code: 'AT' } } }));
  renameSync(`${file}.new`, file);
  await countries.refresh();
  t.equal(countries.of('192.0.2.1'), 'AT');
  rmSync(file);
  await countries.refresh();
  t.equal(errors.length, 2);
  path = '';
  await countries.refresh();
  t.equal(countries.of('192.0.2.1'), 'unknown');
});
