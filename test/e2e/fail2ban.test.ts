/** The filter for fail2ban of config/README.md over a log that the server wrote: every guesser's address, and no other. */

import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { freePort, ServerProcess } from '../kit/process.js';
import { missing } from '../kit/program.js';
import { demoYaml } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';
import { Wire } from '../kit/wire.js';

const README = readFileSync(new URL('../../config/README.md', import.meta.url), 'utf8');
const filter = /^```ini\n(# \/etc\/fail2ban\/filter\.d\/.*?)^```$/ms.exec(README)?.[1] ?? '';
/** What would name another client, could it break out of its field. */
const FORGED = '","address":"192.0.2.66","reason":"wrong secret"';
const basic = (password: string) => `Authorization: Basic ${btoa(`source:${password}`)}`;

t.test('fail2ban finds guessers, and nobody else', { skip: missing('fail2ban-regex') }, async (t) => {
  const folder = tempFolder(t);
  const port = await freePort();
  const config = join(folder, 'config.yaml');
  const extra = `
data: { folder: '${folder}/data' }
proxies: { trusted: [127.0.0.1] }
limits: { wrongSecretsPerMinute: 2, secretQueue: 0 }`;
  writeFileSync(config, demoYaml(extra, port));
  const server = new ServerProcess(t, port, [config], {});
  await server.ready();
  const say = async (from: string, line: string, ...headers: string[]) => {
    const wire = new Wire(t, port);
    wire.send(`${[line, 'Host: x', `X-Forwarded-For: ${from}`, 'Connection: close', ...headers].join('\r\n')}\r\n\r\n`);
    await wire.untilClosed(20_000);
  };
  const agent = `User-Agent: ${FORGED}`;
  await say('203.0.113.1', 'GET /metapush/demo/guess?song=x HTTP/1.1', agent);
  await say('203.0.113.2', `GET /metapush/${encodeURIComponent(FORGED)}/guess?song=x HTTP/1.1`, agent);
  await say('203.0.113.3', 'GET /metapush/demo?song=x HTTP/1.1', 'Authorization: Bearer guess');
  await say('2001:db8::4', 'PUT /studio HTTP/1.1', basic('guess'), agent);
  await say('203.0.113.5', 'SOURCE /studio HTTP/1.0', basic('guess'));
  await say('203.0.113.6', 'GET /admin/metadata?mode=updinfo&mount=/studio&song=x HTTP/1.1', basic('guess'));
  await say('203.0.113.7', 'GET /admin.cgi?mode=updinfo&pass=guess&song=x HTTP/1.1');
  for (let i = 0; i < 3; i++) await say('203.0.113.8', 'GET /metapush/demo/guess?song=x HTTP/1.1');
  const shoutcast = new Wire(t, port).send('guess\r\n');
  await shoutcast.untilClosed(20_000);
  // These have done something else.
  await say('203.0.113.101', `GET /metapush/demo/demo-token?song=${encodeURIComponent(FORGED)} HTTP/1.1`);
  await say('203.0.113.102', 'GET /metapush/demo/demo-token?song=x&etype=7 HTTP/1.1');
  await say('203.0.113.103', 'PUT /none HTTP/1.1', basic('demo-source'), agent);
  await say('203.0.113.104', 'PUT /studio HTTP/1.1', basic('demo-source'), 'Content-Type: text/html', agent);
  await say('203.0.113.105', 'PUT /studio HTTP/1.1', agent);
  await say('203.0.113.106', 'GET /admin/metadata?mode=updinfo&mount=/none&song=x HTTP/1.1', basic('demo-source'));
  await say('203.0.113.107', 'GET /none HTTP/1.1', agent);
  await until(
    () => server.err.includes('203.0.113.106'),
    20_000,
    () => server.err,
  );
  await server.end('SIGTERM');

  const [log, conf] = [join(folder, 'airsplice.log'), join(folder, 'airsplice.conf')];
  writeFileSync(log, server.err);
  writeFileSync(conf, filter);
  const { stdout } = await promisify(execFile)('fail2ban-regex', ['--out', 'ip', log, conf]);
  const found = stdout.trim().split('\n');
  t.same([...new Set(found)].sort(), [
    ...['127.0.0.1', '2001:db8::4'],
    ...[1, 2, 3, 5, 6, 7, 8].map((last) => `203.0.113.${last}`),
  ]);
  t.equal(found.filter((address) => address === '203.0.113.8').length, 2, 'two reasons within one second');
  const lines = server.err
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  t.match(
    lines.find(({ address }) => address === '203.0.113.1'),
    { reason: 'wrong secret', channel: 'demo', status: 403, msg: 'push refused' },
  );
  t.notOk(lines.find(({ address }) => address === '203.0.113.2').channel, "a stranger's text is no channel");
  t.match(
    lines.find(({ address }) => address === '2001:db8::4'),
    { reason: 'wrong secret', channel: 'studio', mount: '/studio', msg: 'encoder refused' },
  );
  t.match(
    lines.find(({ address }) => address === '203.0.113.6'),
    { reason: 'wrong secret', channel: 'studio' },
  );
  t.notMatch(server.err, /guess|demo-token|demo-source/);
});
