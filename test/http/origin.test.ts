/** Requests as browsers send them for pages of this origin and of others, against both rules. */

import t from 'tap';
import { refuseForeign, refuseFromPage, refuseSimple } from '../../src/http/origin.js';

type Headers = Record<string, string>;

const refused = (check: (asked: never) => void, method: string, headers: Headers) => {
  try {
    check({ method, headers: { host: 'radio.example:8000', authorization: 'Basic eDp5', ...headers } } as never);
    return false;
  } catch {
    return true;
  }
};
const HERE = 'http://radio.example:8000';
const PLAIN = 'http://radio.example';
/** As a proxy passes it on that adds its port. */
const PORT_443 = { host: 'radio.example:443', 'user-agent': 'Mozilla/5.0', 'x-requested-with': 'x' };
const fetched = (site: string, dest: string) => ({ 'sec-fetch-site': site, 'sec-fetch-dest': dest });
/** What a page shows or loads by a URL (Fetch standard, destinations). */
const IN_PAGES = [
  'image',
  'iframe',
  'frame',
  'embed',
  'object',
  'audio',
  'video',
  'style',
  'script',
  'font',
  'manifest',
  '',
];
const CASES: readonly (readonly [what: string, method: string, headers: Headers, simple: boolean, foreign: boolean])[] =
  [
    ['curl', 'POST', { 'content-type': 'application/json' }, false, false],
    ['curl -X POST', 'POST', {}, true, false],
    ['curl with a form', 'POST', { 'content-type': 'application/x-www-form-urlencoded' }, true, false],
    ['with a bearer', 'POST', { authorization: 'Bearer x' }, false, false],
    ['with a custom header', 'POST', { 'x-requested-with': 'x' }, false, false],
    ['DELETE', 'DELETE', {}, false, false],
    ['fetch of our page', 'POST', { origin: HERE, 'x-requested-with': 'x', 'user-agent': 'Mozilla/5.0' }, false, false],
    ['by https, with its port', 'POST', { ...PORT_443, origin: 'https://radio.example' }, false, false],
    ['by http, with its port', 'POST', { ...PORT_443, host: 'radio.example:80', origin: PLAIN }, false, false],
    ['of the other default port', 'POST', { ...PORT_443, origin: PLAIN }, true, true],
    ['of another page', 'POST', { origin: 'http://evil.example', 'content-type': 'application/json' }, true, true],
    ['of another port', 'DELETE', { origin: 'http://radio.example' }, true, true],
    ['of a sandbox', 'POST', { origin: 'null', 'x-requested-with': 'x' }, true, true],
    ['of a sibling', 'POST', { 'sec-fetch-site': 'same-site', 'content-type': 'application/json' }, true, true],
    [
      'with a bearer, of another page',
      'POST',
      { authorization: 'Bearer x', origin: 'http://evil.example' },
      true,
      true,
    ],
    ['a broken origin', 'POST', { origin: 'http://', 'x-requested-with': 'x' }, true, true],
    ['an image of another page', 'GET', { 'sec-fetch-site': 'cross-site', 'user-agent': 'Mozilla/5.0' }, false, true],
    ['an image in the clear', 'GET', { 'user-agent': 'Mozilla/5.0 (X11)' }, false, true],
    ['an image, with its page', 'GET', { 'user-agent': 'Mozilla/5.0', referer: 'http://evil.example/' }, false, true],
    ['a link of our page', 'GET', { 'user-agent': 'Mozilla/5.0', referer: `${HERE}/admin` }, false, false],
    ['the same over TLS', 'GET', { 'user-agent': 'Mozilla/5.0', ...fetched('same-origin', 'document') }, false, false],
    ['a fetch of our page', 'GET', { 'user-agent': 'Mozilla/5.0', ...fetched('same-origin', 'empty') }, false, false],
    [
      'of here, and nothing of what for',
      'GET',
      { 'user-agent': 'Mozilla/5.0', 'sec-fetch-site': 'same-origin' },
      false,
      true,
    ],
    ['what for, and not from where', 'GET', { 'user-agent': 'Mozilla/5.0', 'sec-fetch-dest': 'empty' }, false, true],
    ...IN_PAGES.map(
      (dest) =>
        [
          `an ${dest} of our page`,
          'GET',
          { referer: `${HERE}/`, ...fetched('same-origin', dest) },
          false,
          true,
        ] as const,
    ),
    ['an image by its own origin', 'GET', { origin: HERE, ...fetched('same-origin', 'image') }, false, false],
    ['an image with a bearer', 'GET', { authorization: 'Bearer x', ...fetched('same-origin', 'image') }, false, false],
    ['typed', 'GET', { 'user-agent': 'Mozilla/5.0', 'sec-fetch-site': 'none' }, false, true],
    ['a script', 'GET', { 'user-agent': 'Wget/1.21' }, false, false],
  ];

t.test('what pages of other origins can send is refused', async (t) => {
  for (const [what, method, headers, simple, foreign] of CASES) {
    t.equal(refused(refuseSimple, method, headers), simple, what);
    t.equal(refused(refuseForeign, method, headers), foreign, `${what}, to Icecast's paths`);
  }
});

t.test('where encoders act, only what a browser says that a page sent is refused', async (t) => {
  const cases: readonly (readonly [headers: Headers, refused: boolean])[] = [
    [{}, false],
    [{ 'user-agent': 'Mozilla/5.0' }, false],
    [{ 'user-agent': 'ShoutcastDSP (Mozilla Compatible)' }, false],
    [fetched('none', 'document'), false],
    [fetched('same-origin', 'document'), false],
    [fetched('same-origin', 'empty'), false],
    [fetched('same-origin', 'image'), true],
    [fetched('same-site', 'image'), true],
    [fetched('cross-site', 'document'), true],
    [{ origin: 'http://evil.example' }, true],
    [{ origin: HERE }, false],
  ];
  for (const [headers, is] of cases) t.equal(refused(refuseFromPage, 'GET', headers), is, JSON.stringify(headers));
});
