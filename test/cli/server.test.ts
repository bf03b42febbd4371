/** Every command that asks a server, when another program answers: one line that names the address, exit code 1, and no words of a programmer. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import net, { type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { COMMANDS } from '../../src/cli/commands.js';
import { controlPath } from '../../src/cli/control-client.js';
import { airsplice } from '../kit/command-line.js';
import { demoYaml, startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';

const answer =
  (status: number, type: string, text: string): RequestListener =>
  (_, response) => {
    response.writeHead(status, { 'content-type': type });
    response.end(text);
  };

/** An answer whose head promises more than comes. */
const cutOff =
  (type: string): RequestListener =>
  (_, response) => {
    response.writeHead(200, { 'content-type': type, 'content-length': '1000' });
    response.write('x'.repeat(10), () => response.destroy());
  };

const json = (text: string) => answer(200, 'application/json', text);

const LIST = 'a list of nothing';
const HTTP: Readonly<Record<string, RequestListener>> = {
  html: answer(200, 'text/html', '<html>hello</html>'),
  'no JSON': json('{"a":'),
  null: json('null'),
  'other JSON': json('{"ready":true,"node":"a","log":7,"nodes":[null],"channels":[null]}'),
  [LIST]: json('[{"channels":[null,{"channelkey":"../x y","onair":true}]},null]'),
  'events that are none': answer(200, 'text/event-stream', 'data: {"a\n\ndata: null\n\n'),
  'an answer that is cut off': cutOff('application/json'),
  'events that are cut off': cutOff('text/event-stream'),
  'not found': answer(404, 'text/plain', 'nothing here'),
  'a redirection to nowhere': (_, response) => {
    response.writeHead(302, { location: 'http://[' });
    response.end();
  },
};

const TCP: Readonly<Record<string, (socket: Socket) => void>> = {
  'a connection that is closed': (socket) => socket.destroy(),
  'another protocol': (socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'),
};

const SILENT = ['start', 'check', 'init', 'token', 'backup', 'restore', 'schema', 'completion', 'help', 'version'];
/** Commands for which a list without a readable channel is a list all the same. */
const LISTED = ['status', 'doctor'];
/** By the socket of the data folder. */
const LOCAL = ['reload', 'restart'];

const lines = (url: string, folder: string): Readonly<Record<string, readonly string[]>> => ({
  status: ['status', '--url', url],
  cluster: ['cluster', '--url', url],
  push: ['push', 'x', '--song', 'y', '--url', url],
  watch: ['watch', 'x', '--url', url],
  record: ['record', `${url}/x`, '--seconds', '2', '--out', join(folder, 'recorded')],
  doctor: ['doctor', '--public-url', url],
  bench: ['bench', '--url', url, '--listeners', '1', '--seconds', '1'],
  'measure-offset': ['measure-offset', 'x', '--out', folder, '--url', url],
});

/** Words that only a programmer understands. */
const INSIDE =
  /^\s+at |Cannot (read|destructure)|JSON at|JSON input|Unexpected token|of undefined|\[object|is not a function/m;

async function portOf(t: Test, server: net.Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function asked(t: Test, port: number, isList = false): Promise<void> {
  const url = `http://127.0.0.1:${port}`;
  const folder = tempFolder(t);
  for (const [name, args] of Object.entries(lines(url, folder))) {
    const { code, out, err } = await airsplice(args, { AIRSPLICE_TOKEN: 'x' });
    t.notMatch(`${out}${err}`, INSIDE, name);
    if (isList && LISTED.includes(name)) continue;
    t.equal(code, 1, `${name}: ${out}${err}`);
    // Its findings are what it says.
    if (name === 'doctor') t.match(out, /✘ outside: /);
    else
      t.match(
        err,
        /^airsplice: [^\n]*127\.0\.0\.1:\d+[^\n]*\n$|^airsplice: [^\n]*(invalid title record|: not accepted)[^\n]*\n$/,
        name,
      );
  }
}

t.test('all commands are asked, or ask no server', async (t) => {
  const all = [...SILENT, ...LOCAL, ...Object.keys(lines('', ''))];
  t.strictSame(all.sort(), COMMANDS.map(({ name }) => name).sort());
});

for (const [name, listener] of Object.entries(HTTP)) {
  t.test(name, async (t) => {
    const server = createServer(listener);
    t.teardown(() => server.closeAllConnections());
    await asked(t, await portOf(t, server), name === LIST);
  });
}

for (const [name, onSocket] of Object.entries(TCP)) {
  t.test(name, async (t) => {
    const server = net.createServer((socket) => {
      // Questions are read, or the answer may be lost.
      socket.on('error', () => undefined).resume();
      onSocket(socket);
    });
    await asked(t, await portOf(t, server));
  });
}

t.test('an address of proxies names itself', async (t) => {
  const proxied = 'addresses: [{ host: 127.0.0.1, port: 0, proxyProtocol: true }]\nproxies: { trusted: [127.0.0.1] }\n';
  const { port } = await startServer(t, demoYaml().replace(/^addresses:.*\n/m, proxied));
  for (const [name, args] of Object.entries(lines(`http://127.0.0.1:${port}`, tempFolder(t)))) {
    // It names what it is asked through a proxy.
    if (name === 'doctor') continue;
    const { code, err } = await airsplice(args, { AIRSPLICE_TOKEN: 'x' });
    t.match(
      { code, err },
      { code: 1, err: /no PROXY header, which this address must have \(proxyProtocol\)\n$/ },
      name,
    );
  }
});

t.test('another program at the socket of the data folder', async (t) => {
  const folder = tempFolder(t);
  const config = join(folder, 'config.yaml');
  mkdirSync(join(folder, 'data'));
  writeFileSync(config, demoYaml());
  const answers = ['<html>\n', 'null\n', '{"done":7}\n', '[]\n'];
  const server = net.createServer((socket) => socket.on('error', () => undefined).end(answers[0]!));
  await new Promise<void>((done) => server.listen(controlPath(join(folder, 'data')), done));
  t.teardown(() => server.close());
  for (; answers.length > 0; answers.shift()) {
    for (const name of LOCAL) {
      const { code, err } = await airsplice([name, config]);
      t.equal(code, 1, name);
      t.match(err, /^airsplice: another program answers at .*control\.sock\n$/);
    }
  }
});
