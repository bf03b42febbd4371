/** Certificates as renewal tools replace them: links that are turned round one after the other, folders swapped, files half written. */

import { copyFileSync, mkdirSync, readFileSync, renameSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Alarm, AlarmHandler } from '../../../src/base/clock.js';
import { Certificate, type Pair } from '../../../src/net/tls/certificate.js';
import { PEM } from '../../kit/certificate.js';
import { FakeClock } from '../../kit/clock.js';
import { quietFor } from '../../kit/pause.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until } from '../../kit/until.js';

class CountingClock extends FakeClock {
  alarms = 0;

  override alarm(dueMs: number, ringer: AlarmHandler): Alarm {
    this.alarms++;
    return super.alarm(dueMs, ringer);
  }
}

const cert = (name: string) => readFileSync(`${PEM}${name}.cert.pem`);

t.test('as certbot does: links into an archive', async (t) => {
  const folder = tempFolder(t);
  const at = (...names: string[]) => join(folder, ...names);
  for (const name of ['live', 'archive']) mkdirSync(at(name));
  for (const [n, name] of ['one', 'two'].entries()) {
    copyFileSync(`${PEM}${name}.cert.pem`, at('archive', `cert${n + 1}.pem`));
    copyFileSync(`${PEM}${name}.key.pem`, at('archive', `key${n + 1}.pem`));
  }
  // A link under its name at once, as `ln -sf` and certbot make it.
  const turn = (file: string, n: number) => {
    symlinkSync(`../archive/${file}${n}.pem`, at('live', 'new'));
    renameSync(at('live', 'new'), at('live', `${file}.pem`));
  };
  for (const file of ['cert', 'key']) turn(file, 1);

  const clock = new CountingClock();
  const renewed: Buffer[] = [];
  const refused: string[] = [];
  const files = { certFile: at('live', 'cert.pem'), keyFile: at('live', 'key.pem') };
  const certificate = new Certificate(files, clock, {
    onRenewed: (pair) => void renewed.push(pair.cert),
    onRefused: (reason) => void refused.push(reason),
  });
  t.teardown(() => certificate.stop());
  t.ok(certificate.first!.cert.equals(cert('one')));
  /** Some looks at the files: at the end of each the next one is set. */
  const look = async (times = 3) => {
    for (let i = 0; i < times; i++) {
      const { alarms } = clock;
      clock.advance(2000);
      await until(() => clock.alarms > alarms, 2000, undefined, 1);
    }
  };
  const is = (counts: readonly [number, number]) =>
    until(
      () => renewed.length === counts[0] && refused.length === counts[1],
      2000,
      () => `${renewed.length} renewed, ${refused}`,
    );

  await look();
  await is([0, 0]);
  turn('cert', 2);
  await look();
  await is([0, 1]);
  t.match(refused[0], /mismatch/, 'between the two links the old pair stays, reported once');
  turn('key', 2);
  await look();
  await is([1, 1]);
  t.ok(renewed[0]!.equals(cert('two')));

  // What lies behind the links is replaced, without the links being touched.
  writeFileSync(at('archive', 'cert2.pem'), cert('two').subarray(0, 300));
  await look();
  await is([1, 2]);
  writeFileSync(at('archive', 'cert2.pem'), cert('two'));
  await look();
  await is([1, 2]);
  utimesSync(at('archive', 'cert2.pem'), new Date(), new Date());
  await look();
  await is([1, 2]);

  // A whole folder behind one link, as orchestrators mount secrets; for a moment it is gone.
  renameSync(at('archive'), at('away'));
  await look(20);
  await is([1, 3]);
  t.match(refused[2], /ENOENT/);
  t.notMatch(refused.join(), /BEGIN|PRIVATE/);
  renameSync(at('away'), at('archive'));
  for (const file of ['cert', 'key']) turn(file, 1);
  await look();
  await is([2, 3]);
  t.ok(renewed[1]!.equals(cert('one')));
  certificate.stop();
  for (const file of ['cert', 'key']) turn(file, 2);
  clock.advance(6000);
  await quietFor(50);
  await is([2, 3]);
});

t.test('one that the server gets by itself: missing, damaged, there', async (t) => {
  const file = join(tempFolder(t), 'pair.pem');
  const pair = (name: string) => Buffer.concat([cert(name), readFileSync(`${PEM}${name}.key.pem`)]);
  const clock = new CountingClock();
  const renewed: Buffer[] = [];
  const refused: string[] = [];
  const output = {
    onRenewed: (pair: Pair) => void renewed.push(pair.cert),
    onRefused: (reason: string) => void refused.push(reason),
  };
  const certificate = new Certificate({ certFile: file, keyFile: file, isOwn: true }, clock, output);
  t.teardown(() => certificate.stop());
  t.equal(certificate.first, null);
  const look = async () => {
    for (let i = 0; i < 3; i++) {
      const { alarms } = clock;
      clock.advance(2000);
      await until(() => clock.alarms > alarms, 2000, undefined, 1);
    }
  };
  await look();
  t.same(refused, [], 'it is not missed');
  writeFileSync(file, pair('one'));
  await look();
  t.ok(renewed[0]!.equals(pair('one')));
  writeFileSync(file, 'no PEM');
  await look();
  t.equal(refused.length, 1);
  writeFileSync(file, pair('two'));
  await look();
  t.ok(renewed[1]!.equals(pair('two')));
  t.equal(refused.length, 1);
  const next = new Certificate({ certFile: file, keyFile: file, isOwn: true }, clock, output);
  t.ok(next.first!.cert.equals(pair('two')));
  next.stop();
  writeFileSync(file, 'no PEM');
  const damaged = new Certificate({ certFile: file, keyFile: file, isOwn: true }, clock, output);
  t.equal(damaged.first, null, 'it stops no start');
  damaged.stop();
});
