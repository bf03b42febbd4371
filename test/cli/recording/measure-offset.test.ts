/** The command, as an operator runs it, beside a real server: an encoder's tone changes some time after each push. */

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Feeder } from '../../kit/feeder.js';
import { pause } from '../../kit/pause.js';
import { PROGRAM } from '../../kit/process.js';
import { missing, Program } from '../../kit/program.js';
import { DEMO_AUDIO, startServer, type TestServer } from '../../kit/server.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { PITCHES, toneAt, toneFrames } from '../../kit/tone-recorder.js';
import { until } from '../../kit/until.js';

const OFFSET_MS = 800;
/** Of the encoder's pieces and of the machine. */
const MAX_OFF_SECONDS = 0.35;
const YAML = `
addresses: [{ host: 127.0.0.1, port: 0 }]
streams: { burstSeconds: 1 }
stations: { demo: { channels: { tone: { pushTokens: [demo-token], sources: [{ type: encoder, password: demo-source }] } } } }
`;

/** Runs it until it ends by itself or is stopped. */
function run(t: Test, ...args: string[]): Program {
  return new Program(t, process.execPath, [...PROGRAM, 'measure-offset', ...args]);
}

async function push(t: Test, { base }: TestServer, song: string): Promise<void> {
  t.equal((await fetch(`${base}/metapush/tone/demo-token?song=${encodeURIComponent(song)}`)).status, 200);
}

t.test(
  'a file for each push, in which the new tone begins as late as it did',
  { skip: missing('ffmpeg') },
  async (t) => {
    const server = await startServer(t, YAML);
    const tones = PITCHES.map(toneFrames);
    const feeder = new Feeder(t, server.port, '/tone', { frames: tones[0]! }).stream(t);
    t.equal(await feeder.answered(), 200);
    await pause(5000);
    const out = tempFolder(t);
    const plain = run(t, 'tone', '--url', server.base, '--out', out, '--seconds', '2', '--count', '2');
    const early = run(
      t,
      'tone',
      '--url',
      `${server.base}/`,
      '--out',
      tempFolder(t),
      '--seconds',
      '30',
      '--before',
      '1',
    );
    for (const one of [plain, early]) await one.until(() => one.said.includes('waiting'), 20_000, 'it does not play');
    await pause(2000);
    for (const [i, song] of ['../Björk: "Jóga"/1', 'Second'].entries()) {
      await push(t, server, song);
      await pause(OFFSET_MS);
      feeder.frames = tones[i + 1]!;
      await pause(2000);
    }
    await until(() => plain.ended !== undefined, 10_000);
    t.equal(plain.ended, 0, plain.said);
    const files = readdirSync(out).sort();
    t.equal(files.length, 2);
    t.match(files[0], /^tone-\d{8}T\d{6}Z-Björk-Jóga-1\.mp3$/);
    t.match(files[1], /^tone-\d{8}T\d{6}Z-Second\.mp3$/);
    for (const [i, file] of files.entries()) {
      t.match(plain.said, file);
      const seconds = toneAt(join(out, file), PITCHES[i + 1]!);
      t.ok(Math.abs(seconds - OFFSET_MS / 1000) < MAX_OFF_SECONDS, `${file}: ${seconds} s`);
      t.equal(execFileSync('ffmpeg', ['-v', 'error', '-i', join(out, file), '-f', 'null', '-']).length, 0);
    }
    t.match(plain.said, 'titleOffsetMs');

    early.child.kill('SIGINT');
    await until(() => early.ended !== undefined, 10_000);
    t.equal(early.ended, 0, early.said);
    const path = /^(\S+Second\.mp3): /m.exec(early.said)?.[1] ?? '';
    t.ok(existsSync(path), 'what is not whole yet is written at its end');
    const seconds = toneAt(path, PITCHES[2]!);
    t.ok(Math.abs(seconds - 1 - OFFSET_MS / 1000) < MAX_OFF_SECONDS, `${seconds} s, with a second before it`);
  },
);

t.test(
  'a server that makes up times and titles writes no file over another, and none with a name that is too long',
  async (t) => {
    const server = createServer(({ url }, response) => {
      if (!url!.startsWith('/metadata/sse/')) {
        response.writeHead(200, { 'Content-Type': 'audio/mpeg' });
        response.write(readFileSync(DEMO_AUDIO));
        return;
      }
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      for (const position of ['0', '500', '900']) {
        const title = { type: 'now', rawdata: '語'.repeat(200), time: '/1'.repeat(500), position };
        response.write(`data: ${JSON.stringify(title)}\n\n`);
      }
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    t.teardown(() => {
      server.close();
      server.closeAllConnections();
    });
    const out = tempFolder(t);
    const { port } = server.address() as AddressInfo;
    const args = ['tone', '--url', `http://127.0.0.1:${port}`, '--out', out, '--seconds', '1', '--count', '2'];
    const program = run(t, ...args);
    await until(() => program.ended !== undefined, 20_000);
    t.equal(program.ended, 0, program.said);
    const name = `tone-1111111111111111-${'語'.repeat(40)}`;
    t.same(readdirSync(out).sort(), [`${name}-2.mp3`, `${name}.mp3`]);
  },
);

t.test('what cannot be measured', async (t) => {
  const { base } = await startServer(t, YAML);
  const ends = async (code: number, says: RegExp, ...args: string[]) => {
    const program = run(t, ...args);
    await until(() => program.ended !== undefined, 20_000);
    t.match([program.ended, program.said], [code, says]);
  };
  await Promise.all([
    ends(2, /an argument is missing\nusage: \S+ \S+ measure-offset/),
    ends(2, /--seconds must be a number from 1 to 600/, 'tone', '--seconds', '0.5'),
    ends(2, /--url must be/, 'tone', '--url', 'ftp://x'),
  ]);
  await Promise.all([
    ends(2, /a channel key is/, 'to ne'),
    ends(1, /answers 503 for the channel tone/, 'tone', '--url', base),
    ends(1, /answers 404 for the channel nobody/, 'nobody', '--url', base),
    ends(1, /http:\/\/127.0.0.1:9 cannot be reached: .*ECONNREFUSED/, 'tone', '--url', 'http://127.0.0.1:9'),
  ]);
});
