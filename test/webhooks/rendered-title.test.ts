/** What each service gets of a title, and what it does not: markup, mentions, more than it takes. */

import { createSecretKey } from 'node:crypto';
import t from 'tap';
import { type TitleWebhookConfig, titleWebhookSchema } from '../../src/config/title-webhooks-config.js';
import { renderTitle } from '../../src/webhooks/rendered-title.js';
import { viewOf } from '../kit/record.js';

const ENV = { TOKEN: 'a token of theirs', KEY: 'secret&key=1', SIGNING: 'a key that is as long as it has to be' };
const URL = 'https://hooks.example/x';
const configOf = (fields: object): TitleWebhookConfig => titleWebhookSchema(ENV).parse(fields);
const SONG = viewOf('Señor *Ünd* @all', { artist: 'A & B', album: 'C/D', etype: 1001, durationSeconds: 90 });

function message(fields: object, view = SONG) {
  const rendered = renderTitle(view, configOf(fields), Date.UTC(2026, 0, 31, 12));
  if (rendered === null) throw new Error('it says nothing');
  return rendered.message;
}

t.test('json: a message of Standard Webhooks with the channel record', async (t) => {
  const { method, headers, body, key } = message({ url: URL, secret: 'env:SIGNING' });
  t.equal(method, 'POST');
  t.strictSame(headers, { 'Content-Type': 'application/json' });
  t.strictSame(JSON.parse(body as string), {
    type: 'title.now',
    timestamp: '2026-01-31T12:00:00.000Z',
    data: JSON.parse(SONG.json),
  });
  t.ok(key?.equals(createSecretKey(Buffer.from(ENV.SIGNING))));
  t.equal(JSON.parse(message({ url: URL }, viewOf('x', { type: 'next' })).body as string).type, 'title.next');
});

t.test('the id is the same for one title, and another for its correction', async (t) => {
  const id = (view = SONG) => message({ url: URL }, view).id;
  t.equal(id(), id());
  t.match(id(), /^title_[\w-]{22}$/);
  t.not(id(), id(viewOf('Señor *Ünd* @all', { artist: 'A & B', cover: 'https://x.example/1.jpg' })));
});

t.test('discord: markup of a title is text, that of the template is not; nobody is mentioned', async (t) => {
  const { body, key } = message({ url: URL, format: 'discord', text: '**{song}** by {artist}' });
  t.strictSame(JSON.parse(body as string), {
    content: '**Señor \\*Ünd\\* @all** by A & B',
    allowed_mentions: { parse: [] },
  });
  t.equal(key, null);
  const long = message({ url: URL, format: 'discord' }, viewOf('x'.repeat(2001)));
  t.equal(JSON.parse(long.body as string).content.length, 2000);
  t.equal(
    JSON.parse(message({ url: URL, format: 'discord' }, viewOf('x'.repeat(2000))).body as string).content.length,
    2000,
  );
});

t.test('mastodon: a post with its token, sent twice it is one', async (t) => {
  const sent = message({ url: URL, format: 'mastodon', token: 'env:TOKEN', text: 'Now: {title}' });
  t.strictSame(JSON.parse(sent.body as string), { status: 'Now: A & B - Señor *Ünd* @\u200ball' });
  t.match(sent.headers, { Authorization: `Bearer ${ENV.TOKEN}`, 'Idempotency-Key': sent.id });
  const config = { url: URL, format: 'mastodon', token: 'env:TOKEN' };
  for (const [characters, most] of [
    [500, 500],
    [501, 500],
  ] as const) {
    const { body } = message(config, viewOf('é'.repeat(characters)));
    t.equal(JSON.parse(body as string).status.length, most);
  }
});

t.test('TuneIn AIR and Radio.de: what plays, or that it is an advert', async (t) => {
  const tunein = { format: 'tunein', parameters: { partnerId: 'p', partnerKey: 'env:KEY', id: 's1' } };
  const { method, url, headers } = message(tunein);
  t.equal(method, 'GET');
  t.strictSame(headers, {});
  t.equal(
    url,
    'https://air.radiotime.com/Playing.ashx?partnerId=p&partnerKey=secret%26key%3D1&id=s1' +
      '&title=Se%C3%B1or+*%C3%9Cnd*+%40all&artist=A+%26+B&album=C%2FD',
  );
  const advert = viewOf('Soap', { etype: 103 });
  t.match(message(tunein, advert).url, /id=s1&commercial=true$/);
  const radiode = { format: 'radiode', parameters: { broadcast: 'wave', apikey: 'env:KEY' } };
  t.match(message(radiode).url, /^https:\/\/api\.radio\.de\/\S+\?broadcast=wave&apikey=secret%26key%3D1&title=Se/);
  t.match(message(radiode, advert).url, /apikey=secret%26key%3D1&commercial=true$/);
  t.match(message({ ...tunein, url: 'http://127.0.0.1:1/air' }).url, /^http:\/\/127\.0\.0\.1:1\/air\?partnerId=p&/);
  t.match(message(tunein, viewOf('', { artist: 'Only one' })).url, /&title=Only\+one$/, 'one part alone is the title');
});

t.test('rds: 64 characters of RadioText behind the command, in Latin-1', async (t) => {
  const line = (fields: object, view = SONG) =>
    (message({ url: 'tcp://127.0.0.1:1', format: 'rds', ...fields }, view).body as Buffer).toString('latin1');
  t.equal(line({}), 'RT=A & B - Señor *Ünd* @all\r\n');
  t.equal(line({}, viewOf('x'.repeat(64))), `RT=${'x'.repeat(64)}\r\n`);
  t.equal(line({}, viewOf('x'.repeat(65))), `RT=${'x'.repeat(64)}\r\n`);
  t.equal(line({ text: 'TEXT={song}' }, viewOf('Дождь')), "TEXT=Dozhd'\r\n");
  t.equal(line({ text: '{artist}: {song}' }), 'A & B: Señor *Ünd* @all\r\n');
  t.equal(line({}, viewOf('')), 'RT=\r\n', 'it is cleared between songs');
});

t.test('custom: each place is written as its surroundings want it', async (t) => {
  const view = viewOf('a"b\\c&d e', { artist: 'Ä' });
  const json = message({ url: `${URL}/{channelkey}?t={song}`, format: 'custom', body: '{"t": "{song}"}' }, view);
  t.equal(json.url, `${URL}/demo?t=a%22b%5Cc%26d%20e`);
  t.strictSame(JSON.parse(json.body as string), { t: 'a"b\\c&d e' });
  const type = 'application/x-www-form-urlencoded';
  const form = message({ url: URL, format: 'custom', contentType: type, body: 'a={artist}&s={song}' }, view);
  t.strictSame(
    [...new URLSearchParams(form.body as string)],
    [
      ['a', 'Ä'],
      ['s', 'a"b\\c&d e'],
    ],
  );
  t.equal(form.headers['Content-Type'], type);
  t.equal(
    message({ url: URL, format: 'custom', contentType: 'text/plain', body: '{title}' }, view).body,
    'Ä - a"b\\c&d e',
  );
  const parameters = { k: 'env:KEY', by: '{artist} & co' };
  const asked = message({ url: URL, format: 'custom', method: 'GET', parameters, token: 'env:TOKEN' }, view);
  t.match(asked, {
    method: 'GET',
    url: `${URL}?k=secret%26key%3D1&by=%C3%84+%26+co`,
    headers: { Authorization: `Bearer ${ENV.TOKEN}` },
  });
});

t.test('custom: no title is markup, or a step of a path', async (t) => {
  const view = viewOf('</t><x a="\'">&', { artist: '..' });
  for (const contentType of ['text/xml', 'application/rss+xml; charset=utf-8', 'text/html']) {
    const { body } = message({ url: URL, format: 'custom', contentType, body: '<t>{song}</t>' }, view);
    t.equal(body, '<t>&#60;/t&#62;&#60;x a=&#34;&#39;&#34;&#62;&#38;</t>', contentType);
  }
  const url = 'https://wave.example/now/{artist}/{song}?a={artist}';
  for (const artist of ['.', '..']) {
    const asked = message({ url, format: 'custom', parameters: { k: 'v' } }, viewOf(artist, { artist }));
    t.equal(asked.url, `https://wave.example/now/${artist}%20/${artist}%20?a=${artist}&k=v`);
  }
  t.match(message({ url, format: 'custom' }, viewOf('...', { artist: '../x' })).url, '/now/..%2Fx/...?a=');
});

t.test('between songs services get nothing', async (t) => {
  const config = configOf({ url: URL, format: 'discord' });
  t.equal(renderTitle(viewOf(''), config, 0), null);
  t.ok(renderTitle(viewOf(''), configOf({ url: URL }), 0));
});

t.test('a chat gets no empty message, which it would refuse again and again', async (t) => {
  for (const format of ['discord', 'mastodon']) {
    const to = (text: string) =>
      configOf({ url: URL, format, text, ...(format === 'mastodon' && { token: 'env:TOKEN' }) });
    t.equal(renderTitle(viewOf('No album'), to('{album} {isrc}'), 0), null, format);
    t.ok(renderTitle(SONG, to('{album} {isrc}'), 0), format);
    t.ok(renderTitle(viewOf('No album'), to('on {album}'), 0), format);
  }
});
