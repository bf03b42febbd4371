/** oggfwd, which sends what comes on its input, in real time by itself for Ogg and as it comes for MP3: here ffmpeg paces it. */

import type { EncoderKind } from './encoder-kind.js';
import { Program } from './program.js';

export const oggfwd: EncoderKind = {
  name: 'oggfwd',
  needs: ['oggfwd', 'bash'],
  codec: 'vorbis',
  start: async (t, { port, mount, password, sound }) => {
    const encode = `ffmpeg -v error -re -stream_loop -1 -i ${sound} -c:a libvorbis -b:a 96k -f ogg -`;
    return new Program(t, 'bash', ['-c', `exec oggfwd 127.0.0.1 ${port} ${password} ${mount} < <(${encode})`]);
  },
  // libshout tells its programs one thing, whatever the status.
  refused: {
    400: { tries: [1, 1], says: /Login failed/, ends: true },
    401: { tries: [1, 1], says: /Login failed/, ends: true },
    404: { tries: [1, 1], says: /Login failed/, ends: true },
    409: { tries: [1, 1], says: /Login failed/, ends: true },
    415: { tries: [1, 1], says: /Login failed/, ends: true },
    429: { tries: [1, 1], says: /Login failed/, ends: true },
    501: { tries: [1, 1], says: /Login failed/, ends: true },
    503: { tries: [1, 1], says: /Login failed/, ends: true },
  },
  onLoss: 'ends',
};
