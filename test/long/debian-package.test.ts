/**
 * The Debian package on a machine of its own, with a real systemd: it is installed and plays, an upgrade cuts nobody, the watchdog acts, logs are rotated,
 * and a purge leaves nothing. All of it in the limits of the unit that ships.
 */

import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { needsOf } from '../kit/debian-depends.js';
import { DebianMachine } from '../kit/debian-machine.js';
import { buildPackages, withoutPackage } from '../kit/debian-package.js';
import { linksOf } from '../kit/links.js';
import { DEMO_AUDIO } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

const CONFIG = '/etc/airsplice/airsplice.yaml';
const BASE = 'http://127.0.0.1:8000';

t.test('the Debian package: installed, upgraded, watched, rotated, purged', { skip: withoutPackage() }, async (t) => {
  const folder = tempFolder(t);
  const shared = join(folder, 'shared');
  mkdirSync(shared);
  await buildPackages(shared);
  await t.test('it has the licences of what is bundled, in its copyright too', async (t) => {
    const tree = join(shared, 'tree');
    const licences = readFileSync(join(tree, 'usr/lib/airsplice/dist/THIRD-PARTY-LICENSES'), 'utf8');
    t.match(licences, /^fastify \d/m);
    const copyright = readFileSync(join(tree, 'usr/share/doc/airsplice/copyright'), 'utf8');
    t.ok(copyright.startsWith('MIT License\n\nCopyright (c) 2026 The airsplice authors'));
    t.ok(copyright.endsWith(licences));
  });
  await t.test('what the README links to is there', async (t) => {
    const doc = join(shared, 'tree', 'usr/share/doc/airsplice');
    const links = linksOf(readFileSync(join(doc, 'README.md'), 'utf8'));
    t.ok(links.length > 15, 'links were found');
    for (const link of links) {
      const isThere = existsSync(join(doc, link)) || existsSync(join(doc, `${link}.gz`));
      t.ok(isThere, link);
    }
  });
  await t.test('it depends on what it needs, which this machine may have anyway', async (t) => {
    const { libraries, programs, missing } = needsOf(join(shared, 'first.deb'), join(folder, 'unpacked'));
    for (const name of ['libstdc++', 'libc.so'])
      t.ok(
        libraries.some((path) => path.includes(name)),
        name,
      );
    for (const name of ['node', 'adduser', 'pgrep', 'deb-systemd-helper']) t.ok(programs.includes(name), name);
    // Recommended: it is called only where it runs.
    t.strictSame(missing, ['systemctl (systemd)']);
  });
  const machine = await DebianMachine.boot(t, folder, shared);
  const show = (property: string) => machine.do(`systemctl show -P ${property} airsplice`);
  const isReady = async () => (await machine.run(`curl -sf -m 5 ${BASE}/readyz`)).code === 0;
  const playing = (what: string) => until(isReady, 60_000, () => `not ready ${what}`);
  const hubOf = async (pid: string) => (await machine.run(`pgrep -P ${pid} -f '^airsplice hub'`)).out;

  const installed = await machine.do('dpkg -i /mnt/first.deb');
  t.match(installed, /airsplice.yaml was made/);
  t.equal(await machine.do('systemctl is-active airsplice'), 'active');
  t.equal(await machine.do('systemctl is-enabled airsplice'), 'enabled');
  await playing('after the installation');
  t.equal(await show('StatusText'), 'serving at port 8000');
  t.equal(await machine.do(`stat -c '%U:%G %a' ${CONFIG} /etc/airsplice/secrets`), 'root:airsplice 640\nroot:root 600');
  const main = await show('MainPID');
  t.equal(await machine.do(`stat -c %U /proc/${main}`), 'airsplice');
  t.equal(
    (await machine.run('runuser -u airsplice -- cat /etc/airsplice/secrets')).code,
    1,
    'the service does not know them',
  );
  t.equal((await machine.run(`airsplice check ${CONFIG}`)).code, 0);
  t.match(await machine.do('airsplice --version'), /0\.1\.0/);

  // On air, with a title.
  const secrets = await machine.do('cat /etc/airsplice/secrets');
  const [, password, token] = /password: (\S+)\npush token: (\S+)/.exec(secrets)!;
  writeFileSync(join(shared, 'demo.mp3'), readFileSync(DEMO_AUDIO));
  const to = `icecast://source:${password}@127.0.0.1:8000/live.mp3`;
  const encoder = machine.spawn(
    t,
    `ffmpeg -v error -re -stream_loop -1 -i /mnt/demo.mp3 -c copy -f mp3 -content_type audio/mpeg ${to}`,
  );
  await until(
    async () => (await machine.run(`curl -sf -m 5 -o /dev/null -r 0-0 -I ${BASE}/live.mp3`)).code === 0,
    60_000,
  );
  await machine.do(`curl -sf '${BASE}/metapush/live/${token}?artist=Nina&song=Simone&duration=100'`);
  const listener = machine.spawn(t, `curl -sf -H 'Icy-MetaData: 1' -o /mnt/heard ${BASE}/live.mp3`);
  const heardBytes = () => (existsSync(join(shared, 'heard')) ? statSync(join(shared, 'heard')).size : 0);
  await until(
    () => heardBytes() > 100_000,
    60_000,
    () => 'nothing is heard',
  );

  // An upgrade, under both.
  const upgraded = await machine.do('dpkg -i /mnt/next.deb');
  t.match(upgraded, /the new version serves/);
  t.match(await machine.do('airsplice --version'), /0\.1\.1/);
  t.equal(await show('MainPID'), main);
  t.equal(await show('NRestarts'), '0');
  const before = heardBytes();
  await until(
    () => heardBytes() > before + 100_000,
    60_000,
    () => 'the listener hears no more',
  );
  t.equal(listener.exitCode, null, 'the listener is still there');
  t.equal(encoder.exitCode, null, 'and the encoder');
  t.match(readFileSync(join(shared, 'heard'), 'latin1'), /StreamTitle='Nina - Simone'/);
  await machine.do('systemctl reload airsplice');
  await until(
    async () => (await show('ActiveState')) === 'active',
    30_000,
    () => 'reloading for ever',
  );

  // The log, as its own user.
  listener.kill();
  await machine.do('pkill -x curl || true');
  await until(async () => (await machine.run('grep -c live.mp3 /var/log/airsplice/access.log')).code === 0, 30_000);
  await machine.do('logrotate --force /etc/logrotate.d/airsplice');
  await until(async () => (await machine.run('test -e /var/log/airsplice/access.log')).code === 0, 30_000);
  t.equal((await machine.do('ls /var/log/airsplice')).split('\n').length, 2);

  // Without workers an upgrade leaves the running server alone.
  await machine.do(`sed -i 's/^workers: auto/workers: 0/' ${CONFIG} && systemctl restart airsplice`);
  await playing('without workers');
  const alone = await show('MainPID');
  t.match(await machine.do('dpkg -i /mnt/first.deb'), /the old version goes on/);
  t.equal(await show('MainPID'), alone);

  // The watchdog: a process that stands still is replaced.
  await machine.do('mkdir -p /run/systemd/system/airsplice.service.d');
  machine.write('/run/systemd/system/airsplice.service.d/quick.conf', '[Service]\nWatchdogSec=4\n');
  await machine.do('systemctl daemon-reload && systemctl restart airsplice');
  await playing('with a quick watchdog');
  const stood = await show('MainPID');
  await machine.do(`kill -STOP ${stood}`);
  await until(
    async () => (await show('NRestarts')) === '1',
    60_000,
    () => 'the watchdog does nothing',
  );
  await playing('after the watchdog');
  t.not(await show('MainPID'), stood);

  // A wrong configuration is not tried again and again.
  await machine.do(`cp ${CONFIG} /root/right.yaml && echo 'wrong: 1' >> ${CONFIG}`);
  t.not((await machine.run('systemctl restart airsplice')).code, 0);
  t.equal(await show('ActiveState'), 'failed');
  t.equal(await show('ExecMainStatus'), '2');
  await machine.do(`cat /root/right.yaml > ${CONFIG} && systemctl reset-failed airsplice && systemctl start airsplice`);
  await playing('with the right configuration');
  t.equal(await hubOf(await show('MainPID')), '');

  await machine.do('dpkg -r airsplice');
  t.not((await machine.run('systemctl is-active airsplice')).code, 0);
  t.equal(
    (await machine.run(`test -e ${CONFIG} -a -d /var/lib/airsplice`)).code,
    0,
    'a removal leaves what is not of the package',
  );
  await machine.do('dpkg -i /mnt/next.deb');
  await playing('installed again, with the configuration that was left');
  await machine.do('dpkg -P airsplice');
  const left = await machine.run(
    "find /etc /usr/lib /usr/share /usr/bin /var/lib /var/log -path /var/log/journal -prune -o -name '*airsplice*' -print | grep -v /node_modules/",
  );
  t.equal(left.out, '', 'a purge leaves nothing');
  t.not((await machine.run('getent passwd airsplice')).code, 0);
  t.equal((await machine.run('pgrep -f [a]irsplice/dist')).out, '');
});
