/**
 * A year with airsplice, as config/deploy/README.md tells it: its commands are read there and run in their order, on machines with a real systemd, beside
 * Liquidsoap and a listener who must not notice. So the page cannot promise what is not so.
 */

import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { DebianMachine } from '../kit/debian-machine.js';
import { buildPackages, withoutPackage } from '../kit/debian-package.js';
import { framesIn } from '../kit/feeder.js';
import { missing } from '../kit/program.js';
import { DEMO_AUDIO } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

const README = readFileSync(new URL('../../config/deploy/README.md', import.meta.url), 'utf8');
const CONFIG = '/etc/airsplice/airsplice.yaml';
const BASE = 'http://127.0.0.1:8000';
/** The folder of the package, where the operator works. */
const WORK = '/opt/radio';
const PATIENCE_MS = 90_000;

/** Heading and language of a block → its text; several of one language follow each other. */
function blocksOf(page: string): Map<string, string[]> {
  const blocks = new Map<string, string[]>();
  const section = page.slice(page.indexOf('## A year with airsplice'));
  let heading = '';
  for (const [, title, language, text] of section.matchAll(/^### (.+)$|^```(\w+)\n([\s\S]*?)^```$/gm)) {
    heading = title ?? heading;
    if (language === undefined) continue;
    const key = `${heading}: ${language}`;
    blocks.set(key, [...(blocks.get(key) ?? []), text!]);
  }
  return blocks;
}

/** Who types, and knows what was printed once. */
class Operator {
  readonly machine: DebianMachine;
  readonly blocks = blocksOf(README);
  readonly known: Record<string, string> = {};

  constructor(machine: DebianMachine) {
    this.machine = machine;
  }

  /** The next block of this language below this heading. */
  take(heading: string, language: string): string {
    const text = this.blocks.get(`${heading}: ${language}`)?.shift();
    if (text === undefined) throw new Error(`the page has no more ${language} below ${heading}`);
    return text;
  }

  /** Types the next block below a heading, a command at a time; each must end well. Returns what each says. */
  async type(heading: string, onSaid: (said: string) => unknown = () => undefined): Promise<string[]> {
    const said: string[] = [];
    for (const command of this.take(heading, 'sh').trim().split('\n')) {
      const out = await this.machine.do(`cd ${WORK}; ${this.exports} ${command}`, PATIENCE_MS);
      said.push(out);
      await onSaid(out);
    }
    return said;
  }

  get exports(): string {
    return Object.entries(this.known)
      .map(([name, value]) => `export ${name}='${value}';`)
      .join(' ');
  }

  async push(token: string): Promise<string> {
    const url = `${BASE}/metapush/live/${token}?song=Try`;
    return (await this.machine.run(`curl -s -o /dev/null -w '%{http_code}' '${url}'`)).out;
  }

  plays(path: string): Promise<void> {
    const asked = `curl -sf -m 5 -o /dev/null -I ${BASE}${path}`;
    return until(
      async () => (await this.machine.run(asked)).code === 0,
      PATIENCE_MS,
      () => `${path} does not play`,
    );
  }
}

t.test(
  'a year with airsplice, as the page tells it',
  { skip: withoutPackage() || missing('liquidsoap') },
  async (t) => {
    const folder = tempFolder(t);
    const shared = join(folder, 'shared');
    mkdirSync(shared);
    await buildPackages(shared);
    copyFileSync(DEMO_AUDIO, join(shared, 'night.mp3'));

    await t.test('on the first machine', async (t) => {
      const machine = await DebianMachine.boot(t, folder, shared);
      const operator = new Operator(machine);
      const { known } = operator;
      await machine.do(`mkdir -p ${WORK} /srv/music && cp /mnt/night.mp3 /srv/music/ && chmod 755 ${WORK} /srv/music`);
      await machine.do(`cp /mnt/first.deb ${WORK}/airsplice_0.1.0-1_all.deb`);

      const [, made, , , status] = await operator.type('The first day');
      known['ADMIN'] = /user admin, password (\S+)/.exec(made!)![1]!;
      known['PASSWORD'] = /user source, password (\S+)/.exec(made!)![1]!;
      known['TOKEN'] = /metapush\/live\/([^?]+)/.exec(made!)![1]!;
      t.match(status, /active \(running\)/);
      t.match(status, /serving at port 8000/);

      machine.write(`${WORK}/radio.liq`, operator.take('On air', 'liquidsoap'));
      // It does not run as root.
      const player = operator.take('On air', 'sh').trim();
      t.equal(player, 'liquidsoap radio.liq');
      const liquidsoap = machine.spawn(
        t,
        `sh -c "cd ${WORK}; exec runuser -u games -- env HOME=/tmp PASSWORD=${known['PASSWORD']} ${player}"`,
      );
      await operator.plays('/live');
      const listener = machine.spawn(t, `curl -sf -H 'Icy-MetaData: 1' -o /mnt/heard ${BASE}/live`);
      const heard = () => (existsSync(join(shared, 'heard')) ? statSync(join(shared, 'heard')).size : 0);
      /** The listener is there, and gets on. */
      const hears = async (when: string) => {
        const before = heard();
        await until(
          () => heard() > before + 50_000,
          PATIENCE_MS,
          () => `nothing comes ${when}`,
        );
        t.equal(listener.exitCode, null, `the listener is there ${when}`);
      };
      await hears('at first');
      /** Two in one moment would be one to the listener. */
      const titled = async (said: string) => {
        const song = ['Feeling Good', 'Pata Pata'].find((each) => said.includes(each));
        const isHeard = () => readFileSync(join(shared, 'heard'), 'latin1').includes(`${song}'`);
        if (song !== undefined) await until(isHeard, PATIENCE_MS, () => `no listener sees ${song}`);
      };
      const [shows] = await operator.type('On air', titled);
      t.match(shows, /live/);
      t.match(shows, /encoder/);
      const record = join(shared, 'record.mp3');
      await machine.do(`cp ${WORK}/heard.mp3 /mnt/record.mp3`);
      const { frames, skippedBytes } = framesIn(readFileSync(record));
      t.ok(frames.length > 400, `${frames.length} frames were recorded`);
      t.ok(skippedBytes < 500, 'whole ones');

      const channel = operator.take('Another channel', 'yaml');
      const text = await machine.do(`cat ${CONFIG}`);
      const [line, indent] = /^( *)channels:\n/m.exec(text)!;
      const added = channel.replace(/^(?=.)/gm, `${indent}  `);
      machine.write(CONFIG, text.replace(line, line + added));
      const [plan, , withNight] = await operator.type('Another channel');
      t.match(plan, /night/);
      t.match(withNight, /night/);
      await operator.plays('/night');
      await hears('after a reload');

      const answers = await operator.type('Another token', (said) => {
        known['ID'] = JSON.parse(said).id;
      });
      const [first, second] = answers.map((answer) => JSON.parse(answer).token as string);
      t.same([await operator.push(first!), await operator.push(second!)], ['200', '200'], 'both for an hour');
      const [printed] = await operator.type('Another token');
      const digest = /sha256:[0-9a-f]{64}/.exec(printed!)![0];
      const token = /^ {4}(\S{43})$/m.exec(printed!)![1]!;
      const before = await machine.do(`cat ${CONFIG}`);
      machine.write(CONFIG, before.replace(/(pushTokens:\n\s+- )sha256:[0-9a-f]{64}/, `$1${digest}`));
      await operator.type('Another token');
      t.same([await operator.push(known['TOKEN']), await operator.push(token)], ['403', '200']);
      await hears('after the second reload');

      const main = await machine.do('systemctl show -P MainPID airsplice');
      await machine.do(`rm ${WORK}/*.deb && cp /mnt/next.deb ${WORK}/airsplice_0.1.1-1_all.deb`);
      const [, version] = await operator.type('A new version');
      t.match(version, /0\.1\.1/);
      t.equal(await machine.do('systemctl show -P MainPID airsplice'), main, 'the service was not restarted');
      await hears('after an upgrade');
      t.equal(liquidsoap.exitCode, null, 'and so is Liquidsoap');

      // The minute that goes on is not there yet.
      const series = `curl -sf -u "admin:${known['ADMIN']}" '${BASE}/admin/api/statistics.csv?channel=live&by=minute'`;
      await until(async () => (await machine.run(series)).out.split('\n').length > 1, PATIENCE_MS, undefined, 1000);
      const [minutes, royalty] = await operator.type('Who listened');
      t.match(minutes, /^at,connections,listeners/);
      t.match(royalty, /Nina Simone,Feeling Good/);
      const titles = readFileSync(join(shared, 'heard'), 'latin1');
      for (const title of ['Nina Simone - Feeling Good', 'Miriam Makeba - Pata Pata'])
        t.ok(titles.includes(`StreamTitle='${title}'`), title);

      await operator.type('Every night');
      await machine.do('cp /var/backups/airsplice-*.backup /mnt/');
      listener.kill();
    });

    await t.test('on the second machine', async (t) => {
      const machine = await DebianMachine.boot(t, tempFolder(t), shared);
      const operator = new Operator(machine);
      await machine.do(`mkdir -p ${WORK} /srv/music && cp /mnt/night.mp3 /srv/music/ && chmod 755 /srv/music`);
      await machine.do(`cp /mnt/next.deb ${WORK}/airsplice_0.1.1-1_all.deb && cp /mnt/*.backup /var/backups/`);
      const said = await operator.type('Another machine');
      for (const channel of ['live', 'night']) t.match(said.at(-1), channel);
      await operator.plays('/night');
      t.match(await machine.do(`curl -sf ${BASE}/metadata/channel/live.json`), /"Try"/, 'titles have come along');
      await operator.type('The end');
      t.not((await machine.run('systemctl is-active airsplice')).code, 0);
      t.not((await machine.run('command -v airsplice')).code, 0);
    });
  },
);
