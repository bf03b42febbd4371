/** Compressed bodies of pushes, on the whole server: each coding, the limit and one past it, a bomb, and what is none. */

import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import t from 'tap';
import { FULL, isProblem, now, PATH, YAML } from '../kit/http-push.js';
import { startServer } from '../kit/server.js';
import { ask } from '../kit/wire.js';

const FORM = 'application/x-www-form-urlencoded';
const { port, base } = await startServer(t, YAML);

function post(body: Buffer, coding: string, type = 'application/json', length = true) {
  const framing = length ? `Content-Length: ${body.length}` : 'Transfer-Encoding: chunked';
  const chunked = Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]);
  const head = `POST ${PATH} HTTP/1.1\nContent-Type: ${type}\nContent-Encoding: ${coding}\n${framing}`;
  return ask(t, port, head, length ? body : chunked);
}

const json = (song: string) => Buffer.from(JSON.stringify({ ...FULL, song }));

t.test('each coding, JSON and forms', async (t) => {
  const codings = { gzip: gzipSync, 'X-Gzip': gzipSync, deflate: deflateSync, br: brotliCompressSync };
  for (const [coding, compress] of Object.entries(codings)) {
    for (const length of [true, false]) {
      const answer = await post(compress(json(coding)), coding, 'application/json', length);
      t.equal(answer.status, 200, answer.body);
      t.match(await now(t, port), { song: coding });
    }
  }
  t.match((await post(deflateRawSync(json('raw')), 'deflate')).json(), { song: 'raw' });
  t.match((await post(json('as it is'), 'identity')).json(), { song: 'as it is' });
  t.match((await post(gzipSync('song=J%C3%B3ga'), 'gzip', FORM)).json(), { song: 'Jóga' });
  const part = '--b\r\nContent-Disposition: form-data; name="song"\r\n\r\npart\r\n--b--\r\n';
  t.match((await post(gzipSync(part), 'gzip', 'multipart/form-data; boundary=b')).json(), { song: 'part' });
});

t.test('limits.pushBodyBytes counts behind it, too', async (t) => {
  const filled = (bytes: number) => Buffer.from(JSON.stringify({ ...FULL, song: 'filled' }).padEnd(bytes));
  for (const compress of [gzipSync, brotliCompressSync]) {
    const coding = compress === gzipSync ? 'gzip' : 'br';
    t.match((await post(compress(filled(65_536)), coding)).json(), { song: 'filled' });
    isProblem(t, await post(compress(filled(65_537)), coding), 413);
    isProblem(t, await post(compress(Buffer.alloc(4_000_000)), coding), 413);
  }
  isProblem(t, await post(Buffer.alloc(65_537), 'gzip'), 413);
});

t.test('what is none', async (t) => {
  const whole = gzipSync(json('x'));
  for (const body of [whole.subarray(0, -9), json('x'), Buffer.from([0x1f, 0x8b])]) {
    isProblem(t, await post(body, 'gzip'), 400);
  }
  for (const coding of ['zstd', 'gzip, gzip', 'compress', 'constructor']) {
    const answer = await post(whole, coding);
    isProblem(t, answer, 415);
    t.equal(answer.headers.get('accept-encoding'), 'gzip, deflate, br');
  }
  const wrong = await ask(
    t,
    port,
    `POST /metapush/demo/wrong HTTP/1.1\nContent-Type: application/json\nContent-Encoding: gzip\nContent-Length: ${whole.length}`,
    whole,
  );
  isProblem(t, wrong, 403);
});

t.test('a crowd of bombs costs no more than their limit each', async (t) => {
  const bomb = brotliCompressSync(Buffer.alloc(50_000_000), { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } });
  const before = process.memoryUsage().rss;
  const answers = await Promise.all(Array.from({ length: 8 }, () => post(bomb, 'br')));
  t.ok(answers.every(({ status }) => status === 413));
  t.ok(process.memoryUsage().rss - before < 200_000_000);
  t.equal((await fetch(`${base}/metadata/channel/demo.json`)).status, 200);
});
