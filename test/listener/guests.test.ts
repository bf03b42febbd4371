/** What a listener's line in the access log says, to the character. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Output } from '../../src/base/output.js';
import { SecretMask } from '../../src/base/secret-mask.js';
import { Census } from '../../src/listener/census.js';
import { Guests } from '../../src/listener/guests.js';
import { FakeClock } from '../kit/clock.js';
import { makeRequest } from '../kit/guest.js';
import { tempFolder } from '../kit/server.js';

t.test('the line: time of the ending, bytes and seconds; texts cut at the limit', async (t) => {
  const file = join(tempFolder(t), 'access.log');
  const log = await Output.to(file, { bufferBytes: 10_000, onFailed: (error) => t.fail(String(error)) });
  const clock = new FakeClock();
  const census = new Census(clock, 0);
  const guests = new Guests(census, log, clock, {
    anonymize: false,
    textCharacters: 16,
    secrets: new SecretMask(['metaid']),
  });
  const short = new Guests(census, log, clock, {
    anonymize: true,
    textCharacters: 16,
    secrets: new SecretMask(['metaid']),
  });
  const heads = { 'user-agent': '0123456789abcdef', referer: 'http://x.example' };
  const longer = { 'user-agent': '0123456789abcdefg', referer: 'http://x.example/' };
  const arrivals = [
    guests.arrive('demo', makeRequest({ url: '/demo?metaid=1&t=' }, heads), '1'),
    guests.arrive('demo', makeRequest({ url: '/demo?metaid=1&tu', address: '::ffff:192.0.2.9' }, longer), null),
    short.arrive('demo', makeRequest({ address: '2001:db8:1:2::3' }), null),
    short.arrive('demo', makeRequest({ address: '' }), null),
  ];
  t.equal(census.tally('demo').connections, 4);
  clock.advance(90_000);
  for (const [i, guest] of arrivals.entries()) (i < 2 ? guests : short).leave(guest, 16_000 * i, 89_500 + i);
  await log.close();
  const time = '[20/Nov/2026:12:38:58 +0000]';
  t.same(readFileSync(file, 'latin1').split('\n'), [
    `192.0.2.7 - - ${time} "GET /demo?metaid=-&t HTTP/1.0" 200 0 "http://x.example" "0123456789abcdef" 90`,
    `192.0.2.9 - - ${time} "GET /demo?metaid=-&t HTTP/1.0" 200 16000 "http://x.example" "0123456789abcdef" 90`,
    `2001:db8:1:: - - ${time} "GET /demo.mp3 HTTP/1.0" 200 32000 "-" "-" 90`,
    `- - - ${time} "GET /demo.mp3 HTTP/1.0" 200 48000 "-" "-" 90`,
    '',
  ]);
  t.equal(census.size, 0);
});

t.test('without an access log nothing of a request is kept', async (t) => {
  const clock = new FakeClock();
  const guests = new Guests(new Census(clock, 0), null, clock, {
    anonymize: false,
    textCharacters: 16,
    secrets: new SecretMask(['metaid']),
  });
  const guest = guests.arrive('demo', makeRequest(), null);
  t.equal(guest.entry, null);
  guests.leave(guest, 1, 1);
  t.equal(guests.lostLines, 0);
});
