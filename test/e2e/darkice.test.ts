/**
 * The real DarkIce, whose headers end in bare line feeds and come in a dozen writes. It records from ALSA: here from a device that is
 * no sound card but a pipe into which ffmpeg plays. It has no titles of its own. (In its SHOUTcast mode Debian's 1.3 sends audio
 * without having sent its password; no server can take that.) Where it cannot be had: its bytes in transcribed.test.ts.
 */

import t from 'tap';
import { ChannelProbe, PATIENT } from '../kit/channel-probe.js';
import { startDarkice } from '../kit/darkice.js';
import { breakableProxy } from '../kit/encoder-proxy.js';
import { keepLines, sourceChanges } from '../kit/log-lines.js';
import { chainOf } from '../kit/ogg-chain.js';
import { Player } from '../kit/player.js';
import { missing, probe } from '../kit/program.js';
import { demoYaml, startServer } from '../kit/server.js';

const TO = { mount: '/studio.mp3', password: 'demo-source' };

t.test('darkice', { skip: missing('darkice', 'ffmpeg', 'ffprobe', 'mkfifo') }, async (t) => {
  const server = await startServer(t, demoYaml(PATIENT));
  const channelProbe = new ChannelProbe(t, server, 'studio');
  await channelProbe.hearsFile();
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const program = startDarkice(t, { ...TO, port: server.port }, 'no');
    await channelProbe.hears(program);
    const { frames } = channelProbe.recorders[0]!;
    await program.until(() => channelProbe.recorders[0]!.frames > frames + 80, 10_000, 'it falls silent');
    t.equal((await probe(`${server.base}/studio`)).codec, 'mp3');
    await program.stop(signal);
    await channelProbe.hearsFileAgain();
  }
  channelProbe.isUnharmed();
});

t.test('Vorbis: its connection breaks', { skip: missing('darkice', 'ffmpeg', 'mkfifo') }, async (t) => {
  const { log, lines } = keepLines();
  const server = await startServer(t, demoYaml(), undefined, log);
  const proxy = await breakableProxy(t, server.port);
  const program = startDarkice(t, { ...TO, port: proxy.port }, 'yes', 'vorbis');
  const connected = () => lines.filter(({ message }) => message === 'encoder connected').length;
  await program.until(() => sourceChanges(lines, 'studio').at(-1) === 'encoder', 30_000, 'it is not heard');
  proxy.cut();
  await program.until(() => connected() === 2, 30_000, 'it does not come back');
  const player = new Player(server.port, '/studio', { keep: true });
  t.teardown(() => player.close());
  await player.until((one) => one.audioBytes > 50_000, 30_000);
  t.equal(chainOf(player.audio).fault, '');
  t.same(
    lines.filter(({ event }) => event === 'no-frames'),
    [],
  );
});
