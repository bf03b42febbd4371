/** The push contract as tables: what was sent → what was meant, or the refusal with the exact names of the bad fields. */

import t, { type Test } from 'tap';
import { Refusal, type RefusalKind } from '../../src/base/refusal.js';
import { MAX_PUSH } from '../../src/config/push-limits.js';
import { type PushInput, parsePushBody, parsePushQuery, withoutEntities } from '../../src/metadata/push-input.js';
import { check, pushSchema } from '../../src/metadata/record-schema.js';
import { costRatio } from '../kit/cost.js';
import { PUSH_LIMITS as LIMITS } from '../kit/limits.js';

const EMPTY = { type: 'now', artist: '', song: '' } as const;
type No = readonly [RefusalKind, ...string[]];

const query = (raw: string) => parsePushQuery(raw, LIMITS).input;
const body = (json: string | Buffer) => parsePushBody(Buffer.from(json as string), LIMITS).input;
/** A body with the mandatory members and these. */
const post = (members: string) => body(`{"song":"s","artist":"a","duration":9${members === '' ? '' : `,${members}`}}`);

function refusalOf(push: () => unknown): Refusal {
  try {
    push();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('was accepted');
}

function refused(t: Test, name: string, push: () => unknown, [kind, ...fields]: No): void {
  const refusal = refusalOf(push);
  t.equal(refusal.kind, kind, `${name}: ${refusal.message}`);
  t.strictSame(refusal.errors.map(({ field }) => field).sort(), [...fields].sort(), name);
  for (const { message } of refusal.errors) t.match(message, /^(must|is|song and)/, `${name}: a sentence for a person`);
}

t.test(
  'entities are decoded where the text is short enough to be passed on then, at the limit and past it',
  async (t) => {
    // Nine bytes, which NFC makes three characters of four bytes.
    const note = '&#x1D160;';
    const fits = Math.floor(MAX_PUSH.textBytes / 12);
    for (const [count, isDecoded] of [
      [1, true],
      [fits, true],
      [fits + 1, false],
      [Math.floor(MAX_PUSH.textBytes / 9), false],
    ] as const) {
      const sent = note.repeat(count);
      const read = withoutEntities({ ...EMPTY, song: sent, artist: 'R&amp;B' });
      t.equal(read.song !== sent, isDecoded, `${count}`);
      t.equal(read.artist, 'R&B');
      t.equal(check(pushSchema, read).bad, null);
    }
  },
);

t.test('GET: accepted', async (t) => {
  const table: readonly [string, Partial<PushInput>][] = [
    ['', {}],
    ['&&', {}],
    ['song=Song&artist=Artist', { song: 'Song', artist: 'Artist' }],
    ['song=a+b%2Bc%20d', { song: 'a b+c d' }],
    ['encoding=windows&song=a+b%2Bc', { song: 'a b+c' }],
    ['song=1&song=2&song=3', { song: '3' }],
    ['song=%zz&song=ok', { song: 'ok' }],
    ['song=a=b', { song: 'a=b' }],
    ['s%6Fng=x', { song: 'x' }],
    ['song', { song: '' }],
    ['song=s&other=1&cover=http://x/&extdata={}&toString=1&__proto__=2&constructor', { song: 's' }],
    ['song=&other=%E4', {}],
    ['song=%zz', { song: '%zz' }],
    ['song=100%25%&artist=%4', { song: '100%%', artist: '%4' }],
    ['song=%+1', { song: '% 1' }],
    ['song=Rock&Roll 100%', { song: 'Rock' }],
    ['%=%&song=s', { song: 's' }],
    ['Song=x&ARTIST=y', { song: 'x', artist: 'y' }],
    ['song=1&Song=2&song=3', { song: '3' }],
    ['title=x', { song: 'x' }],
    ['title=x&song=y', { song: 'y' }],
    ['song=y&title=x', { song: 'y' }],
    ['TITLE=x&encoding=Windows', { song: 'x' }],
    ['title=false&artist=a', { artist: 'a' }],
    ['song=Sigur R%u00f3s %u20AC%uD83C%uDFB5', { song: 'Sigur Rós €🎵' }],
    ['song=R%F3s %u0416&encoding=windows', { song: 'Rós Ж' }],
    ['song=%u12 %uzzzz%ud83c', { song: '%u12 %uzzzz\ufffd' }],
    ['song=false', {}],
    ['song=false&artist=A', { artist: 'A' }],
    ['artist=false&song=S', { song: 'S' }],
    ['song=False&artist=FALSE', { song: 'False', artist: 'FALSE' }],
    ['separator=+/+', { separator: ' / ' }],
    ['seperator=+/+', { separator: ' / ' }],
    ['separator=&seperator=*', { separator: '*' }],
    ['separator=', {}],
    ['separator=%00', {}],
    ['duration=180', { durationSeconds: 180 }],
    ['duration=180.97', { durationSeconds: 180 }],
    ['duration=0', { durationSeconds: 0 }],
    ['duration=null', { durationSeconds: 0 }],
    ['duration=', { durationSeconds: 0 }],
    ['duration=180,97', { durationSeconds: 180 }],
    ['duration=3:23', { durationSeconds: 203 }],
    ['duration=3:23.9', { durationSeconds: 203 }],
    ['duration=00:03:23', { durationSeconds: 203 }],
    ['duration=90:15', { durationSeconds: 5415 }],
    ['duration=25:00:00,5', { durationSeconds: 90000 }],
    ['duration=9007199254740991', { durationSeconds: 9007199254740991 }],
    ['time=1795178248', { timeSeconds: 1795178248 }],
    ['time=0', { timeSeconds: 0 }],
    ['time=-1', { timeSeconds: -1 }],
    ['time=253402300799', { timeSeconds: 253402300799 }],
    ['time=1795178248.5', { timeSeconds: 1795178248.5 }],
    ['time=1795178248.0625', { timeSeconds: 1795178248.062 }],
    ['time=1795178248000', { timeSeconds: 1795178248 }],
    ['time=1795178248123', { timeSeconds: 1795178248.123 }],
    ['time=8640000000001', { timeSeconds: 8640000000.001 }],
    ['time=2026-11-20T12:37:28', { timeSeconds: 1795178248 }],
    ['time=2026-11-20+12:37:28,25', { timeSeconds: 1795178248.25 }],
    ['time=2026-11-20T13:37:28+0100', { timeSeconds: 1795178248 }],
    ['time=2026-11-20T13:37:28%2B0100', { timeSeconds: 1795178248 }],
    ['time=2026-11-20+13:37:28+%2B01', { timeSeconds: 1795178248 }],
    ['time=2026-11-20T13:37:28&timezone=Europe/Berlin', { timeSeconds: 1795178248, timezone: 'Europe/Berlin' }],
    ['timezone=America/St_Johns&time=2026-11-20+09:07:28', { timeSeconds: 1795178248, timezone: 'America/St_Johns' }],
    ['time=2026-11-20T12:37:28Z&timezone=Europe/Berlin', { timeSeconds: 1795178248, timezone: 'Europe/Berlin' }],
    ['time=2026-11-20T17:37:28&timezone=%2B05:00', { timeSeconds: 1795178248, timezone: '+05:00' }],
    ['time=2026-11-20T17:37:28&timezone=+05:00', { timeSeconds: 1795178248, timezone: '+05:00' }],
    ['timezone=UTC+1&time=2026-11-20T13:37:28', { timeSeconds: 1795178248, timezone: 'UTC+1' }],
    ['timezone=Etc/GMT+1&time=2026-11-20T11:37:28', { timeSeconds: 1795178248, timezone: 'Etc/GMT+1' }],
    ['timezone=GMT-3&time=2026-11-20T09:37:28', { timeSeconds: 1795178248, timezone: 'GMT-3' }],
    [
      'timezone=+W.+Europe+Standard+Time&time=2026-11-20T13:37:28',
      { timeSeconds: 1795178248, timezone: 'W. Europe Standard Time' },
    ],
    ['time=2026-11-20T12:37:28Z', { timeSeconds: 1795178248 }],
    ['time=2026-11-20T13:37:28%2B01:00', { timeSeconds: 1795178248 }],
    ['time=2026-11-20T13:37:28+01:00', { timeSeconds: 1795178248 }],
    ['time=2026-11-20+13:37:28+01', { timeSeconds: 1795178248 }],
    ['time=2026-11-20T13:37:28.5+0100', { timeSeconds: 1795178248.5 }],
    ['time=2026-11-20+07:07:28.999-05:30', { timeSeconds: 1795178248.999 }],
    ['time=2026-11-20t12:37:28z', { timeSeconds: 1795178248 }],
    ['time=2016-12-31T23:59:60Z', { timeSeconds: 1483228800 }],
    ['time=0099-03-01T00:00:00Z', { timeSeconds: Date.parse('0099-03-01T00:00:00Z') / 1000 }],
    ['time=2024-02-29T00:00:00Z', { timeSeconds: 1709164800 }],
    ['time=9999-12-31T23:59:59Z', { timeSeconds: 253402300799 }],
    ['time=', {}],
    ['tracktype=next', { type: 'next' }],
    ['tracktype=now', {}],
    ['tracktype=NOW', {}],
    ['tracktype=Next', { type: 'next' }],
    ['strict=0', {}],
    ['tracktype=', {}],
    ['etype=1008', { etype: 1008 }],
    ['etype=0', { etype: 0 }],
    ['etype=', {}],
    ['id=x1', { id: 'x1' }],
    ['id=', {}],
    ['id=%01%7F', {}],
    ['isrc=DEA123', { isrc: 'DEA123' }],
    ['isrc=', {}],
    ['encoding=utf8&song=%C3%A4', { song: 'ä' }],
    ['encoding=&song=%C3%A4', { song: 'ä' }],
    ['encoding=UTF-8&song=%C3%A4', { song: 'ä' }],
    ...['Windows', 'windows-1252', 'WINDOWS-1252', 'latin1', 'ISO-8859-1'].map(
      (encoding): [string, Partial<PushInput>] => [`song=%E4&encoding=${encoding}`, { song: 'ä' }],
    ),
    ['song=a%CC%88', { song: 'ä' }],
    ['song=a%00b%1Fc%7Fd%C2%80e%C2%9Ff', { song: 'abcdef' }],
    ['song=%F0%9F%8E%B5%D7%A9', { song: '🎵ש' }],
    ['song=\u00c3\u00a4', { song: 'ä' }], // bytes that were not percent-encoded, as Node's parser hands them over
    ['encoding=windows&song=\u00e4', { song: 'ä' }],
    [
      'encoding=windows&song=%93Caf%E9%94&artist=%80&separator=+%96+&id=%C3%A4',
      { song: '“Café”', artist: '€', separator: ' – ', id: 'ä' },
    ],
    ['seperator=%B7&encoding=windows', { separator: '·' }],
  ];
  for (const [raw, expected] of table) t.strictSame(query(raw), { ...EMPTY, ...expected }, raw);
});

t.test('GET: refused', async (t) => {
  const table: readonly [string, ...No][] = [
    ['song=false&artist=false', 'invalid', 'song', 'artist'],
    ['song=%E4', 'bad-request', 'song'],
    ['song=%C0%80', 'bad-request', 'song'],
    ['song=%ED%A0%BD', 'bad-request', 'song'],
    ['encoding=windows&id=%E4', 'bad-request', 'id'],
    ['encoding=klingon&strict=1', 'invalid', 'encoding'],
    ['encoding=hex&strict=1', 'invalid', 'encoding'],
    ['encoding=klingon&song=%E4', 'bad-request', 'song'],
    ['timezone=nowhere&strict=1', 'invalid', 'timezone'],
    [`timezone=${'x'.repeat(65)}`, 'too-large', 'timezone'],
    ['song=%t&artist=%a', 'invalid', 'song', 'artist'],
    ['song=$title$', 'invalid', 'song'],
    ['song=%a - %t&artist=false', 'invalid', 'song'],
    ['song=x&id=%id%&strict=1', 'invalid', 'id'],
    ['other=1', 'invalid', 'other'],
    ['sond=x&Artits=y&duration=9', 'invalid', 'sond', 'artits'],
    ['strict=yes', 'invalid', 'strict'],
    ['strict=1&duration=-1', 'invalid', 'duration'],
    ['strict=1&duration=1e3', 'invalid', 'duration'],
    ['strict=1&duration=0x10', 'invalid', 'duration'],
    ['strict=1&duration=9007199254740992', 'invalid', 'duration'],
    ['strict=1&duration=3:60', 'invalid', 'duration'],
    ['strict=1&duration=1:60:00', 'invalid', 'duration'],
    ['strict=1&duration=3:2:', 'invalid', 'duration'],
    ['strict=1&duration=:20', 'invalid', 'duration'],
    ['strict=1&duration=3:203', 'invalid', 'duration'],
    ['strict=1&duration=1:2:3:4', 'invalid', 'duration'],
    ['strict=1&time=999999999999999', 'invalid', 'time'],
    ['strict=1&time=2026-11-20T12:37:28+1', 'invalid', 'time'],
    ['strict=1&time=253402300800', 'invalid', 'time'],
    ['strict=1&time=yesterday', 'invalid', 'time'],
    ['strict=1&time=2026-11-20', 'invalid', 'time'],
    ['strict=1&time=2026-11-20T24:00:00Z', 'invalid', 'time'],
    ['strict=1&time=2026-11-20T12:60:00Z', 'invalid', 'time'],
    ['strict=1&time=2026-11-20T12:00:61Z', 'invalid', 'time'],
    ['strict=1&time=2026-11-20T12:00:00-24:00', 'invalid', 'time'],
    ['strict=1&time=2026-11-20T12:00:00-01:60', 'invalid', 'time'],
    ['strict=1&time=2026-13-20T12:00:00Z', 'invalid', 'time'],
    ['strict=1&time=2026-00-20T12:00:00Z', 'invalid', 'time'],
    ['strict=1&time=2026-11-31T12:00:00Z', 'invalid', 'time'],
    ['strict=1&time=2026-11-00T12:00:00Z', 'invalid', 'time'],
    ['strict=1&time=2025-02-29T00:00:00Z', 'invalid', 'time'],
    ['strict=1&time=9999-12-31T23:59:59-00:01', 'invalid', 'time'],
    ['strict=1&time=0000-01-01T00:00:00%2B00:01', 'invalid', 'time'],
    ['tracktype=later', 'invalid', 'tracktype'],
    ['etype=1', 'invalid', 'etype'],
    ['etype=1009', 'invalid', 'etype'],
    ['etype=music', 'invalid', 'etype'],
    ['etype=-101', 'invalid', 'etype'],
    [`song=${'x'.repeat(5000)}`, 'too-large', 'song'],
    // Longer than a call has arguments.
    [`song=${'%u0041'.repeat(200_000)}`, 'too-large', 'song'],
    [`song=${'x'.repeat(5000)}&etype=7&duration=x&strict=1`, 'too-large', 'song', 'etype', 'duration'],
    [`song=${'x'.repeat(5000)}&artist=%E4&time=x&strict=1`, 'bad-request', 'song', 'artist', 'time'],
    [
      'song=false&artist=false&tracktype=x&time=x&etype=x&strict=1',
      'invalid',
      'song',
      'artist',
      'tracktype',
      'time',
      'etype',
    ],
  ];
  for (const [raw, ...no] of table) refused(t, raw.slice(0, 80), () => query(raw), no);
  t.match(refusalOf(() => query('song=%E4')).errors[0]?.message, /encoding=windows/);
  t.match(
    refusalOf(() => query('etype=7')).errors[0]?.message,
    /0 \(unknown\), 101 \(Jingles\).*105 \(Article\), 1001 \(Music 1\).*1008 \(Music 8\)/,
    'the ids are listed',
  );
});

t.test('GET: what was not taken is named; a title is not lost with its time or duration', async (t) => {
  const table: readonly [string, Partial<PushInput>, readonly string[]][] = [
    ['song=s&x=1&Y=2&x=3', { song: 's' }, ['x', 'y']],
    ['song=s&time=yesterday', { song: 's' }, ['time']],
    ['duration=183s&song=s&time=2026-02-30T00:00:00Z&z', { song: 's' }, ['z', 'time', 'duration']],
    ['duration=x', {}, ['duration']],
    ['song=s&strict=1&x=1', { song: 's' }, ['x']],
    [`song=s&${'n'.repeat(100)}=1&a%0D%0Ab=2`, { song: 's' }, ['n'.repeat(64), 'a b']],
    ['song=s&timezone=nowhere&time=2026-11-20T12:37:28', { song: 's', timeSeconds: 1795178248 }, ['timezone']],
    ['song=s&encoding=klingon', { song: 's' }, ['encoding']],
    ['song=s&artist=%a&id=%id%', { song: 's' }, ['artist', 'id']],
    ['artist=A&song=$title$&etype={etype}', { artist: 'A' }, ['song', 'etype']],
    ['title={{title}}&artist=A', { artist: 'A' }, ['song']],
    ['song=100% Love&artist=$$$', { song: '100% Love', artist: '$$$' }, []],
    ['song=s&time=&duration=&time=1795178248', { song: 's', timeSeconds: 1795178248, durationSeconds: 0 }, []],
  ];
  for (const [raw, input, ignored] of table) {
    t.strictSame(parsePushQuery(raw, LIMITS), { input: { ...EMPTY, ...input }, ignored }, raw);
  }
});

t.test('any charset by its name, of song, artist and separator', async (t) => {
  const table: readonly [string, Partial<PushInput>][] = [
    ['encoding=windows-1251&song=%CA%E8%ED%EE&artist=\u00ca', { song: 'Кино', artist: 'К' }],
    ['encoding=Shift_JIS&song=%83e%83X&artist=%83', { song: 'テス' }],
    ['encoding=koi8-r&song=%EB%C9%CE%CF&separator=+%9E+', { song: 'Кино', separator: ' · ' }],
    ['encoding=gbk&song=%C4%E3%BA%C3', { song: '你好' }],
    ['encoding=windows-1251&song=%u041A%u0438+%CA&id=%D0%9A', { song: 'Ки К', id: 'К' }],
  ];
  for (const [raw, expected] of table) t.strictSame(query(raw), { ...EMPTY, ...expected }, raw);
});

t.test('windows encoding: every byte from 0x80 to 0xFF', async (t) => {
  const high = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ'; // 0x80-0x9F; a blank where Windows-1252 has nothing
  for (let byte = 0x80; byte <= 0xff; byte++) {
    const expected = byte < 0xa0 ? high[byte - 0x80]!.trim() : String.fromCharCode(byte);
    const raw = `encoding=windows&song=x%${byte.toString(16)}y`;
    t.equal(query(raw).song, `x${expected}y`, raw);
  }
});

t.test('POST: accepted', async (t) => {
  const needed = { type: 'now', song: 's', artist: 'a', durationSeconds: 9 } as const;
  const table: readonly [string, Partial<PushInput>][] = [
    ['', {}],
    ['"unknown":1,"encoding":"windows","toString":null', {}],
    ['"song":""', { song: '' }],
    ['"song":"","artist":""', { song: '', artist: '' }],
    ['"song":"false","artist":"false"', { song: 'false', artist: 'false' }],
    ['"song":"first","song":"last"', { song: 'last' }],
    ['"duration":0', { durationSeconds: 0 }],
    ['"duration":null', { durationSeconds: 0 }],
    ['"duration":-0', { durationSeconds: 0 }],
    ['"duration":180.9', { durationSeconds: 180 }],
    ['"duration":1.5e2', { durationSeconds: 150 }],
    ['"duration":"180.9"', { durationSeconds: 180 }],
    ['"duration":" 180 "', { durationSeconds: 180 }],
    ['"duration":""', { durationSeconds: 0 }],
    ['"duration":"3:23"', { durationSeconds: 203 }],
    ['"duration":"183,52"', { durationSeconds: 183 }],
    ['"song":null,"artist":null', { song: '', artist: '' }],
    ['"song":" s\\r\\n","artist":"\\ufeffa\\tb\\u00a0","separator":" - "', { artist: 'a b', separator: ' - ' }],
    ['"song":"%t","id":"{{guid}}","isrc":"$isrc$","etype":"%e"', { song: '' }],
    ['"timezone":"nowhere","time":"2026-11-20T12:37:28"', { timeSeconds: 1795178248 }],
    ['"timezone":"-05:00","time":"2026-11-20T07:37:28"', { timeSeconds: 1795178248, timezone: '-05:00' }],
    [
      '"timezone":"Tokyo Standard Time","time":"2026-11-20 21:37:28"',
      { timeSeconds: 1795178248, timezone: 'Tokyo Standard Time' },
    ],
    ['"time":1795178248', { timeSeconds: 1795178248 }],
    ['"time":1795178248.25', { timeSeconds: 1795178248.25 }],
    ['"time":1795178248250', { timeSeconds: 1795178248.25 }],
    ['"time":"1795178248"', { timeSeconds: 1795178248 }],
    ['"time":"2026-11-20 13:37:28+0100"', { timeSeconds: 1795178248 }],
    [
      '"time":"2026-11-20T13:37:28.5","timezone":"Europe/Zurich"',
      { timeSeconds: 1795178248.5, timezone: 'Europe/Zurich' },
    ],
    ['"time":"2026-11-20T12:37:28","timezone":null', { timeSeconds: 1795178248 }],
    ['"images":"","extdata":""', {}],
    [
      '"images":{"small":null,"medium":"","large":{"url":null}}',
      { images: '{"small":null,"medium":"","large":{"url":null}}' },
    ],
    ['"tracktype":"NOW"', {}],
    ['"duration":9007199254740991', { durationSeconds: 9007199254740991 }],
    ['"time":"2026-11-20T13:37:28+01:00"', { timeSeconds: 1795178248 }],
    ['"time":""', {}],
    ['"id":null,"time":null,"tracktype":null,"etype":null,"isrc":null,"separator":null', {}],
    ['"cover":null,"album":null,"timezone":null,"images":null,"extdata":null', {}],
    ['"id":"","separator":"","timezone":"","tracktype":"","etype":""', {}],
    ['"isrc":"","cover":" ","album":"\\t"', {}],
    ['"seperator":"*"', { separator: '*' }],
    ['"tracktype":"next"', { type: 'next' }],
    ['"etype":1001', { etype: 1001 }],
    ['"etype":"103"', { etype: 103 }],
    ['"album":"a\\u0308\\u0000\\n\\u009f"', { album: 'ä' }],
    ['"album":"x\\ud83d"', { album: 'x\ufffd' }],
    ['"album":"\\ud83c\\u0000\\udfb5"', { album: '🎵' }],
    ['"timezone":"Europe/Berlin"', { timezone: 'Europe/Berlin' }],
    ['"images":{}', { images: '{}' }],
    [
      '"images" : { "large" : { "url" : "http://x/ y" , "w" : 1.0 } , "k" : [ 1 , 2 ] }',
      {
        images: '{"large":{"url":"http://x/ y","w":1.0},"k":[1,2]}',
      },
    ],
    ['"extdata":{}', { extdata: '{}' }],
    [
      '"extdata":{\n\t"b" : 12345678901234567890, "a":1.0, "2":-0.0, "1":1E400, "a":[true,null,"x \\" } , : \\\\"] \r}',
      { extdata: '{"b":12345678901234567890,"a":1.0,"2":-0.0,"1":1E400,"a":[true,null,"x \\" } , : \\\\"]}' },
    ],
    ['"extdata":{"v":1},"x":{"extdata":{"v":2}},"\\u0065xtdata":{"v":3.0}', { extdata: '{"v":3.0}' }],
    ['"extdata":{"v":1},"extdata":null', {}],
    ['"extdata":{"__proto__":{"x":"\\ud83d"}}', { extdata: '{"__proto__":{"x":"\\ud83d"}}' }],
  ];
  for (const [members, expected] of table) t.strictSame(post(members), { ...needed, ...expected }, members);
  t.equal(body('\ufeff{"song":"ä","artist":"","duration":1}').song, 'ä', 'a byte order mark');
});

t.test('a cover or an image that is not a web URL is left out and named; the title is taken', async (t) => {
  const table: readonly [members: string, expected: Partial<PushInput>, ignored: readonly string[]][] = [
    ['"cover":"https://x/c.jpg"', { cover: 'https://x/c.jpg' }, []],
    ['"cover":"HTTP://x:8000/a b?c#d"', { cover: 'HTTP://x:8000/a b?c#d' }, []],
    ['"cover":" http://x/ "', { cover: 'http://x/' }, []],
    ['"cover":"javascript:alert(1)"', {}, ['cover']],
    ['"cover":"data:image/png;base64,AAAA"', {}, ['cover']],
    ['"cover":"blob:https://x/1"', {}, ['cover']],
    ['"cover":"//x/c.jpg"', {}, ['cover']],
    ['"cover":"/admin/killsource?mount=/x"', {}, ['cover']],
    ['"cover":"c.jpg"', {}, ['cover']],
    ['"cover":"http:c.jpg"', {}, ['cover']],
    ['"cover":"http:/c.jpg"', {}, ['cover']],
    ['"cover":"http:\\\\\\\\x\\\\c.jpg"', {}, ['cover']],
    ['"cover":"https://"', {}, ['cover']],
    ['"cover":"https:///c.jpg"', {}, ['cover']],
    ['"cover":"https://?x"', {}, ['cover']],
    ['"cover":"https://x:99999/"', {}, ['cover']],
    ['"cover":"ftp://x/c.jpg"', {}, ['cover']],
    [
      '"images":{"small":{"url":"https://x/s"},"large":{"w":1.0,"url":"https://x/l"}}',
      { images: '{"small":{"url":"https://x/s"},"large":{"w":1.0,"url":"https://x/l"}}' },
      [],
    ],
    [
      '"images":{"small":{"url":"javascript:1"},"medium":null,"large":{ "w":1.0,"url":"https://x/l"},"\\u006b":[1, 2]}',
      { images: '{"medium":null,"large":{"w":1.0,"url":"https://x/l"},"k":[1,2]}' },
      ['images.small'],
    ],
    [
      '"cover":"c.jpg","images":{"huge":{"url":"//x"},"small":{"url":"data:,x"}}',
      { images: '{}' },
      ['cover', 'images.huge', 'images.small'],
    ],
  ];
  for (const [members, expected, ignored] of table) {
    const read = parsePushBody(Buffer.from(`{"song":"s","artist":"a","duration":9,${members}}`), LIMITS);
    t.strictSame(read.ignored, ignored, members);
    t.strictSame(read.input, { type: 'now', song: 's', artist: 'a', durationSeconds: 9, ...expected }, members);
  }
});

t.test('POST: refused', async (t) => {
  const table: readonly [string, ...No][] = [
    ['{}', 'invalid', 'song', 'artist', 'duration'],
    ['{"song":1,"artist":{},"duration":true}', 'invalid', 'song', 'artist', 'duration'],
    ['{"song":false,"artist":"a","duration":1}', 'invalid', 'song'],
    ['{"song":"s","artist":"a"}', 'invalid', 'duration'],
    ['[]', 'invalid'],
    ['null', 'invalid'],
    ['"x"', 'invalid'],
    ['', 'bad-request'],
    ['{"song":', 'bad-request'],
    ["{'song':1}", 'bad-request'],
  ];
  for (const [json, ...no] of table) refused(t, json, () => body(json), no);
  const members: readonly [string, ...No][] = [
    ['"duration":"null"', 'invalid', 'duration'],
    ['"duration":"%d"', 'invalid', 'duration'],
    ['"song":"%t","artist":""', 'invalid', 'song'],
    ['"duration":-1', 'invalid', 'duration'],
    ['"duration":-0.5', 'invalid', 'duration'],
    ['"duration":1e400', 'invalid', 'duration'],
    ['"duration":9007199254740992', 'invalid', 'duration'],
    ['"duration":{}', 'invalid', 'duration'],
    ['"duration":"3:60"', 'invalid', 'duration'],
    ['"time":"yesterday"', 'invalid', 'time'],
    ['"time":[1]', 'invalid', 'time'],
    ['"time":1e300', 'invalid', 'time'],
    ['"time":"2026-11-20T13:37:28 01:00"', 'invalid', 'time'],
    [
      '"id":7,"isrc":7,"separator":7,"album":7,"cover":7,"timezone":7',
      'invalid',
      'id',
      'isrc',
      'separator',
      'album',
      'cover',
      'timezone',
    ],
    ['"etype":1,"tracktype":"x"', 'invalid', 'etype', 'tracktype'],
    ['"etype":101.5', 'invalid', 'etype'],
    ['"images":[]', 'invalid', 'images'],
    ['"images":"x"', 'invalid', 'images'],
    [
      '"images":{"small":"http://x","medium":{},"large":{"url":1}}',
      'invalid',
      'images.small',
      'images.medium.url',
      'images.large.url',
    ],
    ['"extdata":[]', 'invalid', 'extdata'],
    ['"extdata":"{}"', 'invalid', 'extdata'],
    [`"song":"${'x'.repeat(5000)}","etype":9`, 'too-large', 'song', 'etype'],
  ];
  for (const [text, ...no] of members) refused(t, text.slice(0, 80), () => post(text), no);
  refused(t, 'not UTF-8', () => body(Buffer.from([0x7b, 0xe4, 0x7d])), ['bad-request']);
  t.match(refusalOf(() => body(Buffer.from([0xe4]))).message, /encoding=windows/);
});

t.test('every limit: accepted at it, refused one past it', async (t) => {
  const nested = (levels: number) => `${'{"x":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`;
  const long = (n: number) => 'x'.repeat(n);
  const extdata = (bytes: number) => `{ "x" : "${'ä'.repeat((bytes - 8) / 2)}${long(bytes % 2)}" }`;
  const table: readonly [string, number, (n: number) => unknown][] = [
    ['song', 1024, (n) => query(`song=${long(n)}`)],
    ['artist', 1024, (n) => query(`artist=${long(n)}`)],
    ['id', 1024, (n) => query(`id=${long(n)}`)],
    ['isrc', 1024, (n) => query(`isrc=${long(n)}`)],
    ['separator', 1024, (n) => query(`separator=${long(n)}`)],
    ['seperator', 1024, (n) => query(`seperator=${long(n)}`)],
    ['song', 1024, (n) => query(`song=%00${'%C3%A4'.repeat(511)}${long(n - 1022)}`)],
    ['song', 1024, (n) => query(`song=a%CC%88${long(n - 2)}`)],
    ['song', 1024, (n) => query(`encoding=windows&song=%80${long(n - 3)}`)],
    ['song', 1024, (n) => query(`song=${'%E1%84%80%E1%85%A1%E1%86%A8'.repeat(340)}${long(n - 1020)}`)],
    ['song', 1024, (n) => post(`"song":"${long(n)}"`)],
    ['artist', 1024, (n) => post(`"artist":"${long(n)}"`)],
    ['id', 1024, (n) => post(`"id":"${long(n)}"`)],
    ['isrc', 1024, (n) => post(`"isrc":"${long(n)}"`)],
    ['separator', 1024, (n) => post(`"separator":"${long(n)}"`)],
    ['album', 1024, (n) => post(`"album":"${long(n)}"`)],
    ['cover', 4096, (n) => post(`"cover":"${long(n)}"`)],
    ['timezone', 64, (n) => post(`"timezone":"${'🎵'.repeat(n)}"`)],
    ['images.small.url', 4096, (n) => post(`"images":{"small":{"url":"${long(n)}"}}`)],
    ['images.large.url', 4096, (n) => post(`"images":{"large":{"url":"ä${long(n - 2)}"}}`)],
    ['images', 32, (n) => post(`"images":${nested(n)}`)],
    ['extdata', 32, (n) => post(`"extdata":${nested(n)}`)],
    ['extdata', 32, (n) => post(`"extdata":{"x":${'['.repeat(n - 1)}${']'.repeat(n - 1)}}`)],
    ['extdata', 16384, (n) => post(`"extdata":${extdata(n)}`)],
  ];
  for (const [field, limit, push] of table) {
    t.doesNotThrow(() => push(limit), `${field} at ${limit}`);
    refused(t, `${field} past ${limit}`, () => push(limit + 1), ['too-large', field]);
  }
});

t.test('parameters of a query: at the limit and one past it, unknown and repeated ones counted', async (t) => {
  const many = (count: number) => `song=s${'&x'.repeat(count - 1)}`;
  t.match(query(many(64)), { song: 's' });
  t.match(query(`${'&'.repeat(1000)}${many(64)}&&&`), { song: 's' }, 'between two & is nothing');
  t.match(
    refusalOf(() => query(many(65))),
    { kind: 'bad-request', message: /64 parameters/ },
  );
});

t.test('a body of combining marks in the worst order is refused as quickly as any other', async (t) => {
  const marks = `a${'\u0344'.repeat(16_000)}${'\u0316'.repeat(16_500)}`;
  const others = `a${'\u00e4'.repeat(32_500)}`;
  for (const field of ['song', 'album', 'cover', 'timezone', 'id']) {
    const refuses = (text: string) => () => refused(t, field, () => post(`"${field}":"${text}"`), ['too-large', field]);
    const ratio = await costRatio(10, refuses(marks), refuses(others));
    t.ok(ratio < 10, `${field}: ${ratio} times as long`);
  }
});

t.test('a deep or long body does not exhaust the parser', async (t) => {
  const levels = 32_000;
  refused(t, 'deep', () => post(`"extdata":{"x":${'['.repeat(levels)}${']'.repeat(levels)}}`), [
    'too-large',
    'extdata',
    'extdata',
  ]);
  t.strictSame(Object.keys(post(`"x":"${'\\"'.repeat(levels)}"`)).length, 4);
});
