/** What the doctor finds in real conditions: taken ports, a full disk, an expired certificate, names that lead nowhere. The proxy: doctor-proxy.test.ts. */

import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { certificateFindings } from '../../../src/cli/doctor/doctor-certificates.js';
import { clockFindings, skewFindings } from '../../../src/cli/doctor/doctor-clock.js';
import { diskFindings } from '../../../src/cli/doctor/doctor-disk.js';
import { nameFindings } from '../../../src/cli/doctor/doctor-names.js';
import { portFindings } from '../../../src/cli/doctor/doctor-ports.js';
import { fileLimitFindings, nodeFindings, settingFindings } from '../../../src/cli/doctor/doctor-system.js';
import type { DoctorFinding } from '../../../src/cli/doctor/finding.js';
import { loadConfig } from '../../../src/config/load.js';
import { PEM } from '../../kit/certificate.js';
import { airsplice } from '../../kit/command-line.js';
import { freePort } from '../../kit/process.js';
import { missing } from '../../kit/program.js';
import { demoYaml, startServer } from '../../kit/server.js';
import { tempFolder } from '../../kit/temp-folder.js';

const NEVER = new AbortController().signal;

/** `verdict text`, and that what is wrong comes with what to do. */
function said(t: Test, findings: readonly DoctorFinding[]): string {
  for (const { verdict, text, advice } of findings) if (verdict === 'bad') t.ok(advice.length > 10, text);
  return findings.map(({ verdict, text }) => `${verdict} ${text}`).join('\n');
}

t.test('ports: free, ours, taken by another, of another machine', async (t) => {
  const own = await startServer(t, demoYaml());
  const other = net.createServer((socket) => socket.end('hello')).listen(0, '127.0.0.1');
  await new Promise((done) => other.once('listening', done));
  t.teardown(() => other.close());
  const taken = (other.address() as AddressInfo).port;
  const free = await freePort();
  const at = (host: string, port: number) => ({ host, port, shoutcastPort: false as const });
  const findings = await portFindings(
    [at('127.0.0.1', free), at('127.0.0.1', own.port), at('127.0.0.1', taken), at('192.0.2.1', 8000), at('::1', 0)],
    NEVER,
  );
  t.match(
    findings.map(({ verdict, text }) => [verdict, text]),
    [
      ['good', `127.0.0.1:${free} is free`],
      ['good', `127.0.0.1:${own.port}: airsplice answers there`],
      ['bad', `127.0.0.1:${taken} is in use by another program`],
      ['bad', '192.0.2.1 is not an address of this machine'],
    ],
  );
  t.equal(findings.length, 4, 'port 0 is always free');
  t.match(findings[2]!.advice, `ss -ltnp 'sport = :${taken}'`);
  const both = await portFindings([{ host: '127.0.0.1', port: taken - 1 }], NEVER);
  t.match(said(t, both), `bad 127.0.0.1:${taken} (SHOUTcast encoders) is in use`);
  const last = await portFindings([{ host: '127.0.0.1', port: 65_535 }], NEVER);
  t.match(said(t, last), /127\.0\.0\.1:65535 is /, 'the last port has none behind it');
});

t.test('ports: ours with a certificate of any kind', async (t) => {
  const tls = { certFile: `${PEM}one.cert.pem`, keyFile: `${PEM}one.key.pem` };
  const yaml = `addresses: [{ host: 127.0.0.1, port: 0, tls: ${JSON.stringify(tls)} }]\nstations: {}\n`;
  const { port } = await startServer(t, yaml);
  const findings = await portFindings([{ host: '127.0.0.1', port, tls, shoutcastPort: false }], NEVER);
  t.match(said(t, findings), `good 127.0.0.1:${port}: airsplice answers there`);
});

t.test('disk: room and time, and nothing stays behind', async (t) => {
  const folder = tempFolder(t);
  const findings = await diskFindings(join(folder, 'not', 'there', 'yet'));
  t.match(said(t, findings), /^(good|note|bad) [\d,]+ MB free at .*\n(good|note|bad) a write reaches the disk in /);
  t.strictSame(readdirSync(folder), []);
});

t.test('disk: a full one, and one that cannot be written to', async (t) => {
  const folder = tempFolder(t);
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder]).status === 0;
  if (!mounted) return void t.pass('no right to mount');
  t.teardown(() => execFileSync('umount', [folder]));
  t.match(said(t, await diskFindings(folder)), /^bad 0 MB free/, 'nearly full');
  writeFileSync(join(folder, 'rest'), Buffer.alloc(60 * 1024));
  t.match(said(t, await diskFindings(folder)), `bad ${folder} is full`);
  execFileSync('mount', ['-o', 'remount,ro', folder]);
  t.match(said(t, await diskFindings(folder)), 'cannot be written to (EROFS)');
});

t.test('limits: at limits.connections and what the server needs besides, and one less', async (t) => {
  const limits = (files: number | string) => `Max open files            ${files}                ${files}   files\n`;
  const config = { limits: { connections: 5000 } } as Parameters<typeof fileLimitFindings>[1];
  const verdictOf = (files: number | string) => fileLimitFindings(limits(files), config)[0]!.verdict;
  t.strictSame([verdictOf(5100), verdictOf(5099), verdictOf('unlimited')], ['good', 'bad', 'good']);
  t.match(fileLimitFindings(limits(1024), config)[0]!.advice, 'LimitNOFILE=5100');
  t.strictSame(fileLimitFindings('', config), [], 'another system');
});

t.test('kernel: each setting at its least and one below, and what a container does not have', async (t) => {
  const root = tempFolder(t);
  const set = (name: string, value: string) => {
    const path = join(root, ...name.split('.'));
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, `${value}\n`);
  };
  const config = { limits: { connections: 10_000 }, proxies: { trusted: ['127.0.0.1'] } } as unknown as Parameters<
    typeof settingFindings
  >[0];
  t.strictSame(await settingFindings(config, root), []);
  set('net.core.somaxconn', '4096');
  set('net.ipv4.ip_local_port_range', '30001\t40000');
  set('net.netfilter.nf_conntrack_max', '20000');
  set('net.ipv4.tcp_wmem', '4096\t16384\t262144');
  t.notMatch(said(t, await settingFindings(config, root)), 'note');
  set('net.core.somaxconn', '4095');
  set('net.ipv4.ip_local_port_range', '30002\t40000');
  set('net.netfilter.nf_conntrack_max', '19999');
  set('net.ipv4.tcp_wmem', '4096\t16384\t262143');
  const low = await settingFindings(config, root);
  t.strictSame(
    low.map(({ verdict, advice }) => `${verdict} ${advice.split(',')[0]}`),
    [
      'note `sysctl -w net.core.somaxconn=4096`',
      'note `sysctl -w net.ipv4.ip_local_port_range="1024 65535"`',
      'note `sysctl -w net.netfilter.nf_conntrack_max=20000`',
      'note `sysctl -w net.ipv4.tcp_wmem="4096 65536 4194304"`',
    ],
  );
});

t.test('node', async (t) => {
  const versions = ['18.20.0', '20.18.3', '20.19.0', '22.1.0', '24.0.0'];
  t.strictSame(
    versions.map((version) => nodeFindings(version)[0]!.verdict),
    ['bad', 'bad', 'note', 'good', 'good'],
  );
});

t.test('clock: kept, not kept, not known; far from another', async (t) => {
  const bin = tempFolder(t);
  const says = (text: string) => {
    writeFileSync(join(bin, 'timedatectl'), `#!/bin/sh\necho ${text}\n`);
    chmodSync(join(bin, 'timedatectl'), 0o755);
  };
  t.match(said(t, await clockFindings({ PATH: bin })), /^note unclear whether it is synchronised/);
  says('yes');
  t.match(said(t, await clockFindings({ PATH: bin })), /^good it is synchronised \(timedatectl\)$/);
  says('no');
  t.match(said(t, await clockFindings({ PATH: bin })), /^bad timedatectl reports that it is not synchronised$/);

  let skewMs = 0;
  const server = createServer((_, response) => {
    response.setHeader('Date', new Date(Date.now() - skewMs).toUTCString());
    response.end('ok\n');
  }).listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.match(said(t, await skewFindings(url, NEVER)), /^good /);
  skewMs = 10_000;
  t.match(said(t, await skewFindings(url, NEVER)), /^note it differs by (9|10)\.\d s/);
  skewMs = -60_000;
  t.match(said(t, await skewFindings(url, NEVER)), /^bad it differs by -(59|60|61)\.\d s/);
  t.strictSame(await skewFindings('http://127.0.0.1:9', NEVER), [], 'nothing answers');
});

t.test('names of upstreams and of the hook', async (t) => {
  const path = join(tempFolder(t), 'config.yaml');
  writeFileSync(
    path,
    `listenerHook: { url: http://localhost:1/ }
stations: { s: { channels: { c: { pushTokens: [demo-token], sources: [{ type: pull, url: [http://none.invalid/x, http://192.0.2.1/] }] } } } }
`,
  );
  const findings = await nameFindings(loadConfig(path, process.env));
  t.match(
    said(t, findings),
    /good localhost \(listenerHook\.url\) is (127\.0\.0\.1|::1)\nbad none\.invalid \(a source of c\) does not resolve/,
  );
  t.equal(findings.length, 2, 'an address needs no name');
});

t.test('certificates: dates, key, chain, name', { skip: missing('openssl') }, async (t) => {
  const folder = tempFolder(t);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const make = (name: string, days: number, signer?: string) => {
    const ca = signer === undefined ? [] : ['-CA', `${signer}.pem`, '-CAkey', `${signer}.key`];
    const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}.example`];
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', `${name}.key`];
    openssl('req', '-x509', ...key, '-out', `${name}.pem`, '-days', String(days), ...subject, ...ca);
  };
  make('root', 400);
  make('middle', 300, 'root');
  make('leaf', 100, 'middle');
  const chain = (...names: string[]) => {
    const file = join(folder, 'chain.pem');
    writeFileSync(file, Buffer.concat(names.map((name) => execFileSync('cat', [join(folder, `${name}.pem`)]))));
    return { certFile: file, keyFile: join(folder, 'leaf.key') };
  };
  const dayMs = 86_400_000;
  const now = Date.now();
  const judge = (files: ReturnType<typeof chain>, days = 0, host = '') =>
    said(t, certificateFindings(files, host, now + days * dayMs));
  t.match(judge(chain('leaf', 'middle')), /^good \S+ is valid until \d{4}-\d\d-\d\d$/);
  t.match(judge(chain('leaf', 'middle'), 85), /^good/);
  t.match(judge(chain('leaf', 'middle'), 87), /^note \S+ expires in 12 days/);
  t.match(judge(chain('leaf', 'middle'), 101), /^bad \S+ has expired/);
  t.match(judge(chain('leaf', 'middle'), -2), /^bad \S+ is not valid yet/);
  t.match(judge(chain('leaf')), /note \S+ does not contain the issuer's certificate$/);
  t.match(judge(chain('leaf', 'root')), /bad .*: certificate 1 was not signed by the next one$/);
  t.match(judge(chain('leaf', 'middle'), 0, 'other.example'), /note .* is not for other\.example/);
  t.notMatch(judge(chain('leaf', 'middle'), 0, 'leaf.example'), 'is not for');
  t.match(judge({ ...chain('leaf'), keyFile: join(folder, 'root.key') }), /bad \S+root\.key is not the key of/);
  t.match(judge({ certFile: join(folder, 'root.pem'), keyFile: join(folder, 'root.key') }), /note .* is self-signed/);
  t.match(judge({ ...chain('leaf'), certFile: join(folder, 'none.pem') }), /bad .*ENOENT/);
  t.match(judge({ ...chain('leaf'), certFile: join(folder, 'leaf.key') }), /bad .* contains no certificate/);
});

t.test('the command: what it prints, JSON, exit codes', async (t) => {
  const { port, folder } = await startServer(t, demoYaml());
  const path = join(folder, 'doctor.yaml');
  const of = (used: number, rest = '') =>
    writeFileSync(path, `limits: { connections: 100 }\ndata: { folder: ${folder} }\n${demoYaml('', used)}${rest}`);
  of(port);
  const good = await airsplice(['doctor', path]);
  t.match(good.out, new RegExp(`^✔ ports: 127\\.0\\.0\\.1:${port}: airsplice answers there$`, 'm'));
  t.match(good.out, /\n\d+ good, \d+ to note, \d+ bad\n$/);
  t.notMatch(good.out, '\u001b');
  const other = net.createServer((socket) => socket.end()).listen(0, '127.0.0.1');
  await new Promise((done) => other.once('listening', done));
  t.teardown(() => other.close());
  of((other.address() as AddressInfo).port);
  const bad = await airsplice(['doctor', path, '--json']);
  t.equal(bad.code, 1);
  t.ok(JSON.parse(bad.out).some(({ about, verdict }: DoctorFinding) => about === 'ports' && verdict === 'bad'));
  writeFileSync(path, 'adresses: []\n');
  t.match(await airsplice(['doctor', path]), { code: 2, out: '', err: /did you mean addresses/ });
  t.match((await airsplice(['doctor'])).out, /→ .* doctor CONFIG/);
});
