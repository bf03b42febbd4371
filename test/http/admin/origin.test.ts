/** Requests as browsers send them for pages of this origin and of others, against both rules. */

import t from 'tap';
import { refuseForeign, refuseSimple } from '../../../src/http/admin/origin.js';

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
const CASES: readonly (readonly [what: string, method: string, headers: Headers, simple: boolean, foreign: boolean])[] =
  [
    ['curl', 'POST', { 'content-type': 'application/json' }, false, false],
    ['curl -X POST', 'POST', {}, true, false],
    ['curl with a form', 'POST', { 'content-type': 'application/x-www-form-urlencoded' }, true, false],
    ['with a bearer', 'POST', { authorization: 'Bearer x' }, false, false],
    ['with a custom header', 'POST', { 'x-requested-with': 'x' }, false, false],
    ['DELETE', 'DELETE', {}, false, false],
    ['fetch of our page', 'POST', { origin: HERE, 'x-requested-with': 'x', 'user-agent': 'Mozilla/5.0' }, false, false],
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
    ['the same over TLS', 'GET', { 'user-agent': 'Mozilla/5.0', 'sec-fetch-site': 'same-origin' }, false, false],
    ['typed', 'GET', { 'user-agent': 'Mozilla/5.0', 'sec-fetch-site': 'none' }, false, true],
    ['a script', 'GET', { 'user-agent': 'Wget/1.21' }, false, false],
  ];

t.test('what pages of other origins can send is refused', async (t) => {
  for (const [what, method, headers, simple, foreign] of CASES) {
    t.equal(refused(refuseSimple, method, headers), simple, what);
    t.equal(refused(refuseForeign, method, headers), foreign, `${what}, to Icecast's paths`);
  }
});
