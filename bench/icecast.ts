/**
 * The peer: Icecast 2 with default settings except its limits, fed by ffmpeg with a tone at 128 kb/s. Needs `icecast2` and `ffmpeg` on the PATH;
 * as root it also needs `setpriv`, since Icecast refuses to run as root. Configuration and logs are in a folder that the owner removes. Owned by
 * bench/peers.ts, bench/truth/channels.ts.
 */

import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asNobody, giveToNobody } from '../test/kit/nobody.js';
import { freePort, Started } from './process.js';
import type { Target } from './target.js';

/** Debian's folder; Icecast requires one even if no page is requested. */
const SHARE = '/usr/share/icecast2';

/** Starts the server without a source. Sources use `password`, also for titles. @param bothFile certificate and key, for a port with TLS */
export async function startIcecastServer(folder: string, clients: number, bothFile?: string) {
  const port = await freePort();
  const tls = bothFile === undefined ? undefined : { port: await freePort(), bothFile };
  const password = randomUUID();
  const config = join(folder, 'icecast.xml');
  writeFileSync(config, icecastConfig({ folder, port, password, clients, tls }));
  giveToNobody(folder);
  const [command, ...args] = [...asNobody, 'icecast2', '-c', config];
  const server = new Started(command!, args);
  const origin = `http://127.0.0.1:${port}`;
  await server.ready(`${origin}/status-json.xsl`);
  return { server, origin, port, password, tlsPort: tls?.port };
}

/** Starts it with a source. `rate` should be low: its listen queue has 5 places, and further connections retry after 1, 3 and 7 seconds. */
export async function startIcecast(
  folder: string,
  listeners: number,
  rate: number,
  bothFile?: string,
): Promise<Target & { readonly tlsUrl: string | undefined }> {
  const { server, origin, port, password, tlsPort } = await startIcecastServer(folder, listeners + 100, bothFile);
  const tone = 'sine=frequency=440:sample_rate=44100';
  const format = ['-ac', '2', '-b:a', '128k', '-f', 'mp3', '-content_type', 'audio/mpeg'];
  const target = `icecast://source:${password}@127.0.0.1:${port}/x.mp3`;
  const encoder = new Started('ffmpeg', ['-loglevel', 'error', '-re', '-f', 'lavfi', '-i', tone, ...format, target]);
  const url = `${origin}/x.mp3`;
  await encoder.ready(url);
  const tlsUrl = tlsPort === undefined ? undefined : `http://127.0.0.1:${tlsPort}/x.mp3`;
  return { name: 'Icecast 2', url, pids: [server.pid], rate, tlsUrl };
}

interface IcecastOptions {
  readonly folder: string;
  readonly port: number;
  readonly password: string;
  readonly clients: number;
  readonly tls: { readonly port: number; readonly bothFile: string } | undefined;
}

function icecastConfig({ folder, port, password, clients, tls }: IcecastOptions): string {
  const secured =
    tls && `<listen-socket><port>${tls.port}</port><bind-address>127.0.0.1</bind-address><ssl>1</ssl></listen-socket>`;
  const certificate = tls && `<ssl-certificate>${tls.bothFile}</ssl-certificate>`;
  return `<icecast>
  <limits>
    <clients>${clients}</clients><sources>2</sources><queue-size>1048576</queue-size>
    <client-timeout>30</client-timeout><header-timeout>15</header-timeout><source-timeout>10</source-timeout>
    <burst-on-connect>1</burst-on-connect><burst-size>65536</burst-size>
  </limits>
  <authentication><source-password>${password}</source-password><admin-password>${password}</admin-password></authentication>
  <hostname>localhost</hostname>
  <listen-socket><port>${port}</port><bind-address>127.0.0.1</bind-address></listen-socket>
  ${secured ?? ''}
  <paths>
    <basedir>${SHARE}</basedir><logdir>${folder}</logdir><webroot>${SHARE}/web</webroot><adminroot>${SHARE}/admin</adminroot>
    ${certificate ?? ''}
  </paths>
  <logging><accesslog>access.log</accesslog><errorlog>error.log</errorlog><loglevel>2</loglevel></logging>
</icecast>
`;
}
