/** Pictures and texts of the pages, whose files cannot be read for a moment. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { pageFacts } from '../../../src/app/worker/page-facts.js';
import type { LoadedConfig } from '../../../src/config/load.js';
import { FakeClock } from '../../kit/clock.js';
import { tempFolder } from '../../kit/temp-folder.js';

t.test('what could not be read is there as soon as it can be', async (t) => {
  const folder = tempFolder(t);
  const file = (name: string) => join(folder, name);
  const config = {
    page: { enabled: true, logo: file('all.svg'), languages: { nl: file('nl.json') } },
    streams: { publicUrl: '' },
    order: [{ station: 'house', channels: ['live'] }],
    stations: { house: { name: '', channels: { live: { mounts: [], logo: file('live.png') } } } },
  } as unknown as LoadedConfig;
  const clock = new FakeClock();
  const errors: unknown[] = [];
  const site = pageFacts(config, { statuses: { channels: [] }, clock, onError: (error) => errors.push(error) });
  const found = () => [site.logo?.type, site.channels[0]!.logo?.type, site.languages.texts('nl')?.['play']];
  t.strictSame(found(), [undefined, undefined, undefined]);
  t.ok(site.languages.texts('de'), 'ours are there');
  clock.spend(1000);
  t.strictSame(found(), [undefined, undefined, undefined]);
  t.equal(errors.length, 3, 'each is said once');
  writeFileSync(file('all.svg'), '<svg/>');
  writeFileSync(file('live.png'), 'png');
  writeFileSync(file('nl.json'), '{"play": "Speel"}');
  t.strictSame(found(), [undefined, undefined, undefined], 'not more than once a second');
  clock.spend(1000);
  t.strictSame(found(), ['image/svg+xml', 'image/png', 'Speel']);
  writeFileSync(file('all.svg'), '');
  clock.spend(1000);
  t.equal(site.logo!.body.toString(), '<svg/>', 'what was read stays until a reload');
});
