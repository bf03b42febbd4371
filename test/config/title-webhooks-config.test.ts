/** The options of `webhooks` of a channel: what each format needs, what is for others, templates and ranges at their limits. */

import t from 'tap';
import { titleWebhookSchema } from '../../src/config/title-webhooks-config.js';

const ENV = { TOKEN: 'x', EMPTY: '', TYPED: 'a–b', SIGNING: 'a key that is as long as it has to be' };
const URL = 'https://hooks.example/x';

/** What is wrong, by member. */
function problems(webhook: object): Record<string, string> {
  const { error } = titleWebhookSchema(ENV).safeParse(webhook);
  return Object.fromEntries((error?.issues ?? []).map(({ path, message }) => [path.join('.'), message]));
}

t.test('what each format needs', async (t) => {
  t.strictSame(problems({ url: URL }), {});
  t.strictSame(problems({}), { url: 'is missing' });
  t.match(problems({ format: 'tunein' }), { parameters: 'must have partnerId, partnerKey, id' });
  t.match(problems({ format: 'radiode', parameters: { broadcast: 'x' } }), { parameters: 'must have apikey' });
  t.strictSame(problems({ format: 'radiode', parameters: { broadcast: 'x', apikey: 'env:TOKEN' } }), {});
  t.strictSame(problems({ format: 'mastodon', url: URL }), { token: 'is missing' });
  t.match(problems({ format: 'rds', url: URL }), { url: /tcp:/ });
  t.match(problems({ url: 'tcp://10.0.0.1:4001' }), { url: 'is tcp:// or udp://, which needs format: rds' });
  for (const url of ['tcp://10.0.0.1:4001', 'udp://rds.example:1', 'udp://[::1]:65535']) {
    t.strictSame(problems({ format: 'rds', url }), {}, url);
  }
  for (const url of [
    'tcp://10.0.0.1',
    'tcp://10.0.0.1:70000',
    'tcp://10.0.0.1:0',
    'udp://10.0.0.1:000',
    'tcp://10.0.0.1:1/x',
    'ftp://x.example',
    'tcp://u@h:1',
  ]) {
    t.match(problems({ format: 'rds', url }), { url: /^must be/ }, url);
  }
});

t.test('what is for other formats', async (t) => {
  const others = { secret: 'env:SIGNING', token: 'env:TOKEN', parameters: { a: 'b' }, method: 'GET', body: 'x' };
  for (const [name, value] of Object.entries(others)) {
    t.match(problems({ url: URL, format: 'discord', [name]: value }), { [name]: /^needs format: / }, name);
    t.strictSame(problems({ url: URL, format: 'custom', [name]: value }), {}, name);
  }
  t.match(problems({ url: URL, text: 'x' }), { text: 'needs format: discord or mastodon or rds' });
  t.match(problems({ url: URL, format: 'custom', method: 'GET', body: 'x' }), { body: 'needs method: POST' });
});

t.test('templates have known places only, and none in the host of a URL', async (t) => {
  t.match(problems({ url: URL, format: 'discord', text: '{artists}' }), { text: /^may contain only these/ });
  t.match(problems({ url: URL, format: 'custom', body: '{ "x": "{titel}" }' }), { body: /^may contain only these/ });
  t.strictSame(problems({ url: `${URL}/{station}?{song}`, format: 'custom', body: '{ "x": "{title}" }' }), {});
  t.match(problems({ url: 'https://{station}.example/', format: 'custom' }), {
    url: /^must be .* only in its path and query/,
  });
  t.match(problems({ url: `${URL}/{stations}`, format: 'custom' }), { url: /^may contain only these/ });
  for (const more of [{}, { format: 'discord' }, { format: 'mastodon', token: 'env:TOKEN' }]) {
    t.match(problems({ url: `${URL}/{station}`, ...more }), { url: /for format: custom$/ });
  }
  const keys = { partnerId: 'a', partnerKey: 'b' };
  t.match(problems({ format: 'tunein', parameters: { ...keys, id: '{id}' } }), { parameters: /for format: custom$/ });
  t.strictSame(problems({ url: URL, format: 'custom', parameters: { a: '{id}', b: '{}' } }), {});
  t.match(problems({ url: URL, format: 'custom', parameters: { a: '{ids}' } }), {
    'parameters.a': /^may contain only/,
  });
  t.strictSame(problems({ url: URL, format: 'discord', text: 'x'.repeat(1024) }), {});
  t.match(problems({ url: URL, format: 'discord', text: 'x'.repeat(1025) }), { text: /^must be/ });
  t.strictSame(problems({ url: URL, format: 'custom', body: 'x'.repeat(16_384) }), {});
  t.match(problems({ url: URL, format: 'custom', body: 'x'.repeat(16_385) }), { body: /^must be/ });
});

t.test('what stands in a header is of ASCII', async (t) => {
  const custom = { url: URL, format: 'custom' };
  t.strictSame(problems({ ...custom, token: 'env:TOKEN', contentType: 'x'.repeat(255) }), {});
  t.match(problems({ ...custom, token: 'env:TYPED' }), { token: /^must be env:.* ASCII characters$/ });
  t.match(problems({ ...custom, token: 'env:EMPTY' }), { token: /^must be env:/ });
  for (const contentType of ['', 'x'.repeat(256), 'text/plain; charset=“utf-8”', 'text/plain\n']) {
    t.match(problems({ ...custom, contentType }), { contentType: /^must be/ }, contentType);
  }
});

t.test('content types: ids and ranges', async (t) => {
  const etypes = (...all: unknown[]) => titleWebhookSchema(ENV).safeParse({ url: URL, etypes: all });
  t.strictSame(etypes(103, '1001-1008').data?.etypes, [
    { from: 103, to: 103 },
    { from: 1001, to: 1008 },
  ]);
  for (const bad of [-1, 1009, '1001-1009', '1008-1001', '1001', 'music', '1-2-3'])
    t.notOk(etypes(bad).success, `${bad}`);
  t.ok(etypes(...Array(16).fill(0)).success);
  t.notOk(etypes(...Array(17).fill(0)).success);
});

t.test('parameters: texts, and secrets that are not printed', async (t) => {
  const all = (value: string) =>
    titleWebhookSchema(ENV).safeParse({ format: 'custom', url: URL, parameters: { a: value } });
  const { parameters } = all('env:TOKEN').data!;
  t.notMatch(JSON.stringify(parameters), /x/);
  t.equal(all('plain').data?.parameters?.['a'], 'plain');
  t.ok(all('x'.repeat(1024)).success);
  for (const bad of ['x'.repeat(1025), '', 'env:EMPTY', 'env:MISSING', 'a\nb']) t.notOk(all(bad).success);
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, 'x']));
  t.strictSame(problems({ format: 'custom', url: URL, parameters: many(32) }), {});
  t.match(problems({ format: 'custom', url: URL, parameters: many(33) }), { parameters: /32/ });
});
