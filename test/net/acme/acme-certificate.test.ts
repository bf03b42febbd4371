/** When a certificate is ordered, and when not: by a false clock, with real files. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { AcmeConfig } from '../../../src/config/addresses/tls.js';
import { AcmeCertificate, ORDERS_AN_HOUR } from '../../../src/net/acme/acme-certificate.js';
import { AcmeFiles, type KeptPair, pairOf } from '../../../src/net/acme/acme-files.js';
import { newKey } from '../../../src/net/acme/acme-key.js';
import type { AcmeTurn, SharedCertificate } from '../../../src/net/acme/acme-turn.js';
import { OrderRefused } from '../../../src/net/acme/order-refused.js';
import { FakeClock } from '../../kit/clock.js';
import { missing } from '../../kit/program.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until } from '../../kit/until.js';

const skip = missing('openssl');
const [MINUTE_MS, HOUR_MS, DAY_MS] = [60_000, 3_600_000, 86_400_000];
const acme: AcmeConfig = { domains: ['a.test'], directoryUrl: 'http://x.test/dir' };

/** A pair that is valid for so many days, from the second of this call. */
function made(t: Test, days: number, names = 'DNS:a.test'): string {
  const key = join(tempFolder(t), 'key');
  const args = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-subj',
    '/CN=a.test',
    '-addext',
    `subjectAltName=${names}`,
  ];
  const pem = execFileSync('openssl', [...args, '-days', `${days}`, '-keyout', key], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return `${pem}${readFileSync(key, 'utf8')}`;
}

class Subject {
  readonly folder: string;
  readonly clock = new FakeClock(1_000_000, Date.now());
  /** When each was ordered, minutes from the start. */
  readonly ordered: number[] = [];
  readonly failed: [string, number][] = [];
  readonly issued: KeptPair[] = [];
  readonly damaged: string[] = [];
  readonly errors: unknown[] = [];
  missing = 0;
  readonly #startMs = this.clock.now();
  isProved = true;
  random = 0.5;
  next: () => string = () => {
    throw new OrderRefused('no');
  };
  readonly #turn: AcmeTurn | null;
  readonly #acme: AcmeConfig;
  certificate: AcmeCertificate;
  looks = 0;

  constructor(t: Test, turn: AcmeTurn | null = null, folder = join(tempFolder(t), 'acme', 'a'), config = acme) {
    this.#acme = config;
    this.folder = folder;
    this.#turn = turn;
    this.certificate = this.restarted();
  }

  restarted(): AcmeCertificate {
    const files = new AcmeFiles(this.folder, (file) => this.damaged.push(file));
    const turn = this.#turn;
    this.certificate = new AcmeCertificate(
      {
        acme: this.#acme,
        files,
        turn,
        clock: this.clock,
        order: async () => {
          this.ordered.push(Math.round((this.clock.now() - this.#startMs) / MINUTE_MS));
          return this.next();
        },
        isProved: async () => {
          this.looks++;
          return this.isProved;
        },
        random: () => this.random,
      },
      {
        onMissing: () => {
          this.missing++;
        },
        onIssued: (pair) => this.issued.push(pair),
        onFailed: (reason, pauseMs) => this.failed.push([reason, pauseMs]),
        onError: (error) => this.errors.push(error),
      },
    );
    return this.certificate;
  }

  /** As the server does once a second, in steps of this. */
  async pass(ms: number, stepMs = MINUTE_MS): Promise<void> {
    for (let left = ms; left >= 0; left -= stepMs) {
      await this.look();
      this.clock.spend(stepMs);
    }
  }

  async look(): Promise<void> {
    const { certificate } = this;
    certificate.look(this.clock.now());
    await until(() => !certificate.isBusy, 5000, undefined, 0);
  }
}

t.test('failures: the pauses double, are spread, and are said once', async (t) => {
  const subject = new Subject(t);
  await subject.pass(22 * HOUR_MS);
  // 2, 4, 8 minutes, and then the limit of an hour.
  t.same(subject.ordered.slice(0, 7), [0, 2, 6, 14, 60, 92, 156]);
  t.same(subject.failed, [['no', 120_000]]);
  const pauses = subject.ordered.map((at, i) => at - (subject.ordered[i - 1] ?? 0));
  t.equal(Math.max(...pauses), 360, 'six hours at most');
  subject.next = () => {
    throw new OrderRefused('another reason');
  };
  subject.random = 0.999_999;
  await subject.pass(12 * HOUR_MS);
  t.match(subject.failed[1], ['another reason', Number]);
  t.equal(Math.round(subject.failed[1]![1] / MINUTE_MS), 450, 'a quarter later, or earlier');
  t.equal(subject.certificate.problem, 'another reason');
  t.equal(subject.certificate.counts.failed, subject.ordered.length);
  t.same(subject.errors, []);
});

t.test('files that cannot be read: said once, and again where it is for another reason', async (t) => {
  const subject = new Subject(t);
  await subject.look();
  const account = join(subject.folder, 'account.pem');
  rmSync(account);
  mkdirSync(account);
  await subject.pass(10 * MINUTE_MS);
  t.match(subject.errors, [{ code: 'EISDIR' }]);
  t.equal(subject.ordered.length, 1, 'nothing is ordered meanwhile');
  rmSync(account, { recursive: true });
  await subject.pass(2 * MINUTE_MS);
  t.equal(subject.ordered.length, 2);
  rmSync(account);
  mkdirSync(account);
  await subject.pass(2 * MINUTE_MS);
  t.equal(subject.errors.length, 2);
});

t.test('as the authority says', async (t) => {
  const subject = new Subject(t);
  subject.next = () => {
    throw new OrderRefused('too many', 5 * HOUR_MS);
  };
  await subject.pass(6 * HOUR_MS);
  t.same(subject.ordered, [0, 300]);
});

t.test('however often the server starts: no more than some an hour', async (t) => {
  const subject = new Subject(t);
  for (let i = 0; i < 3 * 60; i++) {
    subject.restarted();
    await subject.pass(0);
  }
  const within = (from: number) => subject.ordered.filter((at) => at >= from && at < from + 60).length;
  for (let from = 0; from < 120; from++) t.ok(within(from) <= ORDERS_AN_HOUR, `${from}: ${subject.ordered}`);
  t.ok(subject.ordered.length >= 3 * ORDERS_AN_HOUR - 1, `${subject.ordered}`);
  // A clock that was ahead keeps nothing back.
  writeFileSync(join(subject.folder, 'orders.json'), JSON.stringify(Array(9).fill(subject.clock.wallMs() + DAY_MS)));
  const before = subject.ordered.length;
  subject.restarted();
  await subject.pass(0);
  t.equal(subject.ordered.length, before + 1);
});

t.test('renewed when two thirds are over, and ordered anew where it is gone or damaged', { skip }, async (t) => {
  const subject = new Subject(t);
  const [first, second, over] = [made(t, 90), made(t, 400), made(t, 80)];
  subject.next = () => first;
  await subject.pass(0);
  t.same(
    subject.issued.map(({ pem }) => pem),
    [first],
  );
  t.equal(subject.missing, 1);
  subject.next = () => second;
  await subject.pass(60 * DAY_MS - 2 * HOUR_MS, HOUR_MS);
  t.equal(subject.ordered.length, 1);
  // One that is to be renewed at once is not ordered again and again.
  subject.next = () => over;
  subject.clock.spend(3 * HOUR_MS);
  await subject.pass(13 * MINUTE_MS);
  t.same(
    subject.failed.map(([reason]) => /clock/.test(reason)),
    [true],
  );
  t.equal(subject.ordered.length, 1 + 3, `${subject.ordered}`);
  const { length } = subject.ordered;
  subject.next = () => second;
  subject.restarted();
  await subject.pass(3 * HOUR_MS, HOUR_MS);
  t.equal(subject.ordered.length, length + 1);
  t.equal(readFileSync(join(subject.folder, 'certificate.pem'), 'utf8'), second);

  const [other, account] = [join(subject.folder, 'certificate.pem'), join(subject.folder, 'account.pem')];
  const key = readFileSync(account, 'utf8');
  for (const bad of [
    '',
    'x',
    second.slice(0, 700),
    second.slice(0, -120),
    `${first.slice(0, first.indexOf('-----BEGIN PRIVATE'))}${newKey()}`,
    'y'.repeat(300_000),
  ]) {
    subject.clock.spend(HOUR_MS);
    subject.next = () => made(t, 400);
    const before = subject.ordered.length;
    writeFileSync(other, bad);
    await subject.pass(0);
    t.equal(subject.ordered.length, before + 1, `${bad.length} bytes`);
    t.ok(pairOf(readFileSync(other, 'utf8')));
  }
  t.equal(readFileSync(account, 'utf8'), key, 'the account stays');
  writeFileSync(account, 'x');
  await subject.pass(0);
  t.not(readFileSync(account, 'utf8'), key);
  t.same(readdirSync(subject.folder).sort(), [
    'account.pem',
    'account.pem.damaged',
    'certificate.pem',
    'certificate.pem.damaged',
    'orders.json',
  ]);
  t.equal(subject.damaged.length, 7);
  t.same(subject.errors, []);
});

t.test('none is ordered before this server answers the authority, for half a minute', async (t) => {
  const subject = new Subject(t);
  subject.isProved = false;
  await subject.pass(20_000, 1000);
  t.equal(subject.ordered.length, 0);
  subject.isProved = true;
  await subject.pass(3000, 1000);
  t.equal(subject.ordered.length, 1);
  const { looks } = subject;
  await subject.pass(HOUR_MS);
  t.equal(subject.looks, looks, 'it is asked once');
  const other = new Subject(t);
  other.isProved = false;
  await other.pass(29_000, 1000);
  t.equal(other.ordered.length, 0);
  await other.pass(4000, 1000);
  t.equal(other.ordered.length, 1);
});

t.test('other domains: what there was serves until there is a new one', { skip }, async (t) => {
  const all = join(tempFolder(t), 'acme');
  const keep = (name: string, pem: string) => {
    mkdirSync(join(all, name), { recursive: true });
    writeFileSync(join(all, name, 'certificate.pem'), pem);
  };
  const both = { ...acme, domains: ['a.test', 'b.test'] };
  const former = made(t, 90);
  keep('other', made(t, 90, 'DNS:c.test'));
  keep('damaged', 'x');
  keep('former', former);
  const subject = new Subject(t, null, join(all, 'now'), both);
  const kept = () => readFileSync(join(all, 'now', 'certificate.pem'), 'utf8');
  await subject.pass(0);
  t.equal(kept(), former);
  t.equal(subject.missing, 0);
  t.equal(subject.ordered.length, 1, 'a new one is ordered at once');
  const whole = made(t, 60, 'DNS:a.test,DNS:b.test');
  subject.next = () => whole;
  subject.clock.spend(HOUR_MS);
  await subject.pass(0);
  t.equal(kept(), whole);
  await subject.pass(HOUR_MS);
  t.equal(subject.ordered.length, 2);
  // What has expired serves nobody.
  const late = new Subject(t, null, join(all, 'later'), both);
  late.clock.spend(91 * DAY_MS);
  await late.pass(0);
  t.equal(late.missing, 1);
  t.same(subject.errors, []);
});

t.test('the turn of another machine', { skip }, async (t) => {
  const [old, young] = [made(t, 30), made(t, 60)];
  const said: SharedCertificate[] = [];
  let heard: SharedCertificate | null = null;
  let wasSaid = false;
  const turn = {
    isOwn: false,
    say: (shared: SharedCertificate) => void said.push(shared),
    wasSaid: () => wasSaid,
    heard: () => heard,
  };
  const subject = new Subject(t, turn);
  subject.next = () => made(t, 90);
  await subject.pass(HOUR_MS);
  t.equal(subject.ordered.length, 0);
  const read = (name: string) => readFileSync(join(subject.folder, name), 'utf8');
  heard = { account: newKey(), pair: old };
  await subject.pass(0);
  t.equal(read('account.pem'), heard.account);
  t.equal(read('certificate.pem'), old);
  for (const bad of [
    { account: 'x', pair: young },
    { account: heard.account, pair: 'x' },
  ]) {
    heard = bad;
    await subject.pass(0);
    t.equal(read('certificate.pem'), old);
  }
  heard = { account: read('account.pem'), pair: young };
  await subject.pass(0);
  t.equal(read('certificate.pem'), young);
  heard = { account: read('account.pem'), pair: old };
  await subject.pass(0);
  t.equal(read('certificate.pem'), young, 'an older one does not come back');
  t.equal(subject.issued.length, 2);
  // It is this machine's now; the others know the account first.
  turn.isOwn = true;
  subject.clock.spend(45 * DAY_MS);
  await subject.pass(0);
  t.same(said.at(-1), { account: read('account.pem'), pair: young });
  t.equal(subject.ordered.length, 0);
  wasSaid = true;
  await subject.pass(0);
  t.equal(subject.ordered.length, 1);
  t.equal(said.at(-1)!.pair, read('certificate.pem'));
  t.same(subject.errors, []);
});
