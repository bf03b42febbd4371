/** Secrets that come over the wire stand nowhere afterwards: not in the log, the metrics, an answer, a page or a document. */

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { openLog } from '../../src/base/log.js';
import { ChannelRules } from '../../src/channel/rules.js';
import { loadConfig } from '../../src/config/load.js';
import { Pushes, type PushParts } from '../../src/titles/pushes.js';
import { FakeClock } from '../kit/clock.js';
import { Player } from '../kit/player.js';
import { Random } from '../kit/random.js';
import { demoYaml, startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';
import { Wire } from '../kit/wire.js';

/** In the place of the demo's, which the examples of /docs show. */
const TOKEN = 'own-token-of-demo';
const PASSWORD = 'own-password-of-encoder';
/** No channel's; made so that it is found wherever it comes out. */
const WRONG = 'wrong-secret-of-a-guesser';
const hashOf = (secret: string) => `sha256:${createHash('sha256').update(secret).digest('hex')}`;
const basic = (password: string) => `Authorization: Basic ${Buffer.from(`source:${password}`).toString('base64')}`;
const JSON_TYPE = 'Content-Type: application/json';

t.test('no secret of a request comes out again', async (t) => {
  const lines: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
  const file = join(tempFolder(t), 'access.log');
  const yaml = demoYaml(`limits: { wrongSecretsPerMinute: 100, secretQueue: 0 }
accessLog: { file: '${file}' }`)
    .replaceAll('demo-token', hashOf(TOKEN))
    .replaceAll('demo-source', hashOf(PASSWORD));
  const { port, app } = await startServer(t, yaml, tempFolder(t), log);
  const got: string[] = [];
  const say = async (line: string, headers = '', body = '') => {
    const wire = new Wire(t, port);
    const length = body === '' ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
    wire.send(`${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}${headers && '\r\n'}${length}\r\n${body}`);
    await until(
      () => wire.ended || /audio.mpeg|^OK2/.test(wire.got),
      5000,
      () => `${line}: ${wire.got.slice(0, 200)}`,
    );
    wire.socket.destroy();
    got.push(wire.got.slice(0, 100_000));
  };
  for (const secret of [TOKEN, WRONG]) {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'SOURCE']) {
      await say(`${method} /metapush/demo/${secret}?song=x`);
    }
    await say(`GET /metapush/demo/${secret}?song=%ff&etype=7`);
    await say(`GET /metapush/demo/${secret}?song=${'x'.repeat(2000)}`);
    await say(`GET /metapush/demo/${secret}?song=${'x'.repeat(40_000)}`);
    await say(`GET /metapush/demo/${secret}%zz`);
    await say(`GET /metapush/demo/${secret}/more`);
    await say(`GET //metapush/demo/${secret}`);
    await say(`GET http://x/metapush/nobody/${secret}`);
    await say(`GET /metapush/demo/${secret} and more`);
    await say(`POST /metapush/demo/${secret}`, JSON_TYPE, '{"song":');
    await say(`POST /metapush/demo/${secret}`, JSON_TYPE, '{}');
    await say(`POST /metapush/demo/${secret}`, 'Content-Type: text/plain', 'x');
    await say('GET /metapush/demo?song=x', `Authorization: Bearer ${secret}`);
    await say('GET /metapush/demo', `Authorization: Bearer ${secret}\r\nbroken`);
  }
  for (const secret of [PASSWORD, WRONG]) {
    for (const path of ['/admin/metadata?mode=updinfo&song=x', `/admin.cgi?mode=updinfo&song=x&pass=${secret}`]) {
      for (const mount of ['', '&mount=/studio', '&mount=/none']) await say(`GET ${path}${mount}`, basic(secret));
      await say(`POST ${path}`, `${basic(secret)}\r\nContent-Type: text/csv`, secret);
      await say(`DELETE ${path}`, basic(secret));
    }
    for (const method of ['PUT', 'SOURCE']) {
      for (const path of ['/none', '/demo']) await say(`${method} ${path}`, basic(secret));
      // What is not a password of ours is a mount like any other, and the log names it.
      await say(`${method} /${PASSWORD}`, basic(secret));
      await say(`${method} /studio`, `${basic(secret)}\r\nContent-Type: text/html`);
    }
  }
  // Where no secret belongs: in a listener's query, in the page that a player stands in, in the name of a program.
  for (const secret of [TOKEN, PASSWORD, WRONG]) {
    const names = [
      'api_key',
      'pw',
      'jwt',
      'token',
      'access_token',
      'password',
      'sig',
      'metaid',
      'a%70i%5fkey',
      'user[pw]',
    ];
    const pairs = names.map((name) => `${name}=${secret}`);
    const referers = [
      `http://x/metapush/demo/${secret}?song=x`,
      `http://me:${secret}@x/`,
      ...['?', '#', ';'].map((mark) => `http://x/${mark}${pairs.join(mark === ';' ? ';' : '&')}`),
    ];
    referers.push(...referers.map((url) => `http://x/?back=${encodeURIComponent(url)}&v=1`));
    for (const referer of referers) {
      await say(
        `GET /demo.mp3?back=${encodeURIComponent(referer)}`,
        `Referer: ${referer}\r\nUser-Agent: x (${referer})`,
      );
    }
    await say(`GET /demo.mp3?${pairs.join('&')}`);
    await say('PUT /studio', `${basic(WRONG)}\r\nUser-Agent: x http://x/?token=${secret}`);
    await say(`${secret}\r\n`);
    await say(`/studio:${secret}\r\n`);
  }
  await say('PUT /none', `${basic(PASSWORD)}\r\nUser-Agent: x http://x/metapush/demo/${TOKEN}`);
  for (const path of [
    '/',
    '/status-json.xsl',
    '/7.html',
    '/stats',
    '/statistics?json=1',
    '/nextsongs',
    '/admin/publicstats',
    '/web/channels.json',
    '/docs',
    '/openapi.json',
    '/metrics',
    '/metadata/station/demo.json',
  ]) {
    await say(`GET ${path}`);
  }
  await app.stop();
  const accesses = readFileSync(file, 'latin1').trimEnd().split('\n');
  t.ok(lines.length > 5 && accesses.length > 30, `${lines.length} and ${accesses.length} lines`);
  lines.push(...accesses);
  for (const secret of [TOKEN, PASSWORD, WRONG, ...[PASSWORD, WRONG].map((each) => basic(each).slice(-20))]) {
    t.strictSame(
      lines.filter((line) => line.includes(secret)),
      [],
      `${secret} in the log`,
    );
    t.strictSame(
      got.filter((answer) => answer.includes(secret)).map((answer) => answer.slice(0, 500)),
      [],
      `${secret} in an answer`,
    );
  }
});

const BATCH = 20;

/** How long so many of each of these take, milliseconds; they are asked one after the other, in an order of chance each time. */
async function timings(t: Test, port: number, requests: readonly string[], rounds: number): Promise<number[][]> {
  const wire = new Wire(t, port);
  const tookMs = requests.map((): number[] => []);
  const random = new Random();
  for (let round = -20; round < rounds; round++) {
    const order = requests.map((_, i) => ({ i, by: random.int(0, 1_000_000) })).sort((a, b) => a.by - b.by);
    for (const { i } of order) {
      wire.got = '';
      const startMs = performance.now();
      // Many at once, so that what each of them costs counts more than how they come.
      wire.send(requests[i]!.repeat(BATCH));
      await new Promise<void>((done) => {
        const look = () => {
          if (wire.got.split('HTTP/1.1 403').length <= BATCH || !wire.got.endsWith('}')) return;
          wire.socket.off('data', look);
          done();
        };
        wire.socket.on('data', look);
      });
      if (round >= 0) tookMs[i]!.push(performance.now() - startMs);
    }
  }
  return tookMs;
}

/** The chance that one of `a` is larger than one of `b`: 0.5 where both are of one kind (Mann and Whitney's U, as a share). */
function dominance(a: readonly number[], b: readonly number[]): number {
  const sorted = [...b].sort((x, y) => x - y);
  let below = 0;
  for (const value of a) {
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle]! < value) low = middle + 1;
      else high = middle;
    }
    below += low;
  }
  return below / (a.length * b.length);
}

t.test('an unknown channel and a wrong token are answered in the same time', async (t) => {
  const { port } = await startServer(
    t,
    demoYaml('limits: { wrongSecretsPerMinute: 1000000, wrongSecretsInAllPerMinute: 1000000 }'),
  );
  const get = (path: string, headers = '') => `GET ${path}?song=x HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
  const bearer = 'Authorization: Bearer demo-tokem\r\n';
  const pairs = [
    // As long as each other, since longer requests take longer to read.
    [get('/metapush/demo/demo-tokem'), get('/metapush/dema/demo-tokem')],
    [get('/metapush/demo', bearer), get('/metapush/dema', bearer)],
  ];
  for (const [known, unknown] of pairs) {
    // A difference of what is done shows in each of them; one of the machine's moods does not.
    const shares: number[] = [];
    for (let i = 0; i < 5; i++) {
      const [a, b] = await timings(t, port, [known!, unknown!], 150);
      shares.push(dominance(a!, b!));
      if (Math.abs(shares.at(-1)! - 0.5) < 0.12) break;
    }
    t.ok(Math.abs(shares.at(-1)! - 0.5) < 0.12, `how often the known channel took longer: ${shares}`);
  }
});

t.test('to find out takes the same time for both, to the microsecond', async (t) => {
  const path = join(tempFolder(t), 'config.yaml');
  writeFileSync(path, demoYaml());
  const config = loadConfig(path, process.env);
  const clock = new FakeClock();
  const { log } = openLog('silent', 0);
  const channels = new Map([
    ['demo', { rules: new ChannelRules('demo', config.stations['demo']!.channels['demo']!, config) }],
  ]);
  const pushes = new Pushes({ clock, log, channels } as unknown as PushParts);
  const random = new Random();
  const timed = (channel: string) => {
    const startMs = performance.now();
    for (let i = 0; i < 50; i++) if (pushes.authorizes(channel, 'demo-tokem')) t.fail(`let in to ${channel}`);
    return performance.now() - startMs;
  };
  t.ok(pushes.authorizes('demo', 'demo-token'));
  const shares: number[] = [];
  for (let i = 0; i < 5; i++) {
    const [known, unknown]: [number[], number[]] = [[], []];
    for (let round = -100; round < 400; round++) {
      const isFirst = random.chance(0.5);
      const [first, second] = isFirst ? ['demo', 'dema'] : ['dema', 'demo'];
      const tookMs = [timed(first!), timed(second!)];
      if (round < 0) continue;
      known.push(tookMs[isFirst ? 0 : 1]!);
      unknown.push(tookMs[isFirst ? 1 : 0]!);
    }
    shares.push(dominance(known, unknown));
    // Without the comparison of one of them it is 0 or 1.
    if (Math.abs(shares.at(-1)! - 0.5) < 0.25) break;
  }
  t.ok(Math.abs(shares.at(-1)! - 0.5) < 0.25, `how often the known channel took longer: ${shares}`);
});

t.test(
  'names that the operator adds are secret in the access log, and names that the operator takes away are not',
  async (t) => {
    const file = join(tempFolder(t), 'access.log');
    const log = "log: { secretNames: ['x-ticket', '*pin'] }";
    const { port } = await startServer(t, demoYaml(`accessLog: { file: '${file}' }\n${log}`));
    const player = new Player(port, '/demo.mp3?x-ticket=hidden&userPin=hidden&token=told&pinned=told', {
      headers: 'Referer: http://page.example/?X_Ticket=hidden&a=told\r\nUser-Agent: app (http://x/?pin=hidden)\r\n',
    });
    t.teardown(() => player.close());
    await player.until((p) => p.audioBytes > 0);
    player.close();
    const text = () => readFileSync(file, 'latin1');
    await until(() => text().includes('\n'), 5000);
    t.notMatch(text(), 'hidden');
    t.match(text(), 'GET /demo.mp3?x-ticket=-&userPin=-&token=told&pinned=told HTTP/1.0');
    t.match(text(), 'http://page.example/?X_Ticket=-&a=told');
  },
);
