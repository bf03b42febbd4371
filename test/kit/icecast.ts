/**
 * Debian's Icecast 2, for tests that compare our answers with its own, or relay between the two; and an encoder for either, on a bare socket.
 * Needs `icecast2` on the PATH. Icecast refuses to run as root.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import type { Test } from 'tap';
import { asNobody, giveToNobody } from './nobody.js';
import { freePort } from './process.js';
import { DEMO_AUDIO } from './server.js';
import { tempFolder } from './temp-folder.js';
import { patient, until } from './until.js';

/** Its files in Debian's package. */
const SHARE = '/usr/share/icecast2';
/** The password of its sources and of its admin. */
export const ICECAST_PASSWORD = 'demo-source';

/** Why a test that needs it is skipped; false: it is installed. */
export const noIcecast: string | false = spawnSync('icecast2', ['-v']).error === undefined ? false : 'no icecast2 here';

/** Resolves with its port once it answers. */
export async function startIcecast(t: Test): Promise<number> {
  const icecast = new Icecast(t, await freePort());
  await icecast.start();
  return icecast.port;
}

export interface MountFacts {
  readonly listenurl: string;
  readonly artist?: string;
  readonly title?: string;
}

/** An Icecast that can be stopped and started again. */
export class Icecast {
  readonly port: number;
  readonly #t: Test;
  readonly #folder: string;
  #child: ChildProcess | null = null;

  /** @param extra further elements of its configuration, such as relays */
  constructor(t: Test, port: number, extra = '') {
    this.#t = t;
    this.port = port;
    this.#folder = tempFolder(t);
    writeFileSync(join(this.#folder, 'icecast.xml'), configuration(port, this.#folder, extra));
    giveToNobody(this.#folder);
  }

  /** Its error log, which has messages about sources and relays. */
  get said(): string {
    return readFileSync(join(this.#folder, 'error.log'), 'utf8');
  }

  /** Resolves once it answers. */
  async start(): Promise<void> {
    const [command, ...args] = [...asNobody, 'icecast2', '-c', join(this.#folder, 'icecast.xml')];
    // On a busy machine, one start in thirty of 2.4.4 hangs forever before it listens.
    for (let left = 5; ; left--) {
      const child = spawn(command!, args, { stdio: 'ignore' });
      this.#child = child;
      this.#t.teardown(() => child.kill('SIGKILL'));
      const answers = await until(() => isAnswering(this.port), 5000).then(
        () => true,
        () => false,
      );
      if (answers) return;
      if (left === 1) throw new Error(`icecast2 does not answer (exit code ${child.exitCode})`);
      child.kill('SIGKILL');
    }
  }

  async stop(): Promise<void> {
    const child = this.#child!;
    child.kill('SIGTERM');
    await until(() => child.exitCode !== null || child.signalCode !== null, 10_000);
  }

  /** Sets a mount's title, as an encoder does. */
  async setTitle(mount: string, song: string, charset?: string): Promise<void> {
    const query = new URLSearchParams({ mode: 'updinfo', mount, song, ...(charset !== undefined && { charset }) });
    const authorization = `Basic ${Buffer.from(`admin:${ICECAST_PASSWORD}`).toString('base64')}`;
    await fetch(`http://127.0.0.1:${this.port}/admin/metadata?${query}`, { headers: { authorization } });
  }

  /** The statistics of each mount. */
  async facts(): Promise<MountFacts[]> {
    const answer = await fetch(`http://127.0.0.1:${this.port}/status-json.xsl`);
    const { icestats } = (await answer.json()) as { icestats: { source?: MountFacts | MountFacts[] } };
    return icestats.source === undefined ? [] : [icestats.source].flat();
  }

  async has(mount: string): Promise<boolean> {
    return (await this.facts()).some(({ listenurl }) => listenurl.endsWith(mount));
  }
}

const configuration = (port: number, folder: string, extra: string) => `<icecast>
  <limits><clients>100</clients><sources>9</sources><source-timeout>60</source-timeout></limits>
  <authentication>
    <source-password>${ICECAST_PASSWORD}</source-password>
    <admin-user>admin</admin-user><admin-password>${ICECAST_PASSWORD}</admin-password>
  </authentication>
  <hostname>127.0.0.1</hostname>
  <http-headers><header name="Access-Control-Allow-Origin" value="*" /></http-headers>
  <listen-socket><port>${port}</port><bind-address>127.0.0.1</bind-address></listen-socket>
  <paths>
    <basedir>${SHARE}</basedir><logdir>${folder}</logdir><webroot>${SHARE}/web</webroot><adminroot>${SHARE}/admin</adminroot>
  </paths>
  ${extra}
  <logging><accesslog>access.log</accesslog><errorlog>error.log</errorlog><loglevel>3</loglevel></logging>
</icecast>
`;

/** Whether it answers with JSON: for a moment after its start it answers with invalid text. */
function isAnswering(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/status-json.xsl`, { signal: AbortSignal.timeout(patient(2000)) })
    .then((answer) => answer.json())
    .then(
      () => true,
      () => false,
    );
}

/** Connects to a mount as an encoder and sends some seconds of audio at once; continues until the test ends. */
export async function feed(t: Test, port: number, mount: string, headers = ''): Promise<net.Socket> {
  const socket = net.connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.on('error', () => undefined);
  let got = '';
  socket.on('data', (chunk: Buffer) => {
    got += chunk.toString('latin1');
  });
  const login = Buffer.from(`source:${ICECAST_PASSWORD}`).toString('base64');
  socket.write(
    `PUT ${mount} HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${login}\r\nContent-Type: audio/mpeg\r\n${headers}\r\n`,
  );
  const audio = readFileSync(DEMO_AUDIO);
  let at = 0;
  const send = () => {
    socket.write(audio.subarray(at, at + 16_000));
    at = (at + 16_000) % (audio.length - 16_000);
  };
  await until(
    () => got.includes('\r\n\r\n'),
    5000,
    () => `encoder at ${mount}: ${got}`,
  );
  for (let i = 0; i < 4; i++) send();
  const timer = setInterval(send, 1000);
  t.teardown(() => clearInterval(timer));
  return socket;
}
