/** The content type of Ogg: an encoder's own for Vorbis, in heads and in what directories read; `audio/ogg` for what else there is in Ogg. */

import { execFileSync } from 'node:child_process';
import t from 'tap';
import { ADMIN_LOGIN, ADMIN_USERS } from '../kit/admin-client.js';
import { Feeder } from '../kit/feeder.js';
import { Player } from '../kit/player.js';
import { missing } from '../kit/program.js';
import { DEMO_AUDIO, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';

const yaml = `
addresses: [{ host: 127.0.0.1, port: 0 }]
sources: { stallMs: 20000 }
stations: { demo: { channels: { live: { sources: [{ type: encoder, password: demo-source, takeover: always }] } } } }
${ADMIN_USERS}`;

function make(codec: string): Buffer {
  const args = ['-v', 'error', '-t', '15', '-i', DEMO_AUDIO, '-c:a', codec, '-f', 'ogg', '-'];
  return execFileSync('ffmpeg', args, { maxBuffer: 2 ** 24 });
}

t.test('the type of Ogg is the one that players take', { skip: missing('ffmpeg') }, async (t) => {
  const server = await startServer(t, yaml);
  const [vorbis, opus] = [make('libvorbis'), make('libopus')];
  // As they come, each takes over from the one before.
  for (const [bytes, declared, wanted] of [
    [vorbis, 'application/ogg', 'application/ogg'],
    [vorbis, 'audio/ogg', 'audio/ogg'],
    [vorbis, 'Application/Ogg; codecs=vorbis', 'application/ogg'],
    [opus, 'application/ogg', 'audio/ogg'],
    [vorbis, 'audio/mpeg', 'audio/ogg'],
    [vorbis, 'application/ogg', 'application/ogg'],
  ] as const) {
    const encoder = new Feeder(t, server.port, '/live', { headers: `Content-Type: ${declared}\r\n` });
    await encoder.answered();
    encoder.socket.write(bytes);
    const typeNow = async () => {
      const player = new Player(server.port, '/live');
      await player.until(({ audioBytes, status }) => audioBytes > 0 || status === 503, 10_000);
      player.close();
      return player.headers.get('content-type');
    };
    // In each of Icecast's and SHOUTcast's forms, in ours, and for operators.
    const shown = async () => {
      const paths = [
        'status-json.xsl',
        'stats',
        'metadata/stations.json',
        'admin/stats',
        'admin/listmounts',
        'admin/api/channels',
      ];
      const headers = { Authorization: ADMIN_LOGIN, 'User-Agent': 'script' };
      const texts = await Promise.all(
        paths.map(async (path) => (await fetch(`${server.base}/${path}`, { headers })).text()),
      );
      // Behind those of its sources, in the last.
      return texts.map((text) => /.*((?:application|audio)\/ogg)/s.exec(text)?.[1]);
    };
    let seen: unknown[] = [];
    await until(
      async () => (seen = [await typeNow(), ...(await shown())]).every((type) => type === wanted),
      10_000,
      () => `${declared}: not ${wanted}: ${seen}`,
    );
    t.pass(declared);
  }
});
