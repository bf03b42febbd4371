import t from 'tap';
import { breakableProxy } from '../kit/encoder-proxy.js';
import { encoderStories } from '../kit/encoder-story.js';
import { keepLines, sourceChanges } from '../kit/log-lines.js';
import { mpds } from '../kit/mpd.js';
import { chainOf } from '../kit/ogg-chain.js';
import { Player } from '../kit/player.js';
import { missing } from '../kit/program.js';
import { demoYaml, startServer } from '../kit/server.js';
import { vlcs } from '../kit/vlc.js';

encoderStories([...mpds, ...vlcs]);

const vorbis = vlcs.find(({ codec }) => codec === 'vorbis')!;

t.test('VLC vorbis: its connection breaks', { skip: missing(...vorbis.needs, 'ffmpeg') }, async (t) => {
  const { log, lines } = keepLines();
  const server = await startServer(t, demoYaml(), undefined, log);
  const { port, cut } = await breakableProxy(t, server.port);
  const to = { port, mount: '/studio.mp3', password: 'demo-source', sound: '' };
  const program = await vorbis.start(t, to);
  await program.until(() => sourceChanges(lines, 'studio').at(-1) === 'encoder', 40_000, 'it is not heard');
  cut();
  // It goes on in the middle of its link of a minute.
  const connected = () => lines.filter(({ message }) => message === 'encoder connected').length;
  await program.until(() => connected() > 1, 40_000, 'it does not come back');
  const player = new Player(server.port, '/studio', { keep: true });
  t.teardown(() => player.close());
  await player.until((one) => one.audioBytes > 50_000, 30_000);
  t.equal(chainOf(player.audio).fault, '');
  t.same(
    lines.filter(({ event }) => event === 'no-frames'),
    [],
  );
});
