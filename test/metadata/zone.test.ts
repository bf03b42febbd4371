/** Time zones as pushes name them, and the moments that they make of a time without an offset. */

import t from 'tap';
import { inZone, parsePushTime, utcTime } from '../../src/metadata/time.js';
import { WINDOWS_ZONES } from '../../src/metadata/windows-zones.js';
import { readZone } from '../../src/metadata/zone.js';

t.test('IANA names, offsets, and what Windows calls its zones', async (t) => {
  const table: readonly [string, string][] = [
    ['Europe/Berlin', '11:00'],
    ['europe/berlin', '11:00'],
    ['UTC', '12:00'],
    ['Z', '12:00'],
    ['GMT', '12:00'],
    ['EST', '17:00'],
    ['Etc/GMT+5', '17:00'],
    ['-05:00', '17:00'],
    ['\u221205:00', '17:00'],
    ['+0100', '11:00'],
    ['+01', '11:00'],
    ['+5:30', '06:30'],
    ['UTC+1', '11:00'],
    ['utc +1', '11:00'],
    ['GMT-3', '15:00'],
    ['UTC-02', '14:00'],
    ['+14:00', '22:00'],
    ['W. Europe Standard Time', '11:00'],
    ['w. europe daylight time', '11:00'],
    ['Eastern Standard Time', '17:00'],
    ['Eastern Standard Time (Mexico)', '17:00'],
    ['Russia Time Zone 11', '00:00'],
  ];
  for (const [name, hours] of table) {
    const zone = readZone(name);
    const read = zone === null ? null : utcTime(parsePushTime(inZone('2026-01-15T12:00:00', zone))!).slice(11, 16);
    t.equal(read, hours, name);
  }
  for (const zone of WINDOWS_ZONES.values()) t.equal(readZone(zone), zone);
});

t.test('what is none', async (t) => {
  const names = ['', 'nowhere', '5', '+14:01', '+15', '-24:00', '+1:60', 'UTC+', 'CST', 'BST', 'PST', 'IST', 'CEST'];
  // Node knows some of them, each for one of the places that use them.
  for (const name of [...names, 'W. Europe', '(UTC+01:00) Bern', 'Europe/Zürich', '__proto__', 'x'.repeat(10_000)])
    t.equal(readZone(name), null, name.slice(0, 20));
});
