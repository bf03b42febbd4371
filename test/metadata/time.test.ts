/** Moments without an offset, read in a zone: whatever a clock there shows is read as a moment at which it showed that. */

import fc from 'fast-check';
import t from 'tap';
import { inZone, localTime, parsePushTime, parseRfc3339, utcTime } from '../../src/metadata/time.js';

const ZONES = ['Europe/Zurich', 'America/St_Johns', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'Pacific/Apia', 'UTC'];

/** `2026-11-20T13:37:28`: what a clock shows in a zone. */
function shown(unixSeconds: number, zone: string): string {
  const [date, time] = localTime(unixSeconds, zone).split(' ');
  return `${date!.split('.').reverse().join('-')}T${time}`;
}

t.test('every moment of these years, in every zone', async (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_000_000_000 }), fc.constantFrom(...ZONES), (unixSeconds, zone) => {
      const text = shown(unixSeconds, zone);
      const read = parsePushTime(inZone(text, zone))!;
      if (shown(read, zone) !== text) throw new Error(`${text} in ${zone} is ${utcTime(read)}`);
      // The earlier of two that look alike.
      if (read > unixSeconds) throw new Error(`${utcTime(unixSeconds)} in ${zone} is ${utcTime(read)}`);
    }),
    { numRuns: 2000 },
  );
  t.pass('each moment');
});

t.test('where a clock is set', async (t) => {
  const table: readonly [string, string, string][] = [
    ['2026-03-29T01:59:59', 'Europe/Zurich', '2026-03-29T00:59:59Z'],
    ['2026-03-29T02:30:00', 'Europe/Zurich', '2026-03-29T01:30:00Z'],
    ['2026-03-29T03:00:00', 'Europe/Zurich', '2026-03-29T01:00:00Z'],
    ['2026-10-25 02:30:00', 'Europe/Zurich', '2026-10-25T00:30:00Z'],
    ['2026-10-25 03:00:00', 'Europe/Zurich', '2026-10-25T02:00:00Z'],
    ['2011-12-29T23:59:59', 'Pacific/Apia', '2011-12-30T09:59:59Z'],
    ['2011-12-31T00:00:00', 'Pacific/Apia', '2011-12-30T10:00:00Z'],
  ];
  for (const [text, zone, utc] of table) t.equal(utcTime(parsePushTime(inZone(text, zone))!), utc, `${text} ${zone}`);
});

t.test('what is none, or has an offset, stays as it is', async (t) => {
  for (const text of ['', 'x', '2026-11-20T12:37:28Z', '2026-11-20T12:37:28+01', '1795178248', '2026-02-30T00:00:00']) {
    t.equal(inZone(text, 'Europe/Zurich'), text);
  }
  t.equal(parseRfc3339('2026-11-20T12:37:28'), null, 'not of a push: an offset has to be there');
});

t.test('however a moment is written', async (t) => {
  const ms = fc.integer({ min: -62_167_219_200_000, max: 253_402_300_799_999 });
  fc.assert(
    fc.property(ms, fc.constantFrom('T', 't', ' '), fc.constantFrom('.', ','), (unixMs, between, point) => {
      const iso = new Date(unixMs).toISOString();
      const [date, time] = iso.slice(0, -1).split('T') as [string, string];
      for (const offset of ['', 'Z', 'z', '+00:00', '+0000', '-00', ' +0000']) {
        const text = `${date}${between}${time.replace('.', point)}${offset}`;
        if (parsePushTime(text) !== unixMs / 1000) throw new Error(`${text}: ${parsePushTime(text)}`);
      }
      if (/^\d{13}$/.test(String(unixMs)) && parsePushTime(String(unixMs)) !== unixMs / 1000)
        throw new Error(`${unixMs}`);
    }),
  );
  t.pass('each moment');
});
