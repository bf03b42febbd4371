/**
 * The cost of TLS: a listener's CPU and memory compared with one without TLS, with Icecast, and with proxies that terminate TLS; and 500 joins a
 * second, with full handshakes or tickets, with an RSA and an ECDSA certificate. c/joins.c provides the listeners and checks their data.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { missing } from '../../test/kit/program.js';
import { type Airsplice, startAirsplice } from '../airsplice.js';
import { compile, hasOpenssl } from '../compiler.js';
import type { Context, Scenario, Subject } from '../context.js';
import { startIcecast } from '../icecast.js';
import { type JoinPlan, type Joins, runJoins } from '../joining.js';
import { coresOver } from '../measure.js';
import { freePort, stopAll, usage } from '../process.js';
import { Figures } from '../result.js';
import { shares } from '../statistics.js';
import {
  type CertificateFiles,
  KEYS,
  makeCertificate,
  startHaproxyTls,
  startNginxTls,
  type TlsProxy,
} from '../tls-servers.js';

const LISTENERS = 1500;
const SECONDS = 20;
/** Joins per second; low, since Icecast's listen queue is short. */
const RATE = 200;
const JOINS_PER_SECOND = 500;
const JOIN_SECONDS = 4;
/** How long all stay after the last join; in the quick form, which may run on a busy machine, until each has audio. */
const STAY_SECONDS = 4;
const QUICK_STAY_SECONDS = 12;

/** The quick form, of a minute, has one certificate, and no joins without TLS. */
const MODES = ['full', 'resumed', 'clear'] as const;

/** A column: the URL of its listeners, and the processes whose CPU and memory count. */
interface Column {
  readonly name: string;
  readonly url: string;
  readonly pids: readonly number[];
  readonly isSecure: boolean;
  readonly isPeer: boolean;
}

interface Secured extends Airsplice {
  readonly tlsUrl: string;
}

export const tls: Scenario = {
  name: 'tls',
  summary: 'listeners over TLS: CPU and memory beside the clear; 500 joins a second with and without tickets',
  minutes: 20,
  takesUrl: false,
  async run(context: Context) {
    const figures = new Figures();
    const why = !hasOpenssl ? 'no C compiler (cc) with OpenSSL (libssl-dev)' : missing('openssl');
    if (why) return { ...figures.result(this.name, this.summary), skipped: why };
    const program = compile('joins', context.folder(), true);
    await playing(context, figures, program);
    await stopAll();
    await joining(context, figures, program);
    await stopAll();
    return figures.result(this.name, this.summary);
  },
};

/** Each column has its own processes, so that memory left by one crowd does not count for another. */
async function playing(context: Context, figures: Figures, program: string): Promise<void> {
  const files = makeCertificate('rsa', context.folder());
  const columns: Column[] = [];
  for (const subject of await context.subjectsWithWorkers()) {
    const { name, pids, tlsUrl } = await startSecured(context, subject, files);
    columns.push({ name: `${name}, TLS`, url: tlsUrl, pids, isSecure: true, isPeer: false });
  }
  const plain = await startAirsplice(context.subjects[0]!, { folder: context.folder(), playing: ['bench'] });
  columns.push({ ...plain, name: `${plain.name}, clear`, isSecure: false, isPeer: false });
  columns.push(...(await startTlsPeers(context, figures, files)));
  await sleep(context.warmSeconds * 1000);
  const idle = new Map(columns.map(({ name, pids }) => [name, usage(...pids).bytes]));
  const [size] = context.options.listeners ?? [context.either(LISTENERS, 40)];
  const seconds = context.seconds(SECONDS);
  const crowded = `${size!.toLocaleString('en')} listeners`;
  for (const round of context.rounds)
    for (const column of columns) {
      context.say(`  ${crowded}, round ${round}: ${column.name}`);
      const { name, url, pids, isSecure } = column;
      const beforeMs = (size! / RATE + context.warmSeconds) * 1000;
      const staySeconds = context.warmSeconds + seconds + 1;
      const crowd = runJoins(program, url, planOf(size!, RATE, staySeconds, isSecure));
      await sleep(beforeMs);
      const { cores, systemCores, bytes } = await coresOver(pids, seconds);
      judge(figures, column, await crowd, size!);
      const per1000 = (value: number) => (value / size!) * 1000;
      figures.add({ name: `${crowded}: CPU per 1,000`, unit: 'cores', digits: 4 }, name, per1000(cores));
      const own = { isCompared: false };
      figures.add({ name: '  of it in the kernel', unit: 'cores', digits: 4, ...own }, name, per1000(systemCores));
      figures.add({ name: '  memory each', unit: 'KiB', digits: 1 }, name, (bytes - idle.get(name)!) / size! / 1024);
      await sleep(context.either(2000, 200));
    }
}

async function startTlsPeers(context: Context, figures: Figures, files: CertificateFiles): Promise<Column[]> {
  const columns: Column[] = [];
  if (context.hasPeer('icecast')) {
    const gone = missing('icecast2', 'ffmpeg');
    if (gone) figures.notes.push(`without Icecast: ${gone}`);
    else {
      const { tlsUrl, ...icecast } = await startIcecast(context.folder(), LISTENERS, RATE, files.bothFile);
      columns.push({ ...icecast, name: 'Icecast 2, TLS', url: tlsUrl!, isSecure: true, isPeer: true });
    }
  }
  if (!context.hasPeer('nginx')) return columns;
  const starts = { nginx: startNginxTls, HAProxy: startHaproxyTls };
  for (const [name, start] of Object.entries(starts)) {
    const origin = await startAirsplice(context.subjects[0]!, { folder: context.folder(), playing: ['bench'] });
    const proxy: TlsProxy | undefined = await start(context.folder(), origin.port, files);
    if (proxy === undefined) figures.notes.push(`without ${name}: not installed`);
    else {
      const url = `http://127.0.0.1:${proxy.port}/bench`;
      columns.push({ name: proxy.name, url, pids: [...origin.pids, proxy.pid], isSecure: true, isPeer: true });
    }
  }
  return columns;
}

async function joining(context: Context, figures: Figures, program: string): Promise<void> {
  const count = context.either(JOINS_PER_SECOND * JOIN_SECONDS, 50);
  const staySeconds = context.either(STAY_SECONDS, QUICK_STAY_SECONDS);
  for (const kind of KEYS.slice(context.either(0, 1))) {
    const files = makeCertificate(kind, context.folder());
    const targets: Secured[] = [];
    for (const subject of await context.subjectsWithWorkers())
      targets.push(await startSecured(context, subject, files));
    await sleep(context.warmSeconds * 1000);
    for (const round of context.rounds)
      for (const mode of MODES.slice(0, context.either(3, 2)))
        for (const { name, url, tlsUrl, pids } of targets) {
          context.say(`  joins, ${kind}, ${mode}, round ${round}: ${name}`);
          const before = usage(...pids).cpuSeconds;
          const tls = mode === 'clear' ? {} : { tls: mode };
          const plan = { listeners: count, rate: JOINS_PER_SECOND, staySeconds, ...tls };
          const joins = await runJoins(program, mode === 'clear' ? url : tlsUrl, plan);
          const cpu = usage(...pids).cpuSeconds - before;
          judge(figures, { name: `${name}, ${kind}, ${mode}`, isPeer: false }, joins, count);
          if (mode === 'resumed' && joins.resumed < joins.joined)
            figures.faults.push(`${name}, ${kind}: ${joins.resumed} of ${count} were resumed`);
          const row = `${JOINS_PER_SECOND} joins a second, ${kind}, ${mode}`;
          for (const [share, value] of shares(joins.ms))
            figures.add({ name: `${row}: first audio, ${share} %`, unit: 'ms', digits: 1 }, name, value);
          figures.add({ name: `${row}: CPU per join`, unit: 'ms', digits: 2 }, name, (cpu / count) * 1000);
          await sleep(context.either(2000, 200));
        }
    await stopAll();
  }
}

async function startSecured(context: Context, subject: Subject, files: CertificateFiles): Promise<Secured> {
  const port = await freePort();
  const { certFile, keyFile } = files;
  const plan = { folder: context.folder(), playing: ['bench'], tls: { port, certFile, keyFile } };
  return { ...(await startAirsplice(subject, plan)), tlsUrl: `http://127.0.0.1:${port}/bench` };
}

function planOf(listeners: number, rate: number, staySeconds: number, isSecure: boolean): JoinPlan {
  return { listeners, rate, staySeconds, ...(isSecure && { tls: 'full' as const }) };
}

function judge(figures: Figures, { name, isPeer }: Pick<Column, 'name' | 'isPeer'>, joins: Joins, count: number): void {
  const { joined, failed, wrong, bytes } = joins;
  figures.checkedBytes += bytes;
  if (joined === count && failed + wrong === 0) return;
  const said = `${name}: ${joined} of ${count} joined, ${failed} were refused or dropped, ${wrong} faults in streams`;
  (isPeer ? figures.notes : figures.faults).push(said);
}
