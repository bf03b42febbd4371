/** The OpenAPI document's pushes (http/push-routes.ts). */

import type { Json } from './json.js';
import { contentType, parametersIn, ref } from './parameters.js';
import {
  content,
  header,
  JSON_TYPE,
  type More,
  NO_STORE,
  ok,
  operation,
  optional,
  type RouteDocs,
  refused,
} from './responses.js';

/** @param bearer whether the token comes in a header, not in the path */
export function push(bearer: boolean): RouteDocs {
  return (all, method) => {
    const isPost = method === 'post';
    const form = isPost ? 'JSON or a form' : 'parameters';
    return operation(
      'Push',
      `push${isPost ? 'Post' : 'Get'}${bearer ? 'Bearer' : ''}`,
      `Push a title as ${form}${bearer ? ', with the token in a header' : ''}`,
      pushAnswers(isPost, bearer),
      {
        ...(bearer && { security: [{ pushToken: [] }] }),
        ...(isPost ? PUSH_BODY : { parameters: parametersIn(all.PushQuery) }),
      },
    );
  };
}

const PUSH_BODY: More = {
  description:
    'A form takes the fields of GET. They may also be in the query; those of the form have precedence. A body may be compressed (Content-Encoding: gzip, deflate or br).',
  requestBody: {
    required: false,
    content: {
      ...content('application/json', ref('PushBody')),
      ...content('application/x-www-form-urlencoded', ref('PushQuery')),
      ...content('multipart/form-data', ref('PushQuery')),
    },
  },
};

function pushAnswers(isPost: boolean, bearer: boolean): Json {
  const headers = {
    'Content-Type': contentType,
    ...NO_STORE,
    'Airsplice-Ignored': optional(
      'Names of ignored fields, percent-encoded: unknown parameters, unfilled placeholders, an unknown timezone or encoding, an unreadable time or duration, covers and images that are not http(s) URLs.',
    ),
  };
  const challenge = bearer ? { 'WWW-Authenticate': header('The authentication scheme.', { const: 'Bearer' }) } : {};
  return {
    ...ok(
      content(JSON_TYPE, ref('PushAnswer')),
      headers,
      'The title is committed. It was sent to all readers of this server that keep up, unless it waits for its time or the titles of readers are delayed.',
    ),
    ...refused('bad-request', 'The percent-encoding is broken, or the body is not JSON. Unreadable fields are named.'),
    ...refused(
      'forbidden',
      'The channel is unknown or the token is wrong. Neither answer nor timing shows which.',
      challenge,
    ),
    ...refused('too-large', 'The body, a text or extdata is too large.'),
    ...(isPost &&
      refused(
        'unsupported-media-type',
        'The body must be JSON or a form, plain or compressed with gzip, deflate or br.',
      )),
    ...refused('invalid', 'Fields are missing or invalid; all of them are named.'),
    ...refused(
      'too-many',
      'Too many accepted or refused pushes to this channel; or too many wrong tokens from this address, while too many others wait to be checked.',
    ),
    ...refused('unavailable', 'The server is shutting down, or cannot store the title durably now. Push again.'),
  };
}
