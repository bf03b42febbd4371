/** Secrets that come over the wire stand nowhere afterwards: not in the log, the metrics, an answer, a page or a document. */

import { pino } from 'pino';
import t from 'tap';
import { until } from '../kit/player.js';
import { demoYaml, startServer, tempFolder } from '../kit/server.js';
import { Wire } from '../kit/wire.js';

const TOKEN = 'demo-token';
const PASSWORD = 'demo-source';
/** Nobody's; made so that it is found wherever it comes out. */
const WRONG = 'wrong-secret-of-a-guesser';
const basic = (password: string) => `Authorization: Basic ${Buffer.from(`source:${password}`).toString('base64')}`;
const JSON_TYPE = 'Content-Type: application/json';

t.test('no secret of a request comes out again', async (t) => {
  const lines: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
  const yaml = demoYaml('limits: { wrongSecretsPerMinute: 6 }');
  const { port } = await startServer(t, yaml, tempFolder(t), log);
  const got: string[] = [];
  const say = async (line: string, heads = '', body = '') => {
    const wire = new Wire(t, port);
    const length = body === '' ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
    wire.send(`${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${heads}${heads && '\r\n'}${length}\r\n${body}`);
    await until(
      () => wire.got.includes('\r\n\r\n') && (wire.ended || wire.got.includes('audio/mpeg')),
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
      for (const path of ['/none', '/demo', `/${secret}`]) await say(`${method} ${path}`, basic(secret));
      await say(`${method} /studio`, `${basic(secret)}\r\nContent-Type: text/html`);
    }
  }
  for (const path of ['/', '/web/channels.json', '/docs', '/openapi.json', '/metrics', '/metadata/station/demo.json']) {
    await say(`GET ${path}`);
  }
  t.ok(lines.length > 5, 'something was logged');
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
