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
  refused: {
    401: { tries: [1, 1], says: /login|auth/i, ends: true },
    404: { tries: [1, 1], ends: true },
    409: { tries: [1, 1], ends: true },
    429: { tries: [1, 1], ends: true },
  },
  onLoss: 'ends',
};
