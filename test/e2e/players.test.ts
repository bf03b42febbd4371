/**
 * Real players at once on one mount, each heard for seconds: every one shows the title in force by its own means, sees the change that is
 * pushed meanwhile, and has no complaint about the stream. What a machine has not installed is skipped, in words.
 */

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { Player } from '../kit/player.js';
import { type PlayerKind, PlayerProgram, type Shown, titleLine } from '../kit/player-program.js';
import { missing } from '../kit/program.js';
import { demoYaml, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';

const FIRST = { artist: 'Anna Ähre', song: 'Lied' };
const SECOND = { artist: 'Berta', song: 'Walzer' };
/** The last title is late by the burst, and by what a player reads ahead. */
const PATIENCE_MS = 45_000;

const KINDS: readonly PlayerKind[] = [
  {
    program: 'ffmpeg',
    args: (url) => [
      '-v',
      'verbose',
      '-nostdin',
      '-xerror',
      '-err_detect',
      'crccheck+bitstream+buffer',
      '-i',
      url,
      '-f',
      'null',
      '-',
    ],
    shows: (title) => `Metadata update for StreamTitle: ${titleLine(title)}`,
    complaint: /error|invalid|missing|overread|Skipping [1-9]\d* bytes of junk/i,
  },
  {
    program: 'mpv',
    args: (url, folder) => [
      ...['--no-config', '--no-video', '--no-input-terminal', '--ao=null', '--msg-level=all=error'],
      ...[`--input-ipc-server=${join(folder, 'ipc')}`, url],
    ],
    shows: (title) => `"name":"media-title","data":${JSON.stringify(titleLine(title))}`,
    complaint: /^\[|error:/im,
    socket: 'ipc',
  },
  {
    program: 'mpg123',
    args: (url) => ['-vv', '-o', 'dummy', url],
    shows: (title) => `ICY-META: StreamTitle='${titleLine(title)}';`,
    complaint: /junk|illegal|resync|skip|warning|error:/i,
  },
  {
    program: 'mplayer',
    args: (url) => ['-noconfig', 'all', '-nolirc', '-nojoystick', '-vo', 'null', '-ao', 'null', '-quiet', url],
    shows: (title) => `ICY Info: StreamTitle='${titleLine(title)}';`,
    complaint: /junk|resync|decode error|bad header|big_values|illegal|cannot (?:sync|seek)/i,
  },
  {
    program: 'cvlc',
    args: (url) => ['-vv', '--no-color', '--no-dbus', '-I', 'dummy', '--aout=adummy', url],
    shows: (title) => `New Icy-Title=${titleLine(title)}`,
    // What it says of interfaces that this machine does not have is no word about the stream.
    complaint:
      /(?:stream|access|demux|packetizer|decoder|input|audio output)\w* error:|discarding|emulated sync|lost sync/i,
    excused: /main input error: ES_OUT_SET_\(GROUP_\)PCR +is called too late/,
    asNobody: true,
  },
  {
    program: 'curl',
    args: (url) => ['-sS', '--no-buffer', '-H', 'Icy-MetaData: 1', url],
    shows: (title) => `StreamTitle='${titleLine(title)}';`,
    complaint: /curl: /,
  },
];

t.test('players', { timeout: 110_000 }, async (t) => {
  const { base, port } = await startServer(t, demoYaml());
  const push = async ({ artist, song }: Shown) => {
    const query = new URLSearchParams({ artist, song });
    t.equal((await fetch(`${base}/metapush/studio/studio-token?${query}`)).status, 200);
  };
  await push(FIRST);
  // A whole burst on the tape: mpv was seen not to show a title while it had been given no more than its first second.
  const early = new Player(port, '/studio.mp3');
  await early.until((p) => p.audioBytes > 7 * 16_000, 30_000);
  early.close();
  const players: PlayerProgram[] = [];
  for (const kind of KINDS) {
    const skip = missing(kind.program);
    if (skip === false) players.push(new PlayerProgram(t, kind, `${base}/studio.mp3`));
    else t.pass(kind.program, { skip });
  }
  const seen = async (title: Shown) =>
    until(
      () => players.every((player) => player.shows(title) || player.ended !== undefined),
      PATIENCE_MS,
      () => players.map((one) => `${one.kind.program}: ${one.shows(title)} ${one.said.slice(-300)}`).join('\n'),
    ).catch((error: Error) => t.fail(error.message));
  await seen(FIRST);
  await push(SECOND);
  await seen(SECOND);
  for (const player of players) {
    const { kind, ended, complaints } = player;
    t.equal(ended, undefined, `${kind.program} plays on`);
    t.ok(player.shows(FIRST), `${kind.program} shows the title in force`);
    t.ok(player.shows(SECOND), `${kind.program} shows the change`);
    t.same(complaints, [], `${kind.program} has no complaint`);
    player.end();
  }
});

t.test('ffprobe finds the format and the title', { skip: missing('ffprobe') }, async (t) => {
  const { base } = await startServer(t, demoYaml());
  t.equal((await fetch(`${base}/metapush/demo/demo-token?artist=Anna&song=Lied`)).status, 200);
  const probe = spawn('ffprobe', [
    ...['-v', 'warning', '-show_entries', 'format_tags=StreamTitle,icy-name:stream=codec_name,bit_rate'],
    ...['-of', 'csv=p=0', `${base}/demo.mp3`],
  ]);
  let [out, err] = ['', ''];
  probe.stdout.on('data', (part) => (out += part));
  probe.stderr.on('data', (part) => (err += part));
  await new Promise((done) => probe.once('close', done));
  t.equal(err, '');
  t.same(out.trim().split(/[\n,]/), ['mp3', '128000', 'Demo Channel', 'Anna - Lied']);
});
