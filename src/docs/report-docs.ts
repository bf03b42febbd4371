/** The OpenAPI document's report of a player (http/heard-route.ts). */

import { ref } from './parameters.js';
import { CORS, CORS_WHERE_SERVED, content, NO_STORE, operation, type RouteDocs, refused } from './responses.js';

const RESPONSES = {
  204: { description: 'Accepted: the session follows it.', headers: { ...CORS, ...NO_STORE } },
  ...refused('bad-request', 'The body is not a JSON object.', CORS_WHERE_SERVED),
  ...refused('not-found', 'No listener plays with this metaid, or in this session.', CORS_WHERE_SERVED),
  ...refused('too-large', 'The body is longer than 256 bytes.', CORS),
  ...refused('unsupported-media-type', 'The body must be application/json or text/plain.', CORS),
  ...refused('invalid', 'This is not a report, or the player was not sent audio up to this position.', CORS),
  ...refused('too-many', 'Too many reports: by default one a second is allowed.', CORS),
};

export const heardReport: RouteDocs = () => {
  // text/plain is what navigator.sendBeacon sends of a text.
  const body = { ...content('application/json', ref('HeardReport')), ...content('text/plain', ref('HeardReport')) };
  return operation('Watch', 'reportHeard', 'Report the position of a player', RESPONSES, {
    description:
      "The listener's titles (with sync=audio) then follow the player's pauses, stalls and drift. A WebSocket of the listener scope accepts " +
      'the same as a text frame. At most once a second, by default. Titles already sent are not recalled.',
    requestBody: { required: true, content: body },
  });
};
