/**
 * The configurations of config/deploy/proxies, each in the real program, with other ports and a test's certificate: listeners with titles, WebSocket and
 * events come through at once, encoders get in, and airsplice knows whose each connection is. Other ways to use nginx: proxy.test.ts.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { join } from 'node:path';
import { IcecastMetadataReader } from 'icecast-metadata-js';
import t, { type Test } from 'tap';
import { openLog } from '../../src/base/log.js';
import { PEM } from '../kit/certificate.js';
import { freePort } from '../kit/process.js';
import { missing, Program } from '../kit/program.js';
import { DEMO_AUDIO, startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until, untilPromised } from '../kit/until.js';
import { Watching, Wire } from '../kit/wire.js';

const SHIPPED = new URL('../../config/deploy/proxies/', import.meta.url).pathname;
const NGINX = '/usr/sbin/nginx';
const STREAM = '/usr/lib/nginx/modules/ngx_stream_module.so';
const HAPROXY = '/usr/sbin/haproxy';
const CERTIFICATE = `${PEM}one.cert.pem`;
const KEY = `${PEM}one.key.pem`;
/** What comes through is not kept back for the sake of more: how long it may take on a busy machine. */
const AT_ONCE_MS = 5000;

/** Where a proxy listens. */
interface Ports {
  readonly http: number;
  readonly https: number;
  /** For encoders, as Icecast's; undefined: they do not come this way. */
  readonly encoder: number | undefined;
  /** Whether those that send chunks get in by HTTP: the answer comes before the end of what they send. */
  readonly takesChunks: boolean;
  /** For SHOUTcast v1. */
  readonly shoutcast: number | undefined;
}

/** A server's ports: for HTTP, with PROXY headers, and one above it. */
interface Behind {
  readonly http: number;
  readonly proxied: number;
  readonly shoutcast: number;
}

type Start = (t: Test, folder: string, behind: Behind) => Promise<Ports>;

/** A listener by Node's own client, which also reads streams that a proxy has cut into chunks. */
class Listening {
  audioBytes = 0;
  readonly titles: string[] = [];

  constructor(t: Test, url: string) {
    const ca = readFileSync(CERTIFICATE);
    const get = url.startsWith('https:') ? https.get : http.get;
    const request = get(url, { headers: { 'Icy-MetaData': '1' }, ca, agent: false }, (answer) => {
      const icyMetaInt = Number(answer.headers['icy-metaint']);
      const reader = new IcecastMetadataReader({ icyMetaInt, metadataTypes: ['icy'] });
      answer
        .on('error', () => undefined)
        .on('data', (chunk: Buffer) => {
          for (const { stream, metadata } of reader.iterator(chunk)) {
            this.audioBytes += stream?.length ?? 0;
            const title = metadata?.['StreamTitle'];
            if (title !== undefined && title !== '') this.titles.push(title);
          }
        });
    });
    request.on('error', () => undefined);
    t.teardown(() => request.destroy());
  }
}

/** The same for server-sent events. */
class EventReading {
  isOpen = false;
  text = '';

  constructor(t: Test, url: string) {
    const request = http.get(url, { agent: false }, (answer) => {
      this.isOpen = answer.statusCode === 200;
      answer
        .on('error', () => undefined)
        .on('data', (chunk: Buffer) => {
          this.text += chunk;
        });
    });
    request.on('error', () => undefined);
    t.teardown(() => request.destroy());
  }
}

/** What ships, with each of these found and replaced. */
function adapted(name: string, replacements: readonly (readonly [string | RegExp, string])[]): string {
  return replacements.reduce(
    (text, [from, to]) => {
      const next = text.replace(from, to);
      if (next === text) throw new Error(`${name} has no ${from}`);
      return next;
    },
    readFileSync(SHIPPED + name, 'utf8'),
  );
}

const nginx: Start = async (t, folder, behind) => {
  const [http, https, encoder, shoutcast] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  const text = adapted('nginx.conf', [
    [
      'worker_rlimit_nofile 131072;',
      `load_module ${STREAM}; daemon off; master_process off; pid ${folder}/pid; error_log stderr error;`,
    ],
    ['worker_connections 65536;', 'worker_connections 256;'],
    ['listen 8001;', `listen 127.0.0.1:${encoder};`],
    ['127.0.0.1:8100', `127.0.0.1:${behind.proxied}`],
    ['listen 8002;', `listen 127.0.0.1:${shoutcast};`],
    ['127.0.0.1:8101', `127.0.0.1:${behind.shoutcast}`],
    ['http {', `http { ${temporary.join(' ')}`],
    ['server 127.0.0.1:8000;', `server 127.0.0.1:${behind.http};`],
    ['listen 80;', `listen 127.0.0.1:${http};`],
    ['listen 443 ssl;', `listen 127.0.0.1:${https} ssl;`],
    ['/etc/ssl/radio.example/fullchain.pem', CERTIFICATE],
    ['/etc/ssl/radio.example/privkey.pem', KEY],
  ]);
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, text);
  new Program(t, NGINX, ['-e', 'stderr', '-c', file]);
  return { http, https, encoder, takesChunks: false, shoutcast };
};

/** @param name of the file @param part what it has beside `radio` */
function haproxy(
  name: string,
  ports: (t: Test) => Promise<{ ports: Ports; listen: readonly (readonly [string, string])[] }>,
): Start {
  return async (t, folder, behind) => {
    const { ports: listening, listen } = await ports(t);
    const pem = join(folder, 'haproxy.pem');
    writeFileSync(pem, readFileSync(CERTIFICATE, 'utf8') + readFileSync(KEY, 'utf8'));
    const text = adapted(name, [
      ['maxconn 60000', 'maxconn 100'],
      ['/etc/ssl/radio.example/haproxy.pem', pem],
      ['bind :80\n', `bind 127.0.0.1:${listening.http}\n`],
      ['bind :443 ', `bind 127.0.0.1:${listening.https} `],
      ['server airsplice 127.0.0.1:8100', `server airsplice 127.0.0.1:${behind.proxied}`],
      ...(name === 'haproxy-http.cfg'
        ? [['server airsplice 127.0.0.1:8000', `server airsplice 127.0.0.1:${behind.http}`] as const]
        : []),
      ...listen,
    ]);
    const file = join(folder, 'haproxy.cfg');
    writeFileSync(file, text);
    new Program(t, HAPROXY, ['-db', '-q', '-f', file]);
    return listening;
  };
}

const tcp = haproxy('haproxy.cfg', async () => {
  const [http, https, first] = [await freePort(), await freePort(), await freePort()];
  const listen = [
    ['bind :8000\n', `bind 127.0.0.1:${first}\n`],
    ['bind :8001\n', `bind 127.0.0.1:${first + 1}\n`],
  ] as const;
  return { ports: { http, https, encoder: http, takesChunks: true, shoutcast: first + 1 }, listen };
});

const web = haproxy('haproxy-http.cfg', async () => {
  const [http, https, encoder] = [await freePort(), await freePort(), await freePort()];
  return {
    ports: { http, https, encoder, takesChunks: true, shoutcast: undefined },
    listen: [['bind :8001\n', `bind 127.0.0.1:${encoder}\n`]],
  };
});

const caddy: Start = async (t, folder, behind) => {
  const [http, https] = [await freePort(), await freePort()];
  const text = adapted('Caddyfile', [['127.0.0.1:8000 {', `127.0.0.1:${behind.http} {`]]);
  const site = text.slice(text.indexOf('radio.example {') + 'radio.example {'.length);
  const file = join(folder, 'Caddyfile');
  const options = '{\n\tadmin off\n\tauto_https disable_redirects\n\tdefault_sni localhost\n}\n';
  writeFileSync(
    file,
    `${options}http://127.0.0.1:${http}, http://x:${http} {${site}\nhttps://localhost:${https} {\n\ttls ${CERTIFICATE} ${KEY}\n${site}`,
  );
  new Program(t, 'caddy', ['run', '--config', file, '--adapter', 'caddyfile'], {
    XDG_DATA_HOME: folder,
    XDG_CONFIG_HOME: folder,
  });
  return { http, https, encoder: undefined, takesChunks: false, shoutcast: undefined };
};

const BESIDE = 'encoders go past this proxy';
const installed = (...files: string[]) => {
  const gone = files.filter((file) => !existsSync(file));
  return gone.length > 0 && `not installed: ${gone.join(', ')}`;
};
const PROXIES: readonly { readonly name: string; readonly start: Start; readonly skip: string | false }[] = [
  { name: 'nginx', start: nginx, skip: installed(NGINX, STREAM) },
  { name: 'HAProxy, as TCP', start: tcp, skip: installed(HAPROXY) },
  { name: 'HAProxy, as HTTP', start: web, skip: installed(HAPROXY) },
  { name: 'Caddy', start: caddy, skip: missing('caddy') },
];

for (const { name, start, skip } of PROXIES) {
  t.test(`${name}: all that clients and encoders do`, { skip: skip || missing('ffmpeg') }, async (t) => {
    const folder = tempFolder(t);
    const logFile = join(folder, 'access.log');
    const lines: Record<string, unknown>[] = [];
    const roles = 'roles: [push, poll, watch, stream, encoder]';
    const keep = (fields: unknown, message: unknown) => void lines.push({ ...(fields as object), message });
    const { app } = await startServer(
      t,
      `
addresses:
  - { host: 127.0.0.1, port: 0, shoutcastPort: false, ${roles} }
  - { host: 127.0.0.1, port: 0, shoutcastPort: 0, proxyProtocol: true, ${roles} }
proxies: { trusted: [127.0.0.1] }
accessLog: { file: '${logFile}' }
stations:
  house:
    channels:
      demo: { pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      studio: { sources: [{ type: encoder, password: demo-source }] }
`,
      folder,
      { ...openLog('silent', 0).log, info: keep, warn: keep, debug: keep } as never,
    );
    const behind = { http: app.ports[0]!, proxied: app.ports[1]!, shoutcast: app.shoutcastPorts[1]! };
    const { http, https, encoder, takesChunks, shoutcast } = await start(t, tempFolder(t), behind);
    const base = `http://127.0.0.1:${http}`;
    await until(
      async () => (await fetch(`${base}/healthz`).catch(() => undefined))?.status === 200,
      20_000,
      () => 'no answer',
    );

    await t.test('a title comes at once: to a watcher, as an event, in the stream', async (t) => {
      const watcher = new Watching(t, `ws://127.0.0.1:${http}/metadata/channel/demo`, { from: '127.0.0.41' });
      const events = new EventReading(t, `${base}/metadata/sse/channel/demo`);
      const player = new Listening(t, `${base}/demo`);
      await until(() => watcher.open && events.isOpen, 20_000);
      await until(() => player.audioBytes > 20_000, 20_000);
      const push = await fetch(`${base}/metapush/demo/demo-token?artist=Nina&song=Simone&duration=100`);
      t.equal(push.status, 200);
      await untilPromised(
        () => watcher.records.some(({ song }) => song === 'Simone'),
        AT_ONCE_MS,
        () => 'not to the watcher',
      );
      await untilPromised(
        () => events.text.includes('"Simone"'),
        AT_ONCE_MS,
        () => 'not as an event',
      );
      await until(
        () => player.titles.includes('Nina - Simone'),
        30_000,
        () => `${player.titles}`,
      );
      const secure = new Listening(t, `https://localhost:${https}/demo`);
      await until(
        () => secure.audioBytes > 20_000,
        20_000,
        () => 'TLS',
      );
      t.equal(secure.titles[0], 'Nina - Simone', 'TLS');
    });

    await t.test('each client is known, whatever it claims', async (t) => {
      const wire = new Wire(t, http, { from: '127.0.0.42' });
      wire.send('GET /demo HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 198.51.100.7\r\nUser-Agent: liar\r\n\r\n');
      await until(() => wire.got.length > 20_000, 20_000);
      wire.socket.destroy();
      const log = () => (existsSync(logFile) ? readFileSync(logFile, 'utf8') : '');
      await until(
        () => log().includes('liar'),
        20_000,
        () => log(),
      );
      t.match(log(), /^127\.0\.0\.42 - - .*liar/m);
      t.notMatch(log(), /198\.51\.100\.7/);
      const ops = new Wire(t, http, { from: '127.0.0.43' }).send('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n');
      await until(() => ops.got.includes('\r\n\r\n'), 20_000);
      t.match(ops.got, /^HTTP\/1\.1 404/, 'metrics are not for clients of a proxy');
    });

    const onAir = async () => {
      const answer = await fetch(`http://127.0.0.1:${behind.http}/studio`, { signal: AbortSignal.timeout(20_000) });
      if (answer.status !== 200) {
        await answer.body?.cancel();
        return false;
      }
      let bytes = 0;
      for await (const chunk of answer.body!) if ((bytes += chunk.length) > 20_000) break;
      return bytes > 20_000;
    };
    const gone = () =>
      until(async () => {
        const answer = await fetch(`http://127.0.0.1:${behind.http}/studio`, { method: 'HEAD' });
        return answer.status === 503;
      }, 30_000);

    await t.test('ffmpeg as an encoder', { skip: encoder === undefined && BESIDE }, async (t) => {
      const input = ['-v', 'error', '-re', '-stream_loop', '-1', '-i', DEMO_AUDIO, '-c', 'copy', '-f', 'mp3'];
      const to = `source:demo-source@127.0.0.1`;
      const chunks = ['-method', 'PUT', '-auth_type', 'basic', '-chunked_post', '1', `http://${to}:${http}/studio`];
      const ways = [[`icecast://${to}:${encoder}/studio`], ...(takesChunks ? [chunks] : [])];
      for (const way of ways) {
        const ffmpeg = new Program(t, 'ffmpeg', [...input, '-content_type', 'audio/mpeg', ...way]);
        await ffmpeg.until(() => onAir().catch(() => false), 30_000, 'it is not heard');
        t.equal(ffmpeg.ended, undefined, way.at(-1)!);
        await ffmpeg.stop('SIGKILL');
        await gone();
      }
    });

    await t.test(
      'encoders that are no HTTP, each known by its address',
      { skip: encoder === undefined && BESIDE },
      async (t) => {
        const said = async (port: number, from: string, text: string, wanted: string) => {
          const wire = new Wire(t, port, { from }).send(text);
          await until(
            () => wire.got.includes(wanted),
            20_000,
            () => `${text}: ${wire.got}`,
          );
          return wire;
        };
        const head = (password: string) =>
          `SOURCE /studio HTTP/1.0\r\nAuthorization: Basic ${btoa(`source:${password}`)}\r\nContent-Type: audio/mpeg\r\nExpect: 100-continue\r\n\r\n`;
        await said(encoder!, '127.0.0.44', head('wrong'), ' 401 ');
        await until(
          () => lines.some(({ message, address }) => message === 'encoder refused' && address === '127.0.0.44'),
          20_000,
        );
        const wire = await said(encoder!, '127.0.0.45', head('demo-source'), '100');
        wire.send(readFileSync(DEMO_AUDIO).subarray(0, 200_000));
        await until(() => onAir().catch(() => false), 30_000);
        wire.socket.destroy();
        await gone();
        t.pass('Icecast: refused and taken by its address');
        if (shoutcast === undefined) return;
        const old = await said(shoutcast, '127.0.0.46', 'demo-source\r\n', 'OK2');
        old.send('content-type: audio/mpeg\r\n\r\n').send(readFileSync(DEMO_AUDIO).subarray(0, 200_000));
        await until(() => onAir().catch(() => false), 30_000);
        old.socket.destroy();
        await gone();
        await said(shoutcast, '127.0.0.47', 'wrong\r\n', 'invalid password');
        await until(() => lines.some(({ address }) => address === '127.0.0.47'), 20_000);
      },
    );
  });
}
