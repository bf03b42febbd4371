/** The OpenAPI document's report of a player (http/heard-route.ts). */

import type { Json } from './json.js';
import { ref } from './parameters.js';
import { CORS, CORS_WHERE_SERVED, content, NO_STORE, operation, refused } from './responses.js';

const RESPONSES = {
  204: { description: 'Its session follows it.', headers: { ...CORS, ...NO_STORE } },
  ...refused('bad-request', 'The body is not a JSON object.', CORS_WHERE_SERVED),
  ...refused('not-found', 'No listener plays with this metaid, or in this session.', CORS_WHERE_SERVED),
  ...refused('too-large', 'The body is longer than 256 bytes.', CORS),
  ...refused('unsupported-media-type', 'The body has to be application/json, or text/plain.', CORS),
  ...refused('invalid', 'This is not a report, or the player cannot be there: it was not sent that much.', CORS),
  ...refused('too-many', 'The last report was less than a second ago.', CORS),
};

export function reports(): Json {
  // text/plain is what navigator.sendBeacon sends of a text.
  const body = { ...content('application/json', ref('HeardReport')), ...content('text/plain', ref('HeardReport')) };
  const post = operation('Watch', 'reportHeard', 'A player reports where it is', RESPONSES, {
    description:
      'Its session then follows its pauses, stalls and drift: ?sync=audio and polling. A WebSocket of the listener scope takes the same as ' +
      'a text frame. At most once a second, by default. A title that was sent is not recalled.',
    requestBody: { required: true, content: body },
  });
  return { '/metadata/listener/{metaid}/heard': { post } };
}
