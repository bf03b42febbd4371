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
  mount: 'Whose title it is: a mount. Not needed where only one channel has the password.',
  song: 'The title line. Ignored where artist and title are both there.',
  artist: 'Artist.',
  title: 'Song; also the title line where there is neither song nor artist.',
  url: 'An image of the track. Other addresses are ignored.',
  charset:
    'In which the fields are percent-encoded; default: UTF-8 where valid, else that of the configuration, Windows-1252 by default.',
};

const BY_ADMIN =
  'Users of the admin interface with the right titles may send it too, by Basic or as a bearer. The same at /admin/metadata.xsl.';

function titleUpdate(operationId: string, method: 'get' | 'post', basic: boolean): Json {
  const fields = basic
    ? FIELDS
    : {
        pass: "The encoder's password; also user:password and /mount:password, as in the first line of its audio.",
        ...FIELDS,
      };
  const all = Object.entries(fields);
  const form = { type: 'object', properties: Object.fromEntries(all.map(([name, about]) => [name, text(about)])) };
  return operation(
    'Encode',
    operationId,
    `An encoder's own title, ${method === 'post' ? 'as a form' : 'as parameters'}${basic ? '' : ', with the password among them'}`,
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
  const ignored = optional(
    'Where fields were not taken: a charset that is not known, placeholders that were not filled in. Their names.',
  );
  const login = {
    'WWW-Authenticate': header('Which way there is.', { const: 'Basic realm="airsplice"' }),
    Allow: header('The methods that this address takes.', { const: 'GET, POST, OPTIONS' }),
  };
  return {
    ...ok(
      content('text/xml; charset=utf-8', { ...TEXT, pattern: '<iceresponse>' }),
      { ...NO_STORE, 'Airsplice-Ignored': ignored },
      'Taken, or ignored: the message says which. A title that is too long is cut.',
    ),
    400: either(
      'Only mode=updinfo is known here; there are too many parameters; no encoder feeds this mount; or a user of the admin interface named no mount.',
    ),
    401: refused(basic ? 'A user and a password are needed, and right ones.' : 'Wrong password.', login),
    403: refused(
      'A password of several channels and no mount; or a user of the admin interface without the right titles.',
    ),
    404: either('No channel takes an encoder at this mount, or this address serves no encoders.'),
    ...(isForm && {
      413: refused('The form is too large.'),
      415: refused('The body has to be application/x-www-form-urlencoded.'),
    }),
    429: refused('Too many wrong passwords or tokens from this address, and too many others wait for their turn.', {
      'Retry-After': RETRY_AFTER,
    }),
    500: either('Something went wrong on the server.'),
    503: refused('The hook that says who may send does not answer, or a part of the server is being restarted.', {
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
