/** The real nginx in front, set up well and badly: what the doctor sees from outside. */

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { proxyFindings } from '../../../src/cli/doctor/doctor-proxy.js';
import { loadConfig } from '../../../src/config/load.js';
import { freePort } from '../../kit/process.js';
import { Program } from '../../kit/program.js';
import { demoYaml, startServer } from '../../kit/server.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until } from '../../kit/until.js';

const NGINX = '/usr/sbin/nginx';
const skip = existsSync(NGINX) ? false : 'nginx is not installed';
const NEVER = new AbortController().signal;

/** @param location what stands in it beside proxy_pass @returns its URL */
async function nginx(t: Test, port: number, location: string): Promise<string> {
  const folder = tempFolder(t);
  const http = await freePort();
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  const file = join(folder, 'nginx.conf');
  writeFileSync(
    file,
    `daemon off; master_process off; worker_processes 1; pid ${folder}/nginx.pid; error_log stderr error;
events { worker_connections 256; }
http {
  ${paths.join(' ')} access_log off;
  server { listen 127.0.0.1:${http}; location / { proxy_pass http://127.0.0.1:${port}; ${location} } }
}
`,
  );
  new Program(t, NGINX, ['-e', 'stderr', '-c', file]);
  const url = `http://127.0.0.1:${http}`;
  await until(
    async () => (await fetch(`${url}/healthz`).catch(() => undefined))?.status === 200,
    15_000,
    () => 'nginx does not answer',
  );
  return url;
}

async function said(url: string, yaml: string, folder: string): Promise<string> {
  const path = join(folder, 'outside.yaml');
  writeFileSync(path, yaml);
  const onAir = async () => (await (await fetch(`${url}/metadata/stations.json`)).text()).includes('"onair":true');
  await until(onAir, 10_000);
  const findings = await proxyFindings(url, loadConfig(path, process.env), NEVER);
  return findings.map(({ verdict, text }) => `${verdict} ${text}`).join('\n');
}

t.test('without a proxy', async (t) => {
  const { base, port, folder } = await startServer(t, demoYaml());
  const text = await said(base, demoYaml('', port), folder);
  t.match(text, /^good no proxy is in front of the server$/m);
  t.match(text, /^good a stream begins after 0\.\d s/m);
  t.match(text, /^good events \(SSE\) get through at once$/m);
  t.match(text, /^good WebSockets get through$/m);
  t.notMatch(text, /^(bad|note)/m);
});

t.test('a proxy that is set up well', { skip }, async (t) => {
  const trusted = 'proxies: { trusted: [127.0.0.1] }\n';
  const { port, folder } = await startServer(t, `${trusted}${demoYaml()}`);
  const upgrade =
    'proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";';
  const forwarded = 'proxy_set_header X-Forwarded-For $remote_addr;';
  const url = await nginx(t, port, `proxy_buffering off; ${upgrade} ${forwarded}`);
  const text = await said(url, `${trusted}${demoYaml('', port)}`, folder);
  t.match(text, /^good a proxy is in front, and proxies\.trusted has an entry$/m);
  t.match(text, /^good a stream begins after /m);
  t.notMatch(text, /^(bad|note)/m);
});

t.test('a proxy that buffers, passes on no upgrade, and is not trusted', { skip }, async (t) => {
  const { port, folder } = await startServer(t, demoYaml());
  const buffers = 'proxy_buffer_size 512k; proxy_buffers 8 512k; proxy_busy_buffers_size 1m;';
  const url = await nginx(t, port, `proxy_ignore_headers X-Accel-Buffering; ${buffers}`);
  const text = await said(url, demoYaml('', port), folder);
  t.match(text, /^bad a proxy is in front, but is not trusted/m);
  t.match(text, /^bad .*\/metrics is open to everyone$/m);
  t.match(text, /^bad .*: something on the way buffers it$/m);
  t.match(text, /^bad events \(SSE\) are delayed/m);
  t.match(text, /^bad WebSockets do not get through$/m);
});

t.test('what answers is none of ours, or nothing does', async (t) => {
  const gone = await proxyFindings('http://127.0.0.1:9', null, NEVER);
  t.match(gone, [{ verdict: 'bad', text: /cannot be reached/ }]);
  const { base } = await startServer(t, demoYaml());
  t.match(await proxyFindings(`${base}/docs`, null, NEVER), [{ verdict: 'bad', text: /answers 404 for/ }]);
});
