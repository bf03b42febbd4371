/** What is taken out of text before it goes into a log: secrets in whatever form they stand, and nothing else. */

import t from 'tap';
import { SecretMask } from '../../src/base/secret-mask.js';
import { configSchema } from '../../src/config/schema.js';
import { costRatio } from '../kit/cost.js';
import { Random } from '../kit/random.js';

const NAMES = configSchema({ env: {}, folder: '/' }).parse({}).log.secretNames;
const mask = new SecretMask(NAMES);
const encoded = (text: string, times: number): string =>
  times === 0 ? text : encoded(encodeURIComponent(text), times - 1);

t.test('secrets are taken out of URLs, and nothing else', async (t) => {
  const cases = [
    ['', ''],
    ['/demo.mp3', '/demo.mp3'],
    ['/demo.mp3?', '/demo.mp3?'],
    ['/demo.mp3?app=ios&v=2', '/demo.mp3?app=ios&v=2'],
    ['/demo.mp3?codec=mp3&author=x&side=b&turnkeys=1', '/demo.mp3?codec=mp3&author=x&side=b&turnkeys=1'],
    ['/demo.mp3?metaid=abc&app=ios', '/demo.mp3?metaid=-&app=ios'],
    ['/demo.mp3?sabcsid=abc', '/demo.mp3?sabcsid=-'],
    ['/demo.mp3?app=x&TOKEN=abc&access_token=d;pass=e', '/demo.mp3?app=x&TOKEN=-&access_token=-;pass=-'],
    ['/demo.mp3?m%65taid=abc', '/demo.mp3?m%65taid=-'],
    ['/demo.mp3?metaid=a=b', '/demo.mp3?metaid=-'],
    ['/demo.mp3?metaid=', '/demo.mp3?metaid=-'],
    ['/demo.mp3?x=%zz&%zz=1', '/demo.mp3?x=%zz&%zz=1'],
    ['/demo.mp3?expires=1&signature=abc&key=k', '/demo.mp3?expires=1&signature=-&key=-'],
    ['/demo.mp3?a=1?token=x#token=y', '/demo.mp3?a=1?token=-#token=-'],
    ['https://me:secret@page.example/a?token=t', 'https://-@page.example/a?token=-'],
    ['https://me:se%2Fcr@et@page.example/@home?v=1', 'https://-@page.example/@home?v=1'],
    // An ampersand or a question mark that is part of the value.
    ['/demo.mp3?token=a%26b%23c?d/e&v=1', '/demo.mp3?token=-&v=1'],
    ['/demo.mp3;token=abc?v=1', '/demo.mp3;token=-'],
    ['https://page.example/#access_token=abc&v=1', 'https://page.example/#access_token=-&v=1'],
    ['/a?token[]=x&user[pass]=y&user%5Bpw%5D=z&v[]=1', '/a?token[]=-&user[pass]=-&user%5Bpw%5D=-&v[]=1'],
    ['/a?q={"token":"abc"}&v=1', '/a?q={"token":-&v=1'],
    ['/a?v=1&amp;token=x', '/a?v=1&amp;token=-'],
    [
      '/a?back=https%3A%2F%2Fme:word@x%2F%3Ftoken%3Dabc%26v%3D2&app=ios',
      '/a?back=https%3A%2F%2F-@x%2F%3Ftoken%3D-%26v%3D2&app=ios',
    ],
    ['https://x/metapush/demo/abc?song=x', 'https://x/metapush/demo/-?song=x'],
    ['https://x/metapush/demo/abc/more#y', 'https://x/metapush/demo/-#y'],
    ['https://x//MetaPush//demo//a%2Fb', 'https://x//MetaPush//demo//-'],
    ['https://x/m%65tapush/demo/abc', 'https://x/m%65tapush/demo/-'],
    ['/a?back=/metapush/demo/abc&v=1', '/a?back=/metapush/demo/-&v=1'],
    ['https://x/metapush/demo', 'https://x/metapush/demo'],
    ['https://x/metapush/demo/', 'https://x/metapush/demo/'],
    ['VLC/3.0 (+https://x/?key=abc)', 'VLC/3.0 (+https://x/?key=-'],
  ];
  for (const [url, line] of cases) t.equal(mask.mask(url!), line);
});

t.test('by whatever name, and however often it is encoded', async (t) => {
  const names = [
    ...['api_key', 'apikey', 'api-key', 'apiKey', 'pw', 'pwd', 'password', 'pass', 'jwt', 'token', 'access_token'],
    ...['secret', 'client_secret', 'sig', 'signature', 'auth', 'key', 'hash', 'session', 'sid', 'code', 'credential'],
    ...['X-Amz-Signature', 'X-Amz-Credential', 'AWSAccessKeyId', 'metaid', 'sabcsid', 'jsessionid', 'SessionToken'],
  ];
  for (const name of names) {
    const spelt = name.replace(/^./, (first) => `%${first.charCodeAt(0).toString(16)}`);
    for (let times = 0; times <= 3; times++) {
      const url = `/a?back=${encoded(`https://x/?v=1&${name}=top&w=2`, times)}&app=ios`;
      t.equal(mask.mask(url), url.replace('top', '-'), url);
      if (times < 3) t.equal(mask.mask(`/a?${encoded(spelt, times)}=top&v=1`), `/a?${encoded(spelt, times)}=-&v=1`);
    }
  }
  for (let times = 0; times <= 3; times++) {
    for (const text of ['https://me:top@x/', 'https://x/metapush/demo/top?song=x', '//x/metapush/demo/top']) {
      t.notMatch(mask.mask(`https://page/?back=${encoded(text, times)}&app=ios`), 'top');
      t.match(mask.mask(`https://page/?back=${encoded(text, times)}&app=ios`), /&app=ios$/);
    }
  }
});

t.test("the operator's own list", async (t) => {
  const own = new SecretMask(['ticket', '*.no']);
  t.equal(own.mask('/a?ticket=1&token=2&fan-no=3&tickets=4'), '/a?ticket=-&token=2&fan-no=-&tickets=4');
  t.equal(new SecretMask([]).mask('/a?token=2&=3'), '/a?token=2&=3');
});

t.test('of a secret that is cut nothing is left, and what is cut off costs nothing', async (t) => {
  const texts = [
    'https://me:topsecret@x/',
    '/a?v=1&token=topsecret&w=2',
    '/metapush/demo/topsecret?song=x',
    '/a?back=https%3A%2F%2Fme%3Atopsecret%40x%2F%3Ftoken%3Dtopsecret',
    '/a?b=%2525252F%252F%2Fme:topsecret@x',
  ];
  for (const text of texts) {
    for (let n = 0; n <= text.length; n++) t.notMatch(mask.mask(text, n), 'top', `${text} ${n}`);
    t.equal(mask.mask(text, text.length), mask.mask(text));
  }
  t.equal(mask.mask('https://page.example/more', 20), 'https://page.example', 'a host that is whole is kept');
  t.equal(mask.mask('https://page.example/more', 19), 'https://-');
  const long = '%41=%42&'.repeat(2000);
  const ratio = await costRatio(
    1 / 5,
    () => mask.mask(long, 512),
    () => mask.mask(long, 16_000),
  );
  t.ok(ratio < 1 / 5, `512 characters take ${ratio} of the time of all`);
});

t.test('what is long is cut, and costs little whatever it is', async (t) => {
  t.equal(mask.mask('x'.repeat(100_000)).length, 16_384);
  const texts = [
    'token=',
    '/metapush/a/',
    '//',
    '//%2F%2F',
    'a=',
    ':',
    'a',
    '%25',
    '%2525253D',
    'token%3D',
    '//x@',
    'x?key[]',
    '%',
  ];
  for (const text of texts) {
    const long = (length: number) => text.repeat(length / text.length + 1).slice(0, length);
    const ratio = await costRatio(
      24,
      () => mask.mask(long(16_384)),
      () => mask.mask(long(2048)),
    );
    t.ok(ratio < 24, `${text}: eight times as long takes ${ratio} times as long`);
  }
});

t.test('whatever is around it, and encoded in it, a secret does not come out', async (t) => {
  const random = new Random();
  const parts = [
    'a=1',
    '&',
    ';',
    '?',
    '#',
    '/',
    '//',
    '%26',
    '%2526',
    '%3D',
    'b',
    '@',
    ':',
    '%',
    'token=',
    '/metapush/demo/x',
  ];
  const some = () => Array.from({ length: random.int(0, 6) }, () => parts[random.int(0, parts.length - 1)]).join('');
  for (let i = 0; i < 3000; i++) {
    const value = `top${encodeURIComponent(some())}top`;
    const url = `/x?${some()}&${random.chance(0.5) ? 'pw=' : 'q[api_key]='}${value}${some()}`;
    if (mask.mask(url).includes('top')) t.fail(`seed ${random.seed}: ${url} ${mask.mask(url)}`);
  }
  t.pass();
});
