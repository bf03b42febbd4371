/**
 * ICY in Ogg on the whole server: a channel that asks for it sends blocks to players who ask. The real ffprobe reads the title
 * out of them (not out of the comments), and ffmpeg decodes what stands between, across a change of titles, without one complaint.
 * A channel that does not ask for it sends none.
 */

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { Player } from '../kit/player.js';
import { missing, Program, probe } from '../kit/program.js';
import { DEMO_AUDIO, startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

t.test('ICY in Ogg', { skip: missing('ffmpeg', 'ffprobe') }, async (t) => {
  const file = join(tempFolder(t), 'opus.ogg');
  const make = ['-v', 'error', '-t', '30', '-i', DEMO_AUDIO, '-c:a', 'libopus', '-b:a', '48k', file];
  await promisify(execFile)('ffmpeg', make);
  const { port, base } = await startServer(
    t,
    `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations:
  demo:
    channels:
      asked:
        pushTokens: [demo-token]
        metaint: 3000
        icy: { inOgg: true, apostrophe: typographic }
        sources: [{ type: file, path: ${file} }]
      usual: { metaint: 3000, sources: [{ type: file, path: ${file} }] }
`,
  );
  const metaint = async (channel: string, icy: string, method: string) => {
    const player = new Player(port, `/${channel}`, { icy: false, method, headers: icy });
    t.teardown(() => player.close());
    await player.until(() => player.status > 0, 20_000);
    player.close();
    t.strictSame([player.status, player.headers.get('content-type')], [200, 'audio/ogg']);
    return player.headers.get('icy-metaint');
  };
  const icy = 'Icy-MetaData: 1\r\n';
  for (const method of ['GET', 'HEAD']) {
    t.equal(await metaint('asked', icy, method), '3000', method);
    t.equal(await metaint('asked', '', method), undefined, `${method}, who does not ask`);
    t.equal(await metaint('usual', icy, method), undefined, `${method} of a channel without the option`);
  }

  const push = async (song: string) => {
    const query = new URLSearchParams({ artist: 'Zoé', song });
    t.equal((await fetch(`${base}/metapush/asked/demo-token?${query}`)).status, 200);
  };
  await push("L'un");
  const player = new Player(port, '/asked', { keep: true });
  t.teardown(() => player.close());
  const decoded = async () => {
    const decoder = new Program(t, 'ffmpeg', [
      ...['-v', 'error', '-xerror', '-nostdin', '-icy', '1', '-i', `${base}/asked`, '-t', '8', '-f', 'null', '-'],
    ]);
    await until(
      () => decoder.ended !== undefined,
      30_000,
      () => 'the decoder does not end',
    );
    return [decoder.ended, decoder.said];
  };
  const decoding = decoded();
  // The curly one stands in blocks only.
  await until(
    async () => (await probe(`${base}/asked`)).title.includes('L\u2019un'),
    30_000,
    () => 'ffprobe does not find the title',
  );
  await push('Deux');
  await player.until(() => player.titles.length > 0 && /Deux/.test(player.titles.at(-1)!.title), 20_000);
  t.strictSame(await decoding, [0, '']);
  const { audio } = player;
  for (const song of ["L'un", 'Deux']) {
    const { atByte } = player.titles.find(({ title }) => title.includes(song === 'Deux' ? song : 'L\u2019un'))!;
    const linkAt = audio.lastIndexOf('OpusHead', audio.indexOf(`TITLE=${song}`)) - 28;
    t.equal(atByte, Math.max(3000, Math.ceil(linkAt / 3000) * 3000), `${song}: its link begins at ${linkAt}`);
  }
});
