/**
 * Every line that readers are to type is typed here, as it stands, in a copy of the clone on a machine of its own: those of the documents, and
 * those that these commands print in their turn. What is typed in the place of a word is a rule's `as`; what cannot be typed here stands in ELSEWHERE,
 * with the reason. A line without a rule fails, and so does a rule or a reason without a line.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type DocumentedLine, documentedLines } from '../kit/documented.js';
import { missing } from '../kit/program.js';
import { withoutShellMachine } from '../kit/shell-machine.js';
import { tempFolder } from '../kit/temp-folder.js';
import { type Rule, Typist } from '../kit/typist.js';

const ROOT = new URL('../../', import.meta.url).pathname;
const DOCUMENTED = documentedLines();

/**
 * By document and line, and why. Of these the syntax is checked, and that the scripts and files that they name are there. What has a test stands here
 * with it.
 */
const ELSEWHERE: readonly (readonly [RegExp, string])[] = [
  [/^README.md: npm (pack|i -g .*)$|: npm (pack|install)( -g.*)?$/, 'test/e2e/package.test.ts'],
  [/^CONTRIBUTING.md: npm ci$/, 'test/e2e/package.test.ts'],
  [/: npm pack \.\/src\/client$/, 'test/e2e/client-package.test.ts'],
  [/: npx airsplice$|^config\/cluster\/README.md: airsplice cluster$/, 'the name of a command'],
  [/: (npm ci && )?npm run -s deb$|: sudo apt install /, 'test/long/debian-package.test.ts'],
  [/^config\/deploy\/README.md: (apt|rm|systemctl|liquidsoap) /, 'a machine with systemd: test/long/newcomer.test.ts'],
  [/^config\/deploy\/README.md: docker build /, 'pulls an image; what it copies: test/e2e/container.test.ts'],
  [/^config\/deploy\/README.md: cd .* && docker compose /, 'pulls images'],
  [/^config\/deploy\/caches\/README.md: curl -sSi/, 'a domain; such caches: test/e2e/hls-caches.test.ts'],
  [/^config\/monitoring\/README.md: (apt|systemctl) /, 'the machine of a Prometheus'],
  [/: curl https:\/\/HOST\/api\/stations > stations.json$/, 'an AzuraCast: test/setup/azuracast.test.ts'],
  [/: (git pull && )?npm ci && npm run build$/, 'the network'],
  [/^config\/playout.md: curl -i$/, 'only an option'],
  [/: git show --stat COMMIT$/, 'a copy has no history'],
  [/: (npm ci && )?npm test( -- --change)?$|: npm run (test:all|check|hostile)$/, 'hours, and this file again'],
  [/: npm run (truth|soak|soak -- --minutes 2|bench -- --only listeners)$/, 'minutes or hours of measurement'],
  [/: (npm run -s build && )?([A-Z_]+=\d+ )+node test\/kit\/run.mjs test\/(long|behaviour)\//, 'a tier runs it'],
];

const NAME = String.raw`(?:npx airsplice|airsplice|node (?:\S*/)?dist/main\.js)`;

/** @param text of the whole line; the program by any of its names */
function on(text: string, says: RegExp, more: Omit<Rule, 'line' | 'says'> = {}): Rule {
  return { line: new RegExp(`^${text.replaceAll('AIRSPLICE ', `${NAME} `)}$`, 's'), says, ...more };
}

const ready = (port: number) => `curl -sf http://127.0.0.1:${port}/readyz`;
const fed = (port: number) => `curl -s 'http://127.0.0.1:${port}/readyz?channels' | grep -q '"source":"encoder"'`;
const RECORD = /"start_timestamp":\d+/;
/** Without a build of what is built. */
const PLAYS = /^(?![\s\S]*building)[\s\S]*airsplice plays\./;
const RUNS = /^(?![\s\S]*building)[\s\S]*airsplice (plays|runs)\./;
const WRITTEN = /\.yaml is written/;
const TAP = /^1\.\.\d+/m;
const OUR_MP3 = ['YOUR.mp3', 'config/demo/airsplice.mp3'] as const;

const CLONE: Rule[] = [
  on('npm run build', /^/, { holds: 'test -s dist/airsplice.1' }),
  on('npm run schema', /^/, { holds: `cmp config/airsplice.schema.json ${ROOT}config/airsplice.schema.json` }),
  on('npx biome check --write .*', /Checked \d+ files/, { as: [['src test bench', 'src/setup']] }),
  on('npm run bench -- --list', /^listeners +CPU/m),
  on('npm run fuzz -- TARGET', /^icy: 10 inputs/m, { as: [['TARGET', 'icy 10']] }),
  on('node --import=\\S+ \\S+', TAP),
  on('[A-Z_]+=\\d+ node …', TAP, { as: [['…', '--import=./test/kit/typescript.mjs test/base/spelling.test.ts']] }),
  on('node test/kit/run.mjs FILE…', /passed/, { as: [['FILE…', 'test/base/spelling.test.ts']] }),
  on('npx tsx watch .*', TAP, { goesOn: true }),
  on('promtool test rules .*', /SUCCESS/, { as: [['promtool', 'cd config/monitoring; promtool']] }),
  on('mount=.*openssl.*', /^https:\S+\?expires=\d+&sig=[0-9a-f]{64}$/m, { as: [['"$KEY"', 'abc']] }),
  on('AIRSPLICE (check|backup|init|cluster)', /^usage: /, { as: [['airsplice', 'airsplice help']] }),
  on('AIRSPLICE (\\S+ )?--help', /^usage: /),
  on('AIRSPLICE help COMMAND', /^usage: /, { as: [['COMMAND', 'init']] }),
  on('AIRSPLICE (--version|version)', /^airsplice \d+\.\d+/),
];

/** At any server. @param channel as its documents have it */
const atServer = (channel: string): Rule[] => [
  on(`curl .*/metapush/${channel}\\b[^;]*`, RECORD),
  on(`curl .*/metadata/channel/${channel}\\.json`, /"song":"(Feeling Good|Pata Pata|Hoppípolla)"/),
  on(`ffplay .*/${channel}(\\.mp3)?`, /Audio: mp3/, { goesOn: true }),
  on(`mpv .*/${channel}(\\.mp3)?/hls\\.m3u8`, /Audio/, { goesOn: true }),
  on(`AIRSPLICE watch ${channel} --url \\S+`, /now +\S+/, { goesOn: true }),
];

const DEMO: Rule[] = [
  on('npm start -- --port 9000|PORT=9000 npm start', PLAYS, { holds: ready(9000), goesOn: true, isKnown: true }),
  on('npm run dev', PLAYS, { holds: ready(8000), goesOn: true }),
  on('npm run dev -- my.yaml', PLAYS, { holds: ready(8000), as: [['my.yaml', 'config/demo.yaml']], goesOn: true }),
  on('npm run -s dev .*pino-pretty', /INFO.*listening/, { goesOn: true }),
  on('npm start', PLAYS, { holds: ready(8000), goesOn: true }),
  // npm ci: test/e2e/package.test.ts
  on('npm ci && npm start', PLAYS, { holds: ready(8000), as: [['npm ci && ', '']], goesOn: 'stays' }),
  ...atServer('studio'),
  on('ffmpeg .*@127\\.0\\.0\\.1:8000/studio.mp3', /Stream mapping/, { holds: fed(8000), goesOn: true }),
  on('ffprobe .*StreamTitle.*', /^TAG:StreamTitle=\S+/m),
  on('AIRSPLICE measure-offset CHANNEL', /waiting for pushes/, { as: [['CHANNEL', 'studio']], goesOn: true }),
];

/** As the documents have it for the service, and here. */
const OURS = ['/etc/airsplice/airsplice.yaml', '~/radio/airsplice.yaml'] as const;
const BACKUPS = ['/var/backups', '~'] as const;
const YAML = '(FILE|CONFIG|\\S+\\.yaml)';
const CHANGE = `AIRSPLICE check --diff ${YAML} && AIRSPLICE reload ${YAML}`;
const SECRETS =
  /user admin, password (?<ADMIN>\S+)[\s\S]*user source, password (?<PASSWORD>\S+)[\s\S]*metapush\/live\/(?<TOKEN>[^?]+)/;
const ADMIN = 'curl .* -u "admin:\\$ADMIN" .*/admin/api';

const FIRST_DAY: Rule[] = [
  on('mkdir ~/radio && npx airsplice init \\S+', WRITTEN, { isAsked: true, secrets: SECRETS }),
  on('npm start -- ~/radio/airsplice.yaml', RUNS, { holds: ready(8000), goesOn: 'stays' }),
  on('ffmpeg .*:8000/live', /Stream mapping/, { as: [OUR_MP3], holds: fed(8000), goesOn: 'stays' }),
  ...atServer('live'),
  on('AIRSPLICE_TOKEN="\\$TOKEN" airsplice push live .*', /^live: Nina Simone - Feeling Good$/m),
  on('AIRSPLICE status', /● live +encoder/),
  on('AIRSPLICE record \\S+ .*', /15\.0 s recorded/, { as: [['heard.mp3', '~/heard.mp3']] }),
  on('AIRSPLICE (check|doctor) \\S*broken.yaml', /is not an option/, { codes: [1, 2] }),
  on(`AIRSPLICE check (?!.*broken)${YAML}`, /is valid: 1 channel of 1 station/),
  on(`AIRSPLICE check --diff ${YAML}`, /nothing/, { as: [OURS] }),
  on('AIRSPLICE token \\S+|npm run token -- CHANNEL', /sha256:[0-9a-f]{64}/),
  on(`AIRSPLICE reload ${YAML}|${CHANGE}`, /airsplice: reloaded/),
  on(`AIRSPLICE doctor( ${YAML})?`, /\d+ good, \d+ to note, \d+ bad/, { codes: [0, 1] }),
  on(`${ADMIN}/.*/tokens`, /"token":/, { secrets: /"id":"(?<ID>[^"]+)"/ }),
  on(`${ADMIN}/.*/rotate"`, /"token":/),
  on(`${ADMIN}/statistics\\.csv.*`, /^at,connections,listeners/m),
  on(`${ADMIN}/statistics/royalty\\.csv.*`, /Nina Simone,Feeling Good/),
  on('AIRSPLICE backup .*', /airsplice\.yaml and the store/, { as: [[' FILE', ' ~/kept.backup'], BACKUPS, OURS] }),
];

/** With workers, which a restart replaces. */
const SECOND_DAY: Rule[] = [
  on(`AIRSPLICE start ${YAML}`, RUNS, { holds: ready(8000), goesOn: 'stays' }),
  on(`AIRSPLICE restart ${YAML}`, /restarted/, { as: [['/etc/airsplice.yaml', '~/radio/airsplice.yaml']] }),
  on(`node dist/main.js reload ${YAML}`, /restart/, {
    as: [['node', "echo 'limits: { handshakes: 99 }' >> ~/radio/airsplice.yaml; node"]],
    codes: [2],
  }),
  on(`AIRSPLICE reload --restart ${YAML}`, /airsplice: reloaded/),
];

const LAST_DAY: Rule[] = [
  on('AIRSPLICE restore FILE', /airsplice: restored/, {
    as: [
      ['airsplice', 'mkdir ~/moved && cd ~/moved && airsplice'],
      [' FILE', ' ~/kept.backup'],
    ],
  }),
  on('AIRSPLICE restore .*--force', /airsplice: restored/, { as: [BACKUPS, OURS] }),
];

/** Another beginning. */
const MADE: Rule[] = [
  on('AIRSPLICE init --yes FILE', WRITTEN, { as: [['FILE', '~/plain.yaml']] }),
  on('AIRSPLICE init --from stations.json', WRITTEN),
  on('AIRSPLICE init --force \\S+ --.*', WRITTEN, { as: [[OURS[0], '~/nord.yaml']] }),
  on('AIRSPLICE init --force \\S+', WRITTEN, { as: [[OURS[0], '~/asked.yaml']], isAsked: true }),
  on('AIRSPLICE start \\S+', RUNS, { holds: ready(8000), goesOn: 'stays', isKnown: true }),
  on('AIRSPLICE check \\S+', /is valid: 1 channel of 1 station/),
  on(CHANGE, /airsplice: reloaded/),
  on("curl '.*/metapush/[^']*'", RECORD),
];
/** What AzuraCast's API would have answered. */
const MOUNT = { id: 1, name: 'Main', url: 'http://radio.example:8000/radio.mp3', path: '/radio.mp3', is_default: true };
const AZURACAST = [{ id: 1, name: 'Radio Nord', shortcode: 'nord', listen_url: MOUNT.url, mounts: [MOUNT] }];

const CLUSTER: Rule[] = [
  on('npm run build && config/cluster/start.sh', /plays\.[\s\S]*plays\./, {
    as: [['npm run build && ', '']],
    holds: `${ready(8000)} && ${ready(8201)} && ${ready(8202)}`,
    goesOn: 'stays',
  }),
  on('curl .*/metapush/studio/.*', RECORD),
  on('ffplay .*', /Audio: mp3/, { goesOn: true }),
  on('curl .*/metadata/channel/studio.json --haproxy-protocol', /"song":"Feeling Good"/),
  on('ffmpeg .*:8000/studio', /Stream mapping/, {
    as: [OUR_MP3],
    holds: `${fed(8201)} || ${fed(8202)}`,
    goesOn: true,
  }),
  on('AIRSPLICE cluster --url \\S+', /^(one|two): ready/m, { as: [[' URL', ' http://127.0.0.1:8202']] }),
  on('curl http://127\\.0\\.0\\.1:820[12]/metrics', /^airsplice_cluster_/m),
];

/** A clone that was built. */
function cloneOf(t: Test): string {
  const folder = join(tempFolder(t), 'airsplice');
  mkdirSync(folder);
  const parts = readdirSync(ROOT).filter((name) => !/^(node_modules|\.git|data)$/.test(name));
  // With the times of its folders, by which `npm start` sees that it is built.
  execFileSync('cp', ['-a', ...parts.map((name) => join(ROOT, name)), folder]);
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'stations.json'), JSON.stringify(AZURACAST));
  return folder;
}

const isElsewhere = ({ file, text }: DocumentedLine) => ELSEWHERE.some(([line]) => line.test(`${file}: ${text}`));
/** The cluster's page has its own server at the demo's port. */
const isOfCluster = ({ file }: DocumentedLine) => file === 'config/cluster/README.md';
const HERE = DOCUMENTED.filter((documented) => !isElsewhere(documented));
const OF_CLUSTER = HERE.filter(isOfCluster).map(({ text }) => text);
const LINES = HERE.filter((documented) => !isOfCluster(documented)).map(({ text }) => text);

t.test('lines to type', { skip: withoutShellMachine() || missing('script'), timeout: 900_000 }, async (t) => {
  const folder = cloneOf(t);
  const [typed, followed] = [new Set<string>(), new Set<Rule>()];
  const scene = (name: string, skip: string | false, play: (reader: Typist) => Promise<void>) =>
    t.test(name, { skip }, async (t) => {
      const reader = await Typist.sit(t, folder);
      await play(reader);
      await reader.stop();
      reader.end();
      for (const text of reader.typed) typed.add(text);
      for (const rule of reader.followed) followed.add(rule);
    });

  await scene('in a clone', false, (reader) => reader.follow(CLONE, [...LINES, 'npx airsplice --help']));
  await scene('beside the demo', false, (reader) => reader.follow(DEMO, LINES));
  await scene('at a station', false, async (reader) => {
    writeFileSync(join(reader.machine.home, 'broken.yaml'), 'adresses: []\n');
    const others = ['npx airsplice doctor', 'npx airsplice doctor ~/broken.yaml', 'node dist/main.js token live'];
    await reader.follow(FIRST_DAY, [...LINES, ...others]);
    await reader.stop();
    await reader.machine.type("echo 'workers: 1' >> ~/radio/airsplice.yaml");
    await reader.follow(SECOND_DAY, [...LINES, 'node dist/main.js reload ~/radio/airsplice.yaml']);
    await reader.stop();
    await reader.follow(LAST_DAY, LINES);
  });
  const beginnings = LINES.filter((text) => /^(npx )?airsplice init --[fy]/.test(text));
  for (const made of beginnings) await scene(made, false, (reader) => reader.follow(MADE, [made]));
  const noCluster = missing('redis-server', 'haproxy');
  await scene('at two machines', noCluster, (reader) => reader.follow(CLUSTER, OF_CLUSTER));

  const untyped = [...LINES, ...(noCluster ? [] : OF_CLUSTER)].filter((text) => !typed.has(text));
  t.strictSame(untyped, [], 'each documented line has a rule');
  const rules = [...CLONE, ...DEMO, ...FIRST_DAY, ...SECOND_DAY, ...LAST_DAY, ...MADE, ...(noCluster ? [] : CLUSTER)];
  const idle = rules.filter((rule) => !followed.has(rule)).map((rule) => rule.line);
  t.strictSame(idle, [], 'each rule has a line');
});

t.test('lines that are typed elsewhere', async (t) => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  for (const [line, why] of ELSEWHERE) {
    const lines = DOCUMENTED.filter(({ file, text }) => line.test(`${file}: ${text}`));
    t.ok(lines.length > 0, `${line} still has a line`);
    for (const [test] of why.matchAll(/test\/\S+\.ts/g)) t.ok(existsSync(join(ROOT, test)), test);
    for (const { text } of lines) {
      t.equal(spawnSync('bash', ['-n', '-c', text]).status, 0, text);
      for (const [, script] of text.matchAll(/npm run (?:-s )?([\w:]+)/g))
        t.ok(scripts[script!], `the script ${script}`);
      for (const [path] of text.matchAll(/\b(?:test|config)\/\S+\.\w+/g)) t.ok(existsSync(join(ROOT, path)), path);
    }
  }
});
