/** The OpenAPI document's report of a player (http/heard.ts). */

import { content, metaid, ref } from './parameters.js';
import { ANYWHERE, CORS, CORS_WHERE_SERVED, NO_STORE, refused } from './responses.js';
import type { Json } from './schemas.js';

export function reports(): Json {
  return {
    '/metadata/listener/{metaid}/heard': {
      parameters: [metaid],
      post: {
        operationId: 'reportHeard',
        tags: ['Watch'],
        summary: 'A player reports where it is',
        description:
          'Its session then follows its pauses, stalls and drift: ?sync=audio and polling. A WebSocket of the listener scope takes the same as ' +
          'a text frame. At most once a second, by default. A title that was sent is not recalled.',
        requestBody: {
          required: true,
          // text/plain is what navigator.sendBeacon sends of a text.
          content: { ...content('application/json', ref('HeardReport')), ...content('text/plain', ref('HeardReport')) },
        },
        responses: {
          ...ANYWHERE,
          '204': { description: 'Its session follows it.', headers: { ...CORS, ...NO_STORE } },
          ...refused('bad-request', 'The body is not a JSON object.', CORS_WHERE_SERVED),
          ...refused('not-found', 'No listener plays with this metaid, or in this session.', CORS_WHERE_SERVED),
          ...refused('too-large', 'The body is longer than 256 bytes.', CORS),
          ...refused('unsupported-media-type', 'The body has to be application/json, or text/plain.', CORS),
          ...refused(
            'invalid',
            'This is not a report, or the player cannot be there: it was not sent that much.',
            CORS,
          ),
          ...refused('too-many', 'The last report was less than a second ago.', CORS),
        },
      },
    },
  };
}
