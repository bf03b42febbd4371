/**
 * Real players at once on one mount, each heard for seconds: every one shows the title in force by its own means, sees the change that is
 * pushed meanwhile, and has no complaint about the stream. What a machine has not installed is skipped, in words.
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import net from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Player, until } from '../kit/player.js';
import { missing } from '../kit/program.js';
import { demoYaml, startServer, tempFolder } from '../kit/server.js';

const FIRST = 'Anna Ähre - Lied';
const SECOND = 'Berta - Walzer';
/** The last title is late by the burst, and by what a player reads ahead. */
const PATIENCE_MS = 45_000;

interface Kind {
  readonly program: string;
  /** @param folder the player's own; what it shows may also be read there */
  args(url: string, folder: string): string[];
  /** What it prints when it shows this title. */
  shows(title: string): string;
  /** What it prints when it does not like what it gets. */
  readonly complaint: RegExp;
  /** Of these: what it says of itself, when it got no CPU. */
  readonly excused?: RegExp;
  /** It does not run as root. */
  readonly asNobody?: true;
  /** Told over a socket of its own instead of printed. */
  readonly socket?: string;
}

const KINDS: readonly Kind[] = [
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
    shows: (title) => `Metadata update for StreamTitle: ${title}`,
    complaint: /error|invalid|missing|overread|Skipping [1-9]\d* bytes of junk/i,
  },
  {
    program: 'mpv',
    args: (url, folder) => [
      ...['--no-config', '--no-video', '--no-input-terminal', '--ao=null', '--msg-level=all=error'],
      ...[`--input-ipc-server=${join(folder, 'ipc')}`, url],
    ],
    shows: (title) => `"name":"media-title","data":${JSON.stringify(title)}`,
    complaint: /^\[|error:/im,
    socket: 'ipc',
  },
  {
    program: 'mpg123',
    args: (url) => ['-vv', '-o', 'dummy', url],
    shows: (title) => `ICY-META: StreamTitle='${title}';`,
    complaint: /junk|illegal|resync|skip|warning|error:/i,
  },
  {
    program: 'mplayer',
    args: (url) => ['-noconfig', 'all', '-nolirc', '-nojoystick', '-vo', 'null', '-ao', 'null', '-quiet', url],
    shows: (title) => `ICY Info: StreamTitle='${title}';`,
    complaint: /junk|resync|decode error|bad header|big_values|illegal|cannot (?:sync|seek)/i,
  },
  {
    program: 'cvlc',
    args: (url) => ['-vv', '--no-color', '--no-dbus', '-I', 'dummy', '--aout=adummy', url],
    shows: (title) => `New Icy-Title=${title}`,
    // What it says of interfaces that this machine does not have is no word about the stream.
    complaint:
      /(?:stream|access|demux|packetizer|decoder|input|audio output)\w* error:|discarding|emulated sync|lost sync/i,
    excused: /main input error: ES_OUT_SET_\(GROUP_\)PCR +is called too late/,
    asNobody: true,
  },
  {
    program: 'curl',
    args: (url) => ['-sS', '--no-buffer', '-H', 'Icy-MetaData: 1', url],
    shows: (title) => `StreamTitle='${title}';`,
    complaint: /curl: /,
  },
];

/** A player that runs: what it has printed, or told over its socket. */
class Running {
  readonly kind: Kind;
  readonly child: ChildProcess;
  ended: string | undefined;
  #parts: Buffer[] = [];

  constructor(t: Test, kind: Kind, url: string) {
    this.kind = kind;
    const folder = tempFolder(t);
    const command = [kind.program, ...kind.args(url, folder)];
    if (kind.asNobody && process.getuid?.() === 0) {
      execFileSync('chown', ['nobody', folder]);
      command.unshift('runuser', '-u', 'nobody', '--', 'env', `HOME=${folder}`);
    }
    const [name, ...args] = command;
    this.child = spawn(name!, args, { env: { ...process.env, HOME: folder, LC_ALL: 'C.UTF-8' }, detached: true });
    for (const stream of [this.child.stdout!, this.child.stderr!]) stream.on('data', (part) => this.#parts.push(part));
    this.child.on('exit', (code, signal) => {
      this.ended = String(signal ?? code);
    });
    t.teardown(() => this.end());
    if (kind.socket !== undefined) this.#listen(t, join(folder, kind.socket));
  }

  get said(): string {
    return Buffer.concat(this.#parts).toString();
  }

  shows(title: string): boolean {
    return this.said.includes(this.kind.shows(title));
  }

  /** The whole group: `runuser` has a child. */
  end(): void {
    try {
      process.kill(-this.child.pid!, 'SIGTERM');
    } catch {
      // It has ended.
    }
  }

  /** mpv's JSON over its socket: the title, whenever it changes. */
  #listen(t: Test, path: string): void {
    const retry = setInterval(() => {
      const socket = net.connect(path);
      socket.on('error', () => socket.destroy());
      socket.on('connect', () => {
        clearInterval(retry);
        socket.write(`${JSON.stringify({ command: ['observe_property', 1, 'media-title'] })}\n`);
      });
      socket.on('data', (part: Buffer) =>
        this.#parts.push(Buffer.from(part.toString().replace(/"error":"success"/g, ''))),
      );
      t.teardown(() => socket.destroy());
    }, 200);
    t.teardown(() => clearInterval(retry));
  }
}

t.test('players', { timeout: 110_000 }, async (t) => {
  const { base, port } = await startServer(t, demoYaml());
  const push = async (artist: string, song: string) => {
    const query = new URLSearchParams({ artist, song });
    t.equal((await fetch(`${base}/metapush/studio/studio-token?${query}`)).status, 200);
  };
  await push('Anna Ähre', 'Lied');
  // A whole burst on the tape: mpv was seen not to show a title while it had been given no more than its first second.
  const early = new Player(port, '/studio.mp3');
  await early.until((p) => p.audioBytes > 7 * 16_000, 30_000);
  early.close();
  const players: Running[] = [];
  for (const kind of KINDS) {
    const skip = missing(kind.program);
    if (skip === false) players.push(new Running(t, kind, `${base}/studio.mp3`));
    else t.pass(kind.program, { skip });
  }
  const seen = async (title: string) =>
    until(
      () => players.every((player) => player.shows(title) || player.ended !== undefined),
      PATIENCE_MS,
      () => players.map((one) => `${one.kind.program}: ${one.shows(title)} ${one.said.slice(-300)}`).join('\n'),
    ).catch((error: Error) => t.fail(error.message));
  await seen(FIRST);
  await push('Berta', 'Walzer');
  await seen(SECOND);
  for (const player of players) {
    const { kind, said, ended } = player;
    t.equal(ended, undefined, `${kind.program} plays on`);
    t.ok(player.shows(FIRST), `${kind.program} shows the title in force`);
    t.ok(player.shows(SECOND), `${kind.program} shows the change`);
    const complaints = said
      .split(/[\r\n]/)
      .filter((line) => kind.complaint.test(line) && kind.excused?.test(line) !== true);
    t.same(complaints, [], `${kind.program} has no complaint`);
    player.end();
  }
});

t.test('ffprobe tells the format and the title', { skip: missing('ffprobe') }, async (t) => {
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
