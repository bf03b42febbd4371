/**
 * The real nginx in front: as a TCP proxy that sends PROXY headers, to which encoders, players, pushes and TLS get through, and as an HTTP proxy
 * that adds X-Forwarded-For. Clients come from several addresses of this machine's; each is counted and logged as itself.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import tls from 'node:tls';
import t, { type Test } from 'tap';
import { PEM } from '../kit/certificate.js';
import { Player } from '../kit/player.js';
import { freePort } from '../kit/process.js';
import { Program } from '../kit/program.js';
import { DEMO_AUDIO, startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';
import { Wire } from '../kit/wire.js';

const NGINX = '/usr/sbin/nginx';
const STREAM = '/usr/lib/nginx/modules/ngx_stream_module.so';
const skip = [NGINX, STREAM].every((file) => existsSync(file))
  ? false
  : 'nginx with its stream module is not installed (nginx, libnginx-mod-stream)';

interface Proxied {
  readonly http: number;
  readonly tcp: number;
  readonly tcpToTls: number;
}

/** nginx before the three addresses of a server. */
async function startNginx(t: Test, ports: readonly number[]): Promise<Proxied> {
  const folder = tempFolder(t);
  const [http, tcp, tcpToTls] = [await freePort(), await freePort(), await freePort()];
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  const file = join(folder, 'nginx.conf');
  writeFileSync(
    file,
    `load_module ${STREAM};
daemon off; master_process off; worker_processes 1; pid ${folder}/nginx.pid; error_log stderr error;
events { worker_connections 256; }
stream {
  proxy_protocol on;
  server { listen 127.0.0.1:${tcp}; proxy_pass 127.0.0.1:${ports[1]}; }
  server { listen 127.0.0.1:${tcpToTls}; proxy_pass 127.0.0.1:${ports[2]}; }
}
http {
  ${paths.join(' ')} access_log off;
  server {
    listen 127.0.0.1:${http};
    location / {
      proxy_pass http://127.0.0.1:${ports[0]}; proxy_buffering off;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }
  }
}
`,
  );
  new Program(t, NGINX, ['-e', 'stderr', '-c', file]);
  await until(
    async () => (await fetch(`http://127.0.0.1:${http}/healthz`).catch(() => undefined))?.status === 200,
    15_000,
    () => 'nginx does not answer',
  );
  return { http, tcp, tcpToTls };
}

t.test('nginx in front, for TCP and for HTTP', { skip }, async (t) => {
  const folder = tempFolder(t);
  const logFile = join(folder, 'access.log');
  const pem = `{ certFile: ${PEM}one.cert.pem, keyFile: ${PEM}one.key.pem }`;
  const { app } = await startServer(
    t,
    `
addresses:
  - { host: 127.0.0.1, port: 0 }
  - { host: 127.0.0.1, port: 0, proxyProtocol: true }
  - { host: 127.0.0.1, port: 0, proxyProtocol: true, tls: ${pem} }
proxies: { trusted: [127.0.0.1] }
accessLog: { file: '${logFile}' }
limits: { wrongSecretsPerMinute: 1, secretQueue: 0, listenersPerAddress: 1 }
stations:
  house:
    channels:
      demo: { pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      studio: { sources: [{ type: encoder, password: demo-source }] }
`,
    folder,
  );
  const { ports } = app;
  const nginx = await startNginx(t, ports);
  const status = async (port: number, from: string, request: string, headers = '') => {
    const wire = new Wire(t, port, { from }).send(`${request} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`);
    await until(
      () => wire.got.includes('\r\n\r\n'),
      15_000,
      () => `${request} from ${from}: ${wire.closed}`,
    );
    return { status: Number(wire.got.split(' ')[1]), wire };
  };
  const WRONG = 'GET /metapush/demo/wrong?song=x';
  let next = 10;
  for (const port of [nginx.http, nginx.tcp]) {
    const name = port === nginx.http ? 'HTTP' : 'TCP';
    const [one, two] = [`127.0.0.${next++}`, `127.0.0.${next++}`];
    t.equal((await status(port, one, WRONG)).status, 403, name);
    t.equal((await status(port, one, WRONG)).status, 429, `${name}: one client twice`);
    t.equal((await status(port, one, WRONG, 'X-Forwarded-For: 198.51.100.1\r\n')).status, 429, `${name}: made up`);
    t.equal((await status(port, two, WRONG)).status, 403, `${name}: another client`);
    t.equal((await status(port, two, 'GET /metrics')).status, 404, `${name}: ops are not for everybody`);

    const listener = await status(port, one, 'GET /demo');
    t.equal(listener.status, 200);
    t.equal((await status(port, one, 'GET /demo')).status, 503, `${name}: a listener of its address`);
    await until(() => listener.wire.got.length > 40_000, 15_000);
    listener.wire.socket.destroy();
    const line = () => (existsSync(logFile) ? readFileSync(logFile, 'utf8') : '');
    await until(
      () => line().includes(`${one} - - `),
      15_000,
      () => line(),
    );
  }
  const push = await status(nginx.tcp, '127.0.0.20', 'GET /metapush/demo/demo-token?artist=Nina&song=Simone');
  t.equal(push.status, 200);
  const player = new Player(nginx.tcp, '/demo');
  t.teardown(() => player.close());
  await player.until((p) => p.titles.some(({ title }) => title === 'Nina - Simone'), 20_000);

  // An encoder's connection is no HTTP, so it comes by TCP.
  const login = `Authorization: Basic ${btoa('source:demo-source')}`;
  const encoder = await status(nginx.tcp, '127.0.0.21', 'SOURCE /studio', `${login}\r\nContent-Type: audio/mpeg\r\n`);
  t.equal(encoder.status, 200);
  const heard = new Player(ports[0]!, '/studio', { headers: 'X-Forwarded-For: 127.0.0.22\r\n' });
  t.teardown(() => heard.close());
  encoder.wire.send(readFileSync(DEMO_AUDIO).subarray(0, 200_000));
  await heard.until((p) => p.audioBytes > 20_000, 20_000);

  const secure = (from: string) =>
    new Promise<number>((resolve, reject) => {
      const wire = new Wire(t, nginx.tcpToTls, { from });
      const ca = readFileSync(`${PEM}one.cert.pem`);
      const socket = tls.connect({ socket: wire.socket, ca, checkServerIdentity: () => undefined });
      socket.on('error', reject).on('data', (chunk) => {
        resolve(Number(String(chunk).split(' ')[1]));
        socket.destroy();
      });
      socket.write(`${WRONG} HTTP/1.1\r\nHost: x\r\n\r\n`);
    });
  t.equal(await secure('127.0.0.30'), 403);
  t.equal(await secure('127.0.0.30'), 429);
  t.equal(await secure('127.0.0.31'), 403, 'TLS through the proxy, its client known');
});
