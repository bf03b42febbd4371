/**
 * The OpenAPI document's part for encoders: the titles that they send beside their audio, as Icecast and SHOUTcast take them
 * (src/http/ingest/README.md, "Titles"). The audio itself comes by PUT or SOURCE with a body without end, which OpenAPI cannot say.
 */

import { type Json, TEXT, text } from './json.js';
import { inQuery, TEXT_TYPE } from './parameters.js';
import { content, header, NO_STORE, ok, operation, optional, PROBLEM, RETRY_AFTER } from './responses.js';

const MESSAGE = content(TEXT_TYPE, TEXT);

/** What the two addresses share, by GET and as a POST form alike. */
const FIELDS: Readonly<Record<string, string>> = {
  mode: 'Always updinfo.',
  mount: 'The mount. Not needed if only one channel has the password.',
  song: 'The title line. Ignored if artist and title are both given.',
  artist: 'Artist.',
  title: 'The song; the title line if neither song nor artist is given.',
  url: 'The URL of an image of the track. Other URLs are ignored.',
  charset: 'The charset of the fields. Default: UTF-8 if valid, else the configured one, by default Windows-1252.',
};

const BY_ADMIN =
  'Admin users with the right `titles` may send it too, with Basic or a bearer token. Also at /admin/metadata.xsl.';

function titleUpdate(operationId: string, method: 'get' | 'post', basic: boolean): Json {
  const fields = basic
    ? FIELDS
    : {
        pass: "The encoder's password, or user:password or /mount:password, as in the line before its audio.",
        ...FIELDS,
      };
  const all = Object.entries(fields);
  const form = { type: 'object', properties: Object.fromEntries(all.map(([name, about]) => [name, text(about)])) };
  return operation(
    'Encode',
    operationId,
    `An encoder's own title, ${method === 'post' ? 'as a form' : 'as parameters'}${basic ? '' : ', including the password'}`,
    answers(basic, method === 'post'),
    {
      ...(basic && { description: BY_ADMIN, security: [{ encoder: [] }, { adminPassword: [] }, { adminToken: [] }] }),
      ...(method === 'get'
        ? { parameters: all.map(([name, about]) => inQuery(name, about)) }
        : { requestBody: { content: content('application/x-www-form-urlencoded', form) } }),
    },
  );
}

function answers(basic: boolean, isForm: boolean): Json {
  const refused = (description: string, headers: Json = {}) => ({
    description,
    headers: { ...NO_STORE, ...headers },
    content: MESSAGE,
  });
  /** Plain text from here, a problem from before it. */
  const either = (description: string) => ({ description, headers: NO_STORE, content: { ...MESSAGE, ...PROBLEM } });
  const ignored = optional('Names of ignored fields: an unknown charset, unfilled placeholders.');
  const login = {
    'WWW-Authenticate': header('The authentication scheme.', { const: 'Basic realm="airsplice"' }),
    Allow: header('The methods that this path supports.', { const: 'GET, POST, OPTIONS' }),
  };
  return {
    ...ok(
      content('text/xml; charset=utf-8', { ...TEXT, pattern: '<iceresponse>' }),
      { ...NO_STORE, 'Airsplice-Ignored': ignored },
      'Accepted or ignored; the message says which. A title that is too long is cut.',
    ),
    400: either(
      'mode is not updinfo; there are too many parameters; no encoder feeds this mount; or an admin user named no mount.',
    ),
    401: refused(basic ? 'User or password is missing or wrong.' : 'Wrong password.', login),
    403: refused(
      'Several channels have this password, and no mount is named; or an admin user lacks the right `titles`.',
    ),
    404: either('No channel accepts an encoder at this mount, or this address serves no encoders.'),
    ...(isForm && {
      413: refused('The form is too large.'),
      415: refused('The body must be application/x-www-form-urlencoded.'),
    }),
    429: refused('Too many wrong passwords or tokens from this address, while too many others wait to be checked.', {
      'Retry-After': RETRY_AFTER,
    }),
    500: either('Something went wrong on the server.'),
    503: refused('The hook that authorizes encoders does not answer, or a part of the server is restarting.', {
      'Retry-After': RETRY_AFTER,
    }),
  };
}

export function encoders(): Json {
  const path = (name: string, basic: boolean) => ({
    get: titleUpdate(`${name}Get`, 'get', basic),
    post: titleUpdate(`${name}Post`, 'post', basic),
  });
  return { '/admin/metadata': path('updinfo', true), '/admin.cgi': path('updinfoShoutcast', false) };
}
