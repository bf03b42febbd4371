/** The files for logrotate and sysctl that ship: the real logrotate takes the access log away while a server writes it, and no line is lost. */

import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { Player } from '../kit/player.js';
import { freePort, ServerProcess } from '../kit/process.js';
import { demoYaml } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

const DEPLOY = new URL('../../config/deploy/', import.meta.url).pathname;
const LOGROTATE = '/usr/sbin/logrotate';
const skip = existsSync(LOGROTATE) ? false : 'not installed: logrotate';
const run = promisify(execFile);
const ROUNDS = 3;
/** Of the last rotation, Unix seconds. */
let last = 0;

t.test('logrotate takes the access log away, and a new one begins', { skip }, async (t) => {
  const folder = tempFolder(t);
  const port = await freePort();
  const config = join(folder, 'config.yaml');
  const yaml = demoYaml(`accessLog: { file: '${folder}/access.log' }`, port);
  writeFileSync(config, `data: { folder: ${join(folder, 'data')} }\n${yaml}`);
  const server = new ServerProcess(t, port, [config], {});
  await server.ready();

  const rotation = join(folder, 'rotation');
  const [user, group] = ['-un', '-gn'].map((which) => execFileSync('id', [which], { encoding: 'utf8' }).trim());
  const shipped = readFileSync(`${DEPLOY}logrotate/airsplice`, 'utf8');
  const here = shipped
    .replace('/var/log/airsplice/', `${folder}/`)
    .replace('su airsplice airsplice', `su ${user} ${group}`)
    .replace(/^.*systemctl.*$/m, `kill -HUP ${server.child.pid}`);
  writeFileSync(rotation, here, { mode: 0o644 });
  const state = ['--state', join(folder, 'state')];
  const debug = await run(LOGROTATE, ['--debug', ...state, rotation]);
  t.notMatch(`${debug.stdout}${debug.stderr}`, /error/i);

  const lines = () => {
    const files = readdirSync(folder).filter((name) => name.startsWith('access.log') && !name.endsWith('.gz'));
    const zipped = readdirSync(folder).filter((name) => name.endsWith('.gz'));
    const texts = [
      ...files.map((name) => readFileSync(join(folder, name), 'utf8')),
      ...zipped.map((name) => execFileSync('zcat', [join(folder, name)], { encoding: 'utf8' })),
    ];
    return { files: files.length + zipped.length, text: texts.join('') };
  };
  const listen = async (name: string) => {
    const player = new Player(port, '/demo', { headers: `User-Agent: ${name}\r\n` });
    await player.until((p) => p.audioBytes > 1000, 20_000);
    player.close();
    await until(
      () => lines().text.includes(name),
      20_000,
      () => `${name} is not in the log`,
    );
  };
  for (let round = 1; round <= ROUNDS; round++) {
    await listen(`before-${round}`);
    // The names of rotated files count seconds.
    await until(() => Math.floor(Date.now() / 1000) !== last, 2000);
    await run(LOGROTATE, ['--force', ...state, rotation]);
    last = Math.floor(Date.now() / 1000);
    await until(
      () => existsSync(join(folder, 'access.log')),
      20_000,
      () => 'no new log',
    );
    t.equal(lines().files, 1 + round, 'the old ones are kept');
  }
  await listen('behind');
  const { text } = lines();
  for (let round = 1; round <= ROUNDS; round++) t.equal(text.split(`before-${round}`).length - 1, 1);
  t.match(readFileSync(join(folder, 'access.log'), 'utf8'), /behind/, 'what is new is in the new one');
  t.equal(server.ended, undefined);
});

t.test('each kernel setting exists, and has its reason', async (t) => {
  const text = readFileSync(`${DEPLOY}sysctl/60-airsplice.conf`, 'utf8');
  const settings = [...text.matchAll(/^([a-z_0-9.]+) = ([\d ]+)$/gm)];
  t.equal(settings.length, text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length);
  for (const [, name] of settings) t.ok(existsSync(`/proc/sys/${name!.replaceAll('.', '/')}`), name!);
  for (const block of text.trim().split('\n\n')) t.match(block, /^# .{20}/);
});
