/**
 * The real ffmpeg sends Ogg (Opus, Vorbis) to a channel, by PUT, is killed, and comes again by SOURCE: another ffmpeg decodes what a
 * listener heard all along, and what one hears that comes late, without one complaint.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Player } from '../kit/player.js';
import { missing, Program, probe } from '../kit/program.js';
import { startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

const yaml = `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations:
  demo:
    channels:
      opus: { mounts: [/opus.ogg], sources: [{ type: encoder, password: demo-source }] }
      vorbis: { mounts: [/vorbis.ogg], sources: [{ type: encoder, password: demo-source }] }
`;
const CODECS = { opus: ['-c:a', 'libopus', '-b:a', '96k'], vorbis: ['-c:a', 'libvorbis', '-b:a', '96k'] };
const DECODE = 'ffmpeg -v error -xerror';

t.test('ffmpeg, Ogg', { skip: missing('ffmpeg', 'ffprobe') }, async (t) => {
  const { port, base } = await startServer(t, yaml);
  const folder = tempFolder(t);
  /** The shell's `command` decodes without one complaint. */
  const decodes = async (command: string, from: string, what: string) => {
    const decoder = new Program(t, 'sh', ['-c', command, from]);
    await until(
      () => decoder.ended !== undefined,
      20_000,
      () => `${what}: the decoder does not end`,
    );
    t.strictSame([decoder.ended, decoder.said], [0, ''], what);
  };
  await Promise.all(
    Object.entries(CODECS).map(async ([codec, options]) => {
      const url = `${base}/${codec}.ogg`;
      const start = (...way: string[]) => {
        const sine = ['-re', '-f', 'lavfi', '-i', 'sine=frequency=500:sample_rate=48000', '-ac', '2'];
        const to = `icecast://source:demo-source@127.0.0.1:${port}/${codec}.ogg`;
        const as = ['-f', 'ogg', '-content_type', 'application/ogg', ...way, to];
        return new Program(t, 'ffmpeg', ['-v', 'error', '-nostdin', ...sine, ...options, ...as]);
      };
      let program = start();
      const isThere = async () => (await fetch(url, { method: 'HEAD' })).status === 200;
      await program.until(isThere, 30_000, `${url} is not heard`);
      const player = new Player(port, `/${codec}.ogg`, { icy: false, keep: true });
      t.teardown(() => player.close());
      await program.until(() => player.audioBytes > 20_000, 20_000, 'no audio');
      // MOC takes Vorbis by this type only, and Opus by the other.
      t.equal(player.headers.get('content-type'), codec === 'vorbis' ? 'application/ogg' : 'audio/ogg');
      t.equal((await probe(url)).codec, codec);
      await program.stop('SIGKILL');
      const before = player.audioBytes;
      program = start('-legacy_icecast', '1');
      await program.until(() => player.audioBytes > before + 20_000, 30_000, 'nothing of the second run is heard');
      await decodes(`${DECODE} -i "$0" -t 3 -f null -`, url, `${codec}: who comes now`);
      t.notOk(player.closed);
      await program.stop();
      const file = join(folder, `${codec}.ogg`);
      writeFileSync(file, player.audio);
      // Through a pipe, as it was heard: ffmpeg 5 complains of any chained Opus in a file that it can seek in.
      await decodes(`cat "$0" | ${DECODE} -i - -f null -`, file, `${codec}: who was there all along`);
    }),
  );
});
