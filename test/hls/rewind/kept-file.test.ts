/** Anything may lie in the data folder: what is not what was written costs itself, never the channel, and never the process. */

import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { readKept } from '../../../src/hls/rewind/kept-file.js';
import { HlsWindow } from '../../../src/hls/window.js';
import { HLS_OPTIONS } from '../../kit/hls-link.js';
import { KEPT_KEY as KEY, KeptHls } from '../../kit/kept-hls.js';
import { tempFolder } from '../../kit/temp-folder.js';

/** Each puts something else where a file was. */
const OTHERS: Readonly<Record<string, (path: string) => void>> = {
  'a folder': (path) => mkdirSync(path),
  'a pipe': (path) => execFileSync('mkfifo', [path]),
  'a link': (path) => {
    writeFileSync(`${path}.target`, 'x');
    symlinkSync(`${path}.target`, path);
  },
  'two gigabytes': (path) => {
    writeFileSync(path, '{');
    truncateSync(path, 2 ** 31);
  },
};

function put(what: string, path: string): void {
  rmSync(path, { force: true });
  OTHERS[what]!(path);
}

/** As after a restart: what is there is looked for. */
async function isServed(kept: KeptHls): Promise<boolean> {
  await kept.pass(10);
  return !kept.link.window.isEmpty;
}

t.test('a file is read up to what was written, and nothing but a file', async (t) => {
  const path = join(tempFolder(t), 'file');
  writeFileSync(path, 'abcd');
  t.equal((await readKept(path, 4)).toString(), 'abcd');
  await t.rejects(readKept(path, 3), /has 4 bytes/);
  for (const what of Object.keys(OTHERS)) {
    const other = join(tempFolder(t), 'other');
    put(what, other);
    await t.rejects(readKept(other, 1000), what);
  }
});

t.test(
  'something else in the place of window.json, or of a segment: the channel begins anew, and is written again',
  async (t) => {
    for (const what of Object.keys(OTHERS)) {
      for (const isIndex of [true, false]) {
        const kept = new KeptHls(t);
        await kept.pass(30);
        const { name } = kept.link.window.last!;
        await kept.restart();
        put(what, isIndex ? kept.index : join(kept.folder, KEY, name));
        t.equal(await isServed(kept), true, `${what} is ${isIndex ? 'window.json' : name}`);
        t.equal(kept.faults.length, 1);
        t.strictSame([...kept.files.faults], [], 'and all can be written');
        t.ok(await kept.files.read(KEY));
      }
    }
  },
);

t.test('an initialization section in window.json that is not what was written: the channel begins anew', async (t) => {
  const kept = new KeptHls(t);
  const window = new HlsWindow(4, { window: 3, keep: 6 }, Date.now());
  const init = { name: `init-${'a'.repeat(16)}.mp4`, bytes: Buffer.from('an initialization section') };
  kept.files.keep(KEY, window, () => null);
  const facts = { number: 1, name: `1-${'0'.repeat(16)}.m4s`, bytes: Buffer.alloc(100), init, codecs: 'opus' };
  window.append({ ...facts, startMs: Date.now(), micros: 4_000_000, isDiscontinuity: false, end: null });
  await kept.files.settled();
  t.equal((await kept.files.read(KEY))!.segments[0]!.init!.bytes.toString(), 'an initialization section');
  const text = readFileSync(kept.index, 'utf8');
  const [whole, other] = [init.bytes, Buffer.alloc(init.bytes.length)].map((bytes) => bytes.toString('base64'));
  writeFileSync(kept.index, text.replace(whole!, other!));
  t.equal(await kept.files.read(KEY), null);
  t.match(kept.faults, [/init-a+\.mp4 is not what was written/]);
  writeFileSync(kept.index, text.replace(/,"initCrc":\d+/, ''));
  t.ok(await kept.files.read(KEY), 'as a version before has written it');
});

t.test('numbers that leave no room to count on are those of a damaged file', async (t) => {
  const kept = new KeptHls(t);
  await kept.pass(30);
  await kept.restart();
  const text = readFileSync(kept.index, 'utf8');
  const last = /"lastNumber":(\d+)/.exec(text)![1]!;
  for (const [most, from, to] of [
    [2 ** 40, /"lastNumber":\d+/, (n: number) => `"lastNumber":${n}`],
    [2 ** 40 + 1, /"from":\d+/, (n: number) => `"from":${n}`],
    [2 ** 30, /"discontinuitySequence":\d+/, (n: number) => `"discontinuitySequence":${n}`],
  ] as const) {
    for (const [n, isRead] of [
      [most, true],
      [most + 1, false],
    ] as const) {
      writeFileSync(kept.index, text.replace(from, to(n)));
      t.equal((await kept.files.read(KEY)) !== null, isRead, to(n));
    }
  }
  for (const [from, to] of [
    [`"number":${last}`, `"number":${Number(last) + 1}`],
    [`"name":"${last}-`, `"name":"999999999999999-`],
    [/"length":\d+/, '"length":2000000000'],
  ] as const) {
    const lie = text.replace(from, to);
    t.not(lie, text);
    writeFileSync(kept.index, lie);
    t.equal(await kept.files.read(KEY), null, to);
  }
});

t.test('a clock that was ahead: its list is not gone on with, since dates only go on', async (t) => {
  for (const [aheadMs, isKept] of [
    [10_000, true],
    [3_600_000, false],
  ] as const) {
    const kept = new KeptHls(t);
    const { link } = kept;
    await kept.pass(30);
    const { name, number } = link.window.last!;
    await kept.restart();
    const dated = readFileSync(kept.index, 'utf8').replace(
      /"(startMs|savedMs)":([\d.]+)/g,
      (_, key, ms) => `"${key}":${Number(ms) + aheadMs}`,
    );
    writeFileSync(kept.index, dated);
    link.hub.ask(link);
    await link.hub.of(link)!.restored();
    t.equal(link.window.segment(name) !== undefined, isKept, `${aheadMs} ms`);
    await kept.pass(10);
    t.ok(kept.link.window.last!.number > number, 'numbers go on');
    const behindMs = link.channel.clock.wallMs() - link.window.endMs;
    if (!isKept) t.ok(behindMs > -1000 && behindMs < 20_000, 'and dates are right again');
  }
});

t.test(
  'a log of a rewind with something else in it: the rest is listed, goes on, and does not grow for nothing',
  async (t) => {
    const spoilt: Readonly<Record<string, (log: string) => void>> = {
      'a folder before it': (log) => mkdirSync(join(log, '..', '1.jsonl')),
      'a pipe before it': (log) => execFileSync('mkfifo', [join(log, '..', '1.jsonl')]),
      'a folder behind it': (log) => mkdirSync(join(log, '..', '999999999999.jsonl')),
      'a file ahead of all that are to come': (log) => writeFileSync(join(log, '..', '999999999999999.jsonl'), ''),
      'a line that is too long': (log) => appendFileSync(log, `${'\0'.repeat(600_000)}\n`),
      'a number above all': (log) => {
        const [line] = readFileSync(log, 'utf8').split('\n').slice(-2);
        appendFileSync(log, `${line!.replace(/"sequence":\d+/, `"sequence":${2 ** 48}`)}\n`);
        appendFileSync(log, `${line!.replace(/"name":"\d+-/, '"name":"999999999999999-')}\n`);
      },
    };
    for (const [what, spoil] of Object.entries(spoilt)) {
      const kept = new KeptHls(t);
      kept.link.hls = { ...HLS_OPTIONS, rewindHours: 1 };
      const on = async (times: number) => {
        for (let i = 0; i < times; i++) await kept.pass(4);
      };
      await on(10);
      const folder = join(kept.folder, KEY, 'rewind');
      const log = join(folder, readdirSync(folder)[0]!);
      await kept.restart();
      spoil(log);
      await on(10);
      const rewinds = kept.open();
      const listed = (await rewinds.playlist(KEY))?.match(/#EXTINF/g)?.length ?? 0;
      t.ok(listed >= 15, `${what}: ${listed} are listed`);
      const lines = readdirSync(folder, { withFileTypes: true })
        .filter((entry) => entry.isFile())
        .flatMap(({ name }) => readFileSync(join(folder, name), 'utf8').match(/^\{"segment":\{"seq/gm) ?? []);
      t.ok(lines.length <= listed + 3, `${lines.length} lines`);
    }
  },
);
