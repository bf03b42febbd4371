/** Recordings of a real server and of one that loses its connection: whole frames, cut where the titles stand, nothing written over. */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { cueSheet, RecordingFiles } from '../../../src/cli/recording/recording-files.js';
import { icyBlock } from '../../../src/metadata/title.js';
import { airsplice } from '../../kit/command-line.js';
import { DEMO_FRAMES, framesIn } from '../../kit/feeder.js';
import { PROGRAM } from '../../kit/process.js';
import { missing, Program } from '../../kit/program.js';
import { demoYaml, startServer } from '../../kit/server.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until } from '../../kit/until.js';

const METAINT = 1000;

/** Audio with a block behind each METAINT bytes. @param titleAt the title behind these many blocks */
function spliced(audio: Buffer, titleAt: Readonly<Record<number, string>>): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0, i = 0; at + METAINT <= audio.length; at += METAINT, i++) {
    const title = titleAt[i];
    parts.push(audio.subarray(at, at + METAINT), title === undefined ? Buffer.from([0]) : icyBlock(title));
  }
  return Buffer.concat(parts);
}

async function upstream(
  t: Test,
  answer: (response: ServerResponse, number: number) => void,
  type = 'audio/mpeg',
): Promise<string> {
  let number = 0;
  const server = createServer((_, response) => {
    response.writeHead(200, { 'Content-Type': type, 'icy-metaint': METAINT });
    answer(response, number++);
  }).listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  t.teardown(() => server.close());
  t.teardown(() => server.closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/live.mp3`;
}

t.test('split: a file for each title, whole frames, cut at the frame behind its block', async (t) => {
  const frames = DEMO_FRAMES.slice(0, 200);
  const audio = Buffer.concat(frames);
  const url = await upstream(t, (response) =>
    response.write(spliced(audio, { 0: 'A - One', 20: '../B - "Zwei"', 40: 'A - One' })),
  );
  const out = join(tempFolder(t), 'new', 'folder');
  const { code, out: said } = await airsplice(['record', url, '--split', '--out', out, '--seconds', '3']);
  t.equal(code, 0);
  t.strictSame(readdirSync(out).sort(), ['001-A-One.mp3', '002-B-Zwei.mp3', '003-A-One.mp3', 'titles.json']);
  t.match(said, /001-A-One\.mp3: A - One\n[\s\S]*s recorded\n$/);
  const titles = JSON.parse(readFileSync(join(out, 'titles.json'), 'utf8')).titles;
  t.match(titles, [{ title: 'A - One', startSeconds: 0 }, { title: '../B - "Zwei"', file: '002-B-Zwei.mp3' }, {}]);
  let [first, end] = [0, 0];
  for (const [i, file] of ['001-A-One.mp3', '002-B-Zwei.mp3'].entries()) {
    const bytes = readFileSync(join(out, file));
    const { frames: written, skippedBytes } = framesIn(bytes);
    t.equal(skippedBytes, 0, 'whole frames');
    // The frame in which the block stands is the last one of the title before it.
    const place = METAINT * (i === 0 ? 21 : 41);
    first = end;
    while (Buffer.concat(frames.slice(0, end)).length < place) end++;
    t.strictSame(
      written.map(({ length }) => length),
      frames.slice(first, end).map(({ length }) => length),
      file,
    );
  }
});

t.test('whole: a lost connection is made again; a cue sheet and JSON beside it', async (t) => {
  const half = Buffer.concat(DEMO_FRAMES.slice(0, 80));
  const url = await upstream(t, (response, number) => {
    response.write(spliced(half, number === 0 ? { 0: 'A - One' } : { 0: 'B - Two' }));
    if (number === 0) setImmediate(() => response.destroy());
  });
  const out = join(tempFolder(t), 'show.mp3');
  writeFileSync(out, 'is there already');
  const recording = new Program(t, process.execPath, [...PROGRAM, 'record', url, '--out', out]);
  const path = out.replace('.mp3', '-2');
  const cue = () => {
    try {
      return readFileSync(`${path}.cue`, 'utf8');
    } catch {
      return '';
    }
  };
  await recording.until(() => cue().includes('Two'), 20_000, 'no second title');
  await recording.stop('SIGINT');
  t.equal(recording.ended, 0);
  t.match(recording.said, /retrying in 1 s/);
  t.equal(readFileSync(out, 'utf8'), 'is there already');
  const { frames, skippedBytes } = framesIn(readFileSync(`${path}.mp3`));
  t.equal(skippedBytes, 0);
  t.ok(frames.length > 100 && frames.length < 160, `${frames.length} frames`);
  t.match(
    cue(),
    /^FILE "show-2\.mp3" MP3\n {2}TRACK 01 AUDIO\n {4}TITLE "One"\n {4}PERFORMER "A"\n {4}INDEX 01 00:00:00\n {2}TRACK 02/,
  );
  t.match(JSON.parse(readFileSync(`${path}.json`, 'utf8')).titles.at(-1), { title: 'B - Two', startSeconds: Number });
});

t.test('MP2 has its own ending, and is cut into whole frames', async (t) => {
  // 384 bytes each: MPEG-1 layer II, 128 kb/s, 48 kHz (ISO/IEC 11172-3, 2.4.2.3).
  const frame = Buffer.alloc(384, 0x55);
  frame.set([0xff, 0xfd, 0x84, 0x00]);
  const audio = Buffer.concat(Array<Buffer>(300).fill(frame));
  const url = await upstream(t, (response) => response.write(spliced(audio, { 0: 'A', 20: 'B' })), 'audio/mp2');
  const out = tempFolder(t);
  t.match(await airsplice(['record', url, '--split', '--out', out, '--seconds', '3']), { code: 0 });
  t.strictSame(readdirSync(out).sort(), ['001-A.mp2', '002-B.mp2', 'titles.json']);
  for (const file of ['001-A.mp2', '002-B.mp2']) {
    const bytes = readFileSync(join(out, file));
    t.ok(bytes.length > 15_000 && bytes.length % frame.length === 0, `${file}: ${bytes.length} bytes`);
  }
});

t.test('a real server, for some seconds', { skip: missing('ffprobe') }, async (t) => {
  const { base } = await startServer(t, demoYaml());
  const push = (song: string) => fetch(`${base}/metapush/demo/demo-token?song=${song}`);
  await push('One');
  const out = tempFolder(t);
  const ran = airsplice(['record', `${base}/demo.mp3`, '--out', join(out, 'x'), '--seconds', '14']);
  await until(() => readdirSync(out).length > 0, 20_000);
  await push('Two');
  t.equal((await ran).code, 0);
  t.strictSame(readdirSync(out).sort(), ['x.cue', 'x.json', 'x.mp3']);
  const { titles } = JSON.parse(readFileSync(join(out, 'x.json'), 'utf8'));
  t.match(titles, [{ title: 'One', startSeconds: 0 }, { title: 'Two' }]);
  const args = ['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', join(out, 'x.mp3')];
  const seconds = Number(execFileSync('ffprobe', args, { encoding: 'utf8' }));
  t.ok(Math.abs(seconds - 14) < 0.2, `${seconds} s of audio, as was asked for, whatever a listener gets at once`);
});

t.test('what cannot be recorded', async (t) => {
  const { base, folder } = await startServer(t, demoYaml());
  const gone = await airsplice(['record', `${base}/none.mp3`, '--seconds', '5']);
  t.match(gone, { code: 1, out: '', err: /none\.mp3 answers 404\n$/ });
  t.match(await airsplice(['record', `${base}/docs/`, '--seconds', '5']), { code: 1, err: /recordable audio|answers/ });
  const nowhere = await airsplice(['record', `${base}/demo.mp3`, '--out', join(folder, 'a', 'b'), '--seconds', '9']);
  t.match(nowhere, { code: 1, out: '', err: /ENOENT/ }, 'nothing was recorded');
  const list = await airsplice(['record', `${base}/demo.m3u`, '--seconds', '5']);
  t.match(list, { code: 1, err: /demo\.m3u does not send recordable audio \(audio\/x-mpegurl\)\n$/ });
  t.match(await airsplice(['record']), { code: 2, err: /an argument is missing/ });
});

t.test('a cue sheet has at most 99 tracks, and no quote or line within a text', async (t) => {
  const titles = Array.from({ length: 120 }, (_, i) => ({ title: `A\t"x" - b${i}`, startSeconds: i * 61.5 }));
  const sheet = cueSheet('a"b.mp3', titles);
  t.match(sheet, /^FILE "a'b\.mp3" MP3\n/);
  t.match(sheet, /TRACK 99 AUDIO\n {4}TITLE "b98"\n {4}PERFORMER "A 'x'"\n {4}INDEX 01 100:27:00\n$/);
  t.notMatch(sheet, 'b99');
});

/** Without a server: what follows is of one that sends titles as fast as it can. */
function openRecording(t: Test, isSplit: boolean) {
  const folder = tempFolder(t);
  const base = isSplit ? folder : join(folder, 'x');
  const nothing = () => undefined;
  const files = new RecordingFiles({
    url: 'http://x/',
    base,
    ending: 'ogg',
    isSplit,
    onFile: nothing,
    onCut: nothing,
    untilMs: Number.POSITIVE_INFINITY,
    onEnd: nothing,
  });
  t.teardown(() => files.close());
  files.title('first');
  const listed = () => JSON.parse(readFileSync(`${isSplit ? join(base, 'titles') : base}.json`, 'utf8')).titles.length;
  return { files, folder, listed };
}

t.test('a crowd of titles is not listed anew with each, and whole at the end', async (t) => {
  const { files, listed } = openRecording(t, false);
  for (let i = 0; i < 5000; i++) files.title(`title ${i}`);
  t.ok(listed() < 5000, `${listed()} are listed`);
  files.close();
  t.equal(listed(), 5001);
});

t.test('titles without end, or long ones: no more are kept', async (t) => {
  const many = openRecording(t, false);
  for (let i = 0; i < 30_000; i++) many.files.title(`${i}`);
  many.files.close();
  t.equal(many.listed(), 20_000);
  const long = openRecording(t, true);
  for (let i = 0; i < 3000; i++) long.files.title(`${i}${'x'.repeat(4000)}`);
  long.files.close();
  t.ok(long.listed() > 500 && long.listed() < 530, `${long.listed()} of 4 kB`);
  t.equal(readdirSync(long.folder).length, long.listed() + 1, 'nor does one begin a file');
});

t.test('split once more into the same folder: what was there stays', async (t) => {
  const out = join(tempFolder(t), 'recordings');
  const { base } = await startServer(t, demoYaml());
  const record = () => airsplice(['record', `${base}/demo.mp3`, '--split', '--out', out, '--seconds', '2']);
  t.equal((await record()).code, 0);
  const before = readFileSync(join(out, 'titles.json'), 'utf8');
  t.equal((await record()).code, 0);
  t.equal(readFileSync(join(out, 'titles.json'), 'utf8'), before);
  t.match(JSON.parse(readFileSync(join(out, 'titles-2.json'), 'utf8')), { titles: [{ file: /^001.*-2\.mp3$/ }] });
});

t.test('one file where something is there already', async (t) => {
  const out = tempFolder(t);
  const { base } = await startServer(t, demoYaml());
  const record = (to: string) => airsplice(['record', `${base}/demo.mp3`, '--out', to, '--seconds', '2']);
  for (const name of ['show.json', 'show-2.cue']) writeFileSync(join(out, name), 'mine');
  t.equal((await record(join(out, 'show.mp3'))).code, 0);
  const shows = ['show-2.cue', 'show-3.cue', 'show-3.json', 'show-3.mp3', 'show.json'];
  t.strictSame(readdirSync(out).sort(), shows, 'a list of before stays');
  for (const name of ['show.json', 'show-2.cue']) t.equal(readFileSync(join(out, name), 'utf8'), 'mine');
  t.equal((await record(`${out}/`)).code, 0);
  const named = readdirSync(out).filter((name) => !shows.includes(name));
  t.equal(named.length, 3);
  for (const name of named) t.match(name, /^demo-\d{8}T\d{6}Z\.(mp3|json|cue)$/, 'a folder gets a file of that name');
});
