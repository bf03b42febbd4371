/**
 * Certificates that the server gets by itself, from Debian's `pebble` by HTTP-01, seen by openssl and curl: in one process, with workers, on two
 * machines, and over what can go wrong.
 */

import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { ClusterNode } from '../kit/nodes.js';
import { noPebble, Pebble } from '../kit/pebble.js';
import { freePorts, ServerProcess } from '../kit/process.js';
import { Receiver } from '../kit/receiver.js';
import { noRedis, RedisServer } from '../kit/redis.js';
import { atOnce, DEMO_AUDIO } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

t.jobs = atOnce(2);

const LONG_MS = 30_000;
const DOMAINS = ['radio.example.org', 'www.example.org'];
const run = promisify(execFile);

interface Shown {
  readonly serial: string;
  readonly text: string;
  readonly isVerified: boolean;
}

/** What openssl gets in a handshake, checked against this root; null: no certificate. */
async function shown(port: number, root: string, folder: string): Promise<Shown | null> {
  const ca = join(folder, 'root.pem');
  writeFileSync(ca, root);
  const client = `openssl s_client -connect 127.0.0.1:${port} -servername ${DOMAINS[0]} -verify_hostname ${DOMAINS[0]} -CAfile ${ca}`;
  const { stdout } = await run('sh', ['-c', `${client} </dev/null 2>&1 || true`]);
  const [pem] = /-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/s.exec(stdout) ?? [];
  if (pem === undefined) return null;
  const { serialNumber: serial } = new X509Certificate(pem);
  return { serial, text: stdout, isVerified: stdout.includes('Verify return code: 0 (ok)') };
}

interface Station {
  readonly folder: string;
  readonly port: number;
  readonly tlsPort: number;
  readonly yaml: string;
}

const acmeOf = (url: string, caFile: string, more = '') =>
  `{ domains: [${DOMAINS}], email: office@example.org, directoryUrl: '${url}', caFile: ${caFile}${more} }`;

async function stationWith(t: Test, acme: string, more = '', port?: number): Promise<Station> {
  const [folder, first] = [tempFolder(t), port ?? (await freePorts(4))];
  const yaml = `addresses:
  - { host: 127.0.0.1, port: ${first} }
  - { host: 127.0.0.1, port: ${first + 2}, tls: { acme: ${acme} } }
data: { folder: data }
${more}
stations:
  house:
    channels:
      demo: { sources: [{ type: file, path: ${DEMO_AUDIO} }] }
`;
  writeFileSync(join(folder, 'config.yaml'), yaml);
  return { folder, port: first, tlsPort: first + 2, yaml };
}

async function startAt(t: Test, { folder, port }: Station, env: NodeJS.ProcessEnv = {}): Promise<ServerProcess> {
  const server = new ServerProcess(t, port, [join(folder, 'config.yaml')], env);
  await server.ready();
  return server;
}

/** The folder of its one certificate. */
function keptIn(folder: string): string {
  const acme = join(folder, 'data', 'acme');
  return join(acme, readdirSync(acme)[0]!);
}

const metric = async (port: number, name: string) => {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return text.split('\n').filter((line) => line.startsWith(name));
};

t.test(
  'the first certificate, kept, and renewed at two thirds of its life',
  { skip: noPebble, timeout: 240_000 },
  async (t) => {
    const port = await freePorts(4);
    const pebble = await Pebble.start(t, { httpPort: port, validSeconds: 45 });
    const station = await stationWith(t, acmeOf(pebble.url, pebble.caFile), 'workers: 2', port);
    const server = await startAt(t, station);
    const root = await pebble.root();
    let first: Shown | null = null;
    /** Each of many handshakes, which come to both workers, shows this one. */
    const everywhere = (serial: string) =>
      until(async () => {
        for (let i = 0; i < 12; i++) {
          if ((await shown(station.tlsPort, root, station.folder))?.serial !== serial) return false;
        }
        return true;
      }, 10_000);
    const seen = async () => (first = await shown(station.tlsPort, root, station.folder)) !== null;
    await until(seen, LONG_MS, () => `${server.out}${server.err}${pebble.said}`);
    t.ok(first!.isVerified, first!.text);

    const kept = keptIn(station.folder);
    for (const path of [join(station.folder, 'data', 'acme'), kept]) t.equal(statSync(path).mode & 0o777, 0o700, path);
    for (const file of readdirSync(kept)) t.equal(statSync(join(kept, file)).mode & 0o777, 0o600, file);
    t.same(readdirSync(kept).sort(), ['account.pem', 'certificate.pem', 'orders.json']);
    t.notMatch(server.out + server.err, /PRIVATE/);

    await everywhere(first!.serial);

    // curl plays by it, and its connection outlives the renewal.
    const ca = join(station.folder, 'root.pem');
    const resolve = `${DOMAINS[1]}:${station.tlsPort}:127.0.0.1`;
    const played = run('curl', [
      '-sS',
      '--cacert',
      ca,
      '--resolve',
      resolve,
      '-m',
      '40',
      '-o',
      '/dev/null',
      '-w',
      '%{size_download} %{ssl_verify_result}',
      `https://${DOMAINS[1]}:${station.tlsPort}/demo`,
    ]).catch((error) => error);
    let expires = '';
    await until(async () => {
      [expires = ''] = await metric(station.port, 'airsplice_certificate_expires_seconds{');
      return expires !== '';
    }, LONG_MS);
    t.match(expires, `address="127.0.0.1:${station.tlsPort}"`);
    const ends = Number(expires.split(' ')[1]) - Date.now() / 1000;
    t.ok(ends > 0 && ends <= 45, expires);

    let next: Shown | null = null;
    await until(
      async () => {
        next = await shown(station.tlsPort, root, station.folder);
        return next !== null && next.serial !== first!.serial;
      },
      60_000,
      () => server.err,
    );
    t.ok(next!.isVerified, next!.text);
    t.match(await metric(station.port, 'airsplice_certificate_orders_total{'), [
      /outcome="issued"\} 2/,
      /outcome="failed"\} 0/,
    ]);
    await everywhere(next!.serial);
    const { stdout } = await played;
    t.match(stdout, /^\d{5,} 0$/, 'one connection all the time');

    // With what is on the disk the next start has it at once, whether the authority is there or not.
    await pebble.kill();
    await server.end('SIGTERM');
    const again = await startAt(t, station);
    t.equal((await shown(station.tlsPort, root, station.folder))?.serial, next!.serial);
    await again.end('SIGTERM');

    // Damaged files are moved aside, and stop no start.
    writeFileSync(join(kept, 'certificate.pem'), 'no PEM');
    writeFileSync(join(kept, 'account.pem'), '');
    writeFileSync(join(kept, 'orders.json'), '[');
    const other = await Pebble.start(t, { httpPort: port }, pebble.port);
    const last = await startAt(t, station);
    const otherRoot = await other.root();
    await until(
      async () => (await shown(station.tlsPort, otherRoot, station.folder))?.isVerified === true,
      LONG_MS,
      () => last.out + last.err,
    );
    t.same(
      readdirSync(kept)
        .filter((name) => name.endsWith('.damaged'))
        .sort(),
      ['account.pem.damaged', 'certificate.pem.damaged', 'orders.json.damaged'],
    );
  },
);

/** What a machine answers to the authority. */
function proofOf(port: number, path: string, host: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = http.get({ host: '127.0.0.1', port, path, headers: { host }, agent: false }, (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      answer.on('end', () => resolve(`${answer.statusCode} ${body}`));
    });
    asked.on('error', reject);
  });
}

t.test('two machines: one orders, both prove and serve', { skip: noPebble || noRedis, timeout: 240_000 }, async (t) => {
  const redis = await RedisServer.start(t);
  const [tlsPorts, asked] = [await freePorts(2), await freePorts(2)];
  const pebble = await Pebble.start(t, { httpPort: asked });
  const acme = acmeOf(pebble.url, pebble.caFile);
  const starting = ['one', 'two'].map((name, i) =>
    ClusterNode.start(t, name, redis, {
      workers: 1,
      addresses: `, { host: 127.0.0.1, port: ${tlsPorts + i}, shoutcastPort: false, tls: { acme: ${acme} } }`,
    }),
  );
  // The authority asks any of them, whichever has ordered.
  const proofs: string[][] = [];
  const proxy = http.createServer(async ({ url, headers }, response) => {
    const nodes = await Promise.all(starting);
    const got = await Promise.all(nodes.map(({ port }) => proofOf(port, url!, headers.host!)));
    proofs.push(got);
    response.end(got[0]!.slice(4));
  });
  await new Promise<void>((done) => proxy.listen(asked, '127.0.0.1', done));
  t.teardown(() => proxy.close());
  const [one, two] = (await Promise.all(starting)) as [ClusterNode, ClusterNode];
  const root = await pebble.root();
  const seen = async (port: number) => await shown(port, root, two.folder);
  const said = () => `${one.said}${two.said}${pebble.said}${JSON.stringify(proofs)}`;
  await until(async () => (await seen(tlsPorts)) !== null && (await seen(tlsPorts + 1)) !== null, LONG_MS, said);
  t.ok(proofs.length >= DOMAINS.length);
  for (const [first, second] of proofs) {
    t.match(first, /^200 [\w-]+\.[\w-]{43}$/);
    t.equal(first, second);
  }
  const both = [await seen(tlsPorts), await seen(tlsPorts + 1)];
  t.ok(both.every((each) => each?.isVerified));
  t.equal(both[0]!.serial, both[1]!.serial);
  const issued = await Promise.all([one, two].map(({ port }) => metric(port, 'airsplice_certificate_orders_total{')));
  t.equal(issued.flat().filter((line) => line.endsWith('outcome="issued"} 1')).length, 1, issued.join('\n'));
  const read = (node: ClusterNode, file: string) => readFileSync(join(keptIn(node.folder), file), 'utf8');
  t.equal(read(one, 'account.pem'), read(two, 'account.pem'));
  t.equal(read(one, 'certificate.pem'), read(two, 'certificate.pem'));
  const { stdout: facts } = await run('redis-cli', ['-p', `${redis.port}`, 'HGETALL', 'airsplice:facts']);
  t.match(facts, /example\.org-[0-9a-f]+\/certificate/);
  t.notMatch(facts, /BEGIN|PRIVATE/);
});

t.test(
  'before the first certificate, and an account that the authority must know',
  { skip: noPebble, timeout: 240_000 },
  async (t) => {
    const port = await freePorts(4);
    const key = Buffer.alloc(32, 7).toString('base64url');
    const pebble = await Pebble.start(t, { httpPort: port, macKeys: { 'kid-1': key } });
    await pebble.kill();
    const eab = ", eab: { keyId: kid-1, key: 'env:MAC_KEY' }";
    const alerts = await Receiver.open(t);
    const more = `alerts: { afterSeconds: 0, webhooks: [{ url: '${alerts.url}' }] }`;
    const station = await stationWith(t, acmeOf(pebble.url, pebble.caFile, eab), more, port);
    const server = await startAt(t, station, { MAC_KEY: key });
    const said = () => server.out + server.err;
    await until(() => /no certificate: TLS is refused/.test(said()), LONG_MS, said);
    t.match(said(), /ECONNREFUSED/);
    t.match(said(), /no certificate yet: ordering one/);
    t.equal(said().split('no certificate: TLS').length, 2, 'it says so once');
    t.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200, 'all else is served');
    const refused = await run('sh', [
      '-c',
      `openssl s_client -connect 127.0.0.1:${station.tlsPort} </dev/null 2>&1 || true`,
    ]);
    t.match(refused.stdout, /alert handshake failure/);
    await until(() => alerts.received.some(({ body }) => /No certificate for 127/.test(body)), 60_000);
    // The operator has mended it, and starts anew.
    await server.end('SIGTERM');
    const back = await Pebble.start(t, { httpPort: port, macKeys: { 'kid-1': key } }, pebble.port);
    const next = await startAt(t, station, { MAC_KEY: key });
    const root = await back.root();
    const isThere = async () => (await shown(station.tlsPort, root, station.folder))?.isVerified === true;
    await until(isThere, LONG_MS, () => `${next.out}${next.err}${back.said}`);

    // Another domain, by a reload: TLS is served all the time, and soon by a certificate for all of them.
    const third = 'third.example.org';
    writeFileSync(join(station.folder, 'config.yaml'), station.yaml.replace(DOMAINS[1]!, third));
    next.child.kill('SIGHUP');
    const names = async () => {
      const socket = connect({ host: '127.0.0.1', port: station.tlsPort, rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      const { subjectaltname = '' } = socket.getPeerCertificate();
      socket.destroy();
      return subjectaltname;
    };
    let shakes = 0;
    await until(
      async () => {
        shakes++;
        return (await names()).includes(third);
      },
      LONG_MS,
      () => `${next.out}${next.err}${back.said}`,
    );
    t.ok(shakes > 1, 'the former one was served meanwhile');
    t.ok(await isThere());
  },
);
