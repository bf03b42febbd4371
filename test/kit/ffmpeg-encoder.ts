/** ffmpeg as an encoder: its Icecast protocol sends no titles, and ends with the first error. */

import type { EncoderKind } from './encoder-kind.js';
import { Program } from './program.js';

export const ffmpegEncoder: EncoderKind = {
  name: 'ffmpeg',
  needs: ['ffmpeg'],
  codec: 'mp3',
  start: async (t, { port, mount, password, sound, userAgent }) => {
    const input = ['-v', 'error', '-re', '-stream_loop', '-1', '-i', sound];
    const url = `icecast://source:${password}@127.0.0.1:${port}${mount}`;
    const output = ['-c:a', 'libmp3lame', '-b:a', '128k', '-content_type', 'audio/mpeg', '-f', 'mp3', url];
    const agent = userAgent === undefined ? [] : ['-user_agent', userAgent];
    return new Program(t, 'ffmpeg', [...input, ...agent, ...output]);
  },
  refused: {
    400: { tries: [1, 1], says: /Server returned 400 Bad Request/, ends: true },
    401: { tries: [1, 1], says: /Server returned 401 Unauthorized/, ends: true },
    404: { tries: [1, 1], says: /Server returned 404 Not Found/, ends: true },
    409: { tries: [1, 1], says: /Server returned 4XX Client Error/, ends: true },
    429: { tries: [1, 1], says: /Server returned 4XX Client Error/, ends: true },
    501: { tries: [1, 1], says: /Server returned 5XX Server Error/, ends: true },
    503: { tries: [1, 1], says: /Server returned 5XX Server Error/, ends: true },
  },
  onLoss: 'ends',
};
