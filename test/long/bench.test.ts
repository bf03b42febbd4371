/**
 * `npm run bench` as a program: each scenario in its quick form ends with 0, with figures, and has checked what it received; a server by URL that sends
 * something wrong is found out. Quick figures say nothing, and are not looked at. It needs the build.
 */

import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Report } from '../../bench/result.js';
import { SCENARIOS } from '../../bench/scenarios.js';
import { tempFolder } from '../kit/temp-folder.js';
import { patient } from '../kit/until.js';

const TIMEOUT_MS = patient(150_000);
/** Until this version knows the option. */
const MAY_BE_SKIPPED = ['workers', 'tls'];

t.setTimeout(TIMEOUT_MS * SCENARIOS.length);

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function bench(...args: string[]): Promise<Ended> {
  const command = ['--import', 'tsx', 'bench/run.ts', ...args];
  return new Promise((resolve) => {
    execFile(process.execPath, command, { timeout: TIMEOUT_MS }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), out, err }),
    );
  });
}

function reportIn(folder: string, name = 'last'): Report {
  return JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as Report;
}

for (const { name } of SCENARIOS)
  t.test(`${name} --quick`, { timeout: TIMEOUT_MS }, async (t) => {
    const folder = tempFolder(t);
    const { code, out, err } = await bench('--quick', '--only', name, '--out', folder);
    t.equal(code, 0, `${out}${err}`);
    const { machine, results, date } = reportIn(folder);
    t.ok(Date.parse(date) > 0);
    t.ok(machine.cores > 0 && machine.cpu && machine.versions['node'] && machine.versions['airsplice']);
    t.equal(results.length, 1);
    const [result] = results;
    t.equal(result!.scenario, name);
    if (result!.skipped !== undefined) {
      t.ok(MAY_BE_SKIPPED.includes(name), result!.skipped);
      t.match(out, `skipped: ${result!.skipped}`);
      return;
    }
    t.strictSame(result!.faults, []);
    t.ok(result!.checkedBytes > 10_000, `${result!.checkedBytes} bytes were checked`);
    t.ok(result!.rows.length > 0);
    const [first] = result!.targets;
    // A row may be of one column only: what two workers add, or one way of TLS.
    for (const { name, values } of result!.rows) {
      const figures = Object.values(values).flat();
      t.ok(figures.length > 0 && figures.every(Number.isFinite), name);
    }
    t.ok(
      result!.rows.some(({ values }) => (values[first!] ?? []).some((value) => value > 0)),
      'figures',
    );
    if (result!.rows.some(({ plot }) => plot !== undefined))
      t.ok(
        readdirSync(folder).some((file) => file.endsWith('.svg')),
        'a plot',
      );
  });

/** Answers like a stream server, then with audio whose frames do not join. */
async function brokenServer(t: Test): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write('HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\nicy-metaint: 768\r\n\r\n');
      const frame = Buffer.alloc(384);
      frame.set([0xff, 0xfb, 0x94]);
      const good = Buffer.concat([frame, frame, Buffer.of(0)]);
      let count = 0;
      const timer = setInterval(() => {
        const segment = Buffer.from(good);
        if (++count % 10 === 0) segment[0] = 0;
        socket.write(segment);
      }, 50);
      socket.once('close', () => clearInterval(timer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

t.test('any server by URL; what it sends wrong is a fault', { timeout: TIMEOUT_MS }, async (t) => {
  const [folder, url] = [tempFolder(t), await brokenServer(t)];
  const only = ['--only', 'listeners,fanout', '--listeners', '5', '--against', 'none'];
  const { code, out } = await bench('--quick', '--url', url, ...only, '--out', folder, '--save', 'broken');
  t.equal(code, 1, out);
  t.match(out, /FAULT: 127\.0\.0\.1:\d+: 5 of 5 connected; \d+ breaks \(listener 0: frames do not join/);
  t.match(out, 'skipped: it measures our own server only');
  const again = await bench('--from', `${folder}/broken.json,${folder}/broken.json`, '--markdown', '--out', folder);
  t.equal(again.code, 1, 'still a fault');
  t.match(again.out, /CPU per 1,000, cores \| \d/);
  t.match(again.out, 'medians of 2 rounds');
});

t.test('help, the list, and what is wrong', async (t) => {
  const help = await bench('--help');
  t.equal(help.code, 0);
  t.match(help.out, /^usage: npm run bench/);
  const list = await bench('--list');
  for (const { name } of SCENARIOS) t.match(list.out, new RegExp(`^${name} `, 'm'));
  const wrong = await bench('--only', 'nothing');
  t.equal(wrong.code, 2);
  t.match(wrong.err, /nothing is none of .*\n\nusage:/);
});
