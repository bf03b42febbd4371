/**
 * The real DarkIce, whose headers end in bare line feeds and come in a dozen writes. It records from ALSA: here from a device that is
 * no sound card but a pipe into which ffmpeg plays. It has no titles of its own. (In its SHOUTcast mode Debian's 1.3 sends audio
 * without having sent its password; no server can take that.) Where it cannot be had: its bytes in transcribed.test.ts.
 */

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ChannelProbe, ENCODER_HERTZ, PATIENT } from '../kit/channel-probe.js';
import { breakableProxy } from '../kit/encoder-proxy.js';
import { keepLines, sourceChanges } from '../kit/log-lines.js';
import { chainOf } from '../kit/ogg-chain.js';
import { Player } from '../kit/player.js';
import { missing, Program, probe } from '../kit/program.js';
import { demoYaml, startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';

const MP3 = 'mountPoint = studio.mp3\nformat = mp3\nbitrateMode = cbr\nbitrate = 128\nquality = 0.8';
const VORBIS = 'mountPoint = studio.mp3\nformat = vorbis\nbitrateMode = vbr\nquality = 0.3';

function startDarkice(t: Test, port: number, format = MP3): Program {
  const folder = tempFolder(t);
  const pipe = join(folder, 'pcm');
  execFileSync('mkfifo', [pipe]);
  const [alsa, config] = [join(folder, 'asound.conf'), join(folder, 'darkice.cfg')];
  writeFileSync(
    alsa,
    `pcm.null { type null }
pcm.feed { type file slave { pcm null } file /dev/null infile ${pipe} format raw }
`,
  );
  writeFileSync(
    config,
    `[general]
duration = 0
bufferSecs = 1
reconnect = ${format === MP3 ? 'no' : 'yes'}
realtime = no
[input]
device = feed
sampleRate = ${ENCODER_HERTZ}
bitsPerSample = 16
channel = 2
[icecast2-0]
port = ${port}
password = demo-source
${format}
server = 127.0.0.1
name = Prögramm
genre = Demo
public = no
`,
  );
  const sine = ['-re', '-f', 'lavfi', '-i', `sine=frequency=500:sample_rate=${ENCODER_HERTZ}`];
  new Program(t, 'ffmpeg', ['-v', 'error', '-nostdin', '-y', ...sine, '-ac', '2', '-f', 's16le', pipe]);
  return new Program(t, 'darkice', ['-v', '5', '-c', config], { ALSA_CONFIG_PATH: alsa });
}

t.test('darkice', { skip: missing('darkice', 'ffmpeg', 'ffprobe', 'mkfifo') }, async (t) => {
  const server = await startServer(t, demoYaml(PATIENT));
  const channelProbe = new ChannelProbe(t, server, 'studio');
  await channelProbe.hearsFile();
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const program = startDarkice(t, server.port);
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
  const program = startDarkice(t, proxy.port, VORBIS);
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
