/** Files of a rewind, as any process serves them: few at a time, each once for all who wait, and nothing that is not what was written. */

import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import t, { type Test } from 'tap';
import type { RewindLine } from '../../../src/hls/hls-schema.js';
import { Rewinds } from '../../../src/hls/rewind/rewinds.js';
import { encode } from '../../../src/metadata/codec.js';
import { FakeClock } from '../../kit/clock.js';
import { tempFolder } from '../../kit/temp-folder.js';

const KEY = 'demo';
const INIT = `init-${'a'.repeat(16)}.mp4`;
const INIT_BYTES = Buffer.from('an initialization section');
const nameOf = (i: number) => `${i}-${i.toString(16).padStart(16, '0')}.m4s`;

class Served {
  readonly folder: string;
  readonly clock = new FakeClock();
  readonly faults: string[] = [];
  readonly rewinds: Rewinds;

  constructor(t: Test) {
    const folder = tempFolder(t);
    this.folder = join(folder, KEY);
    mkdirSync(join(this.folder, 'rewind'), { recursive: true });
    const onDamaged = (channel: string, error: unknown) => this.faults.push(`${channel}: ${(error as Error).message}`);
    this.rewinds = new Rewinds({ folder, clock: this.clock, onDamaged });
  }

  log(chunk: number, lines: readonly (RewindLine | string)[]): void {
    const texts = lines.map((line) => (typeof line === 'string' ? line : encode(line)));
    writeFileSync(join(this.folder, 'rewind', `${chunk}.jsonl`), `${texts.join('\n')}\n`);
  }

  /** A segment with its file. */
  segment(i: number): RewindLine {
    const bytes = Buffer.alloc(1000, i);
    writeFileSync(join(this.folder, nameOf(i)), bytes);
    return {
      segment: {
        ...{
          sequence: i,
          name: nameOf(i),
          init: INIT,
          initCrc: crc32(INIT_BYTES),
          startMs: 1_795_000_000_000 + i * 4000,
          micros: 4_000_000,
        },
        ...{ isDiscontinuity: false, discontinuities: 0, targetSeconds: 4, length: 1000, crc: crc32(bytes) },
      },
    };
  }

  get segments(): Promise<number> {
    return this.rewinds.playlist(KEY).then((text) => text?.match(/#EXTINF/g)?.length ?? 0);
  }
}

t.test('what is listed is there, with what it needs; nothing else is', async (t) => {
  const served = new Served(t);
  served.log(1, [served.segment(1), served.segment(2), served.segment(3)]);
  writeFileSync(join(served.folder, INIT), INIT_BYTES);
  writeFileSync(join(served.folder, nameOf(9)), 'a file that no list names');
  const { rewinds } = served;
  t.equal((await rewinds.file(KEY, nameOf(2)))!.bytes[999], 2);
  t.equal((await rewinds.file(KEY, INIT))!.bytes.toString(), 'an initialization section');
  for (const name of [nameOf(9), nameOf(4), 'window.json', '../config.yaml', `init-${'b'.repeat(16)}.mp4`])
    t.equal(await rewinds.file(KEY, name), undefined, name);
  t.strictSame(served.faults, []);
  writeFileSync(join(served.folder, nameOf(1)), Buffer.alloc(1000, 7));
  writeFileSync(join(served.folder, nameOf(2)), Buffer.alloc(999, 2));
  rmSync(join(served.folder, nameOf(3)));
  for (const i of [1, 2, 3]) t.equal(await rewinds.file(KEY, nameOf(i)), undefined);
  t.match(served.faults, [/is not what was written/, /is not what was written/, /ENOENT/]);
});

t.test('an initialization section that is not what was written is not served', async (t) => {
  for (const [spoilt, isServed] of [
    [INIT_BYTES, true],
    [Buffer.alloc(0), false],
    [Buffer.alloc(INIT_BYTES.length), false],
  ] as const) {
    for (const hasChecksum of [true, false]) {
      const served = new Served(t);
      const { segment } = served.segment(1);
      const { initCrc, ...before } = segment!;
      served.log(1, [{ segment: hasChecksum ? segment! : before }]);
      writeFileSync(join(served.folder, INIT), spoilt);
      const file = await served.rewinds.file(KEY, INIT);
      t.equal(file !== undefined, isServed || !hasChecksum, `${spoilt.length} bytes, ${initCrc}`);
      t.equal(served.faults.length, file === undefined ? 1 : 0);
    }
  }
});

t.test('a file is read once for all who wait for it', async (t) => {
  const served = new Served(t);
  served.log(
    1,
    Array.from({ length: 100 }, (_, i) => served.segment(i + 1)),
  );
  const { rewinds } = served;
  const all = await Promise.all(Array.from({ length: 300 }, (_, i) => rewinds.file(KEY, nameOf((i % 100) + 1))));
  t.equal(new Set(all).size, 100);
  t.ok(all.every((file, i) => file!.bytes[0] === (i % 100) + 1));
  t.not(await rewinds.file(KEY, nameOf(1)), all[0], 'none is kept');
});

t.test('a log is read on, at most once in two seconds; it is forgotten when nobody asks', async (t) => {
  const served = new Served(t);
  const { clock, rewinds } = served;
  t.equal(await served.segments, 0);
  served.log(1, [served.segment(1)]);
  t.equal(await served.segments, 0, 'it was read just now');
  clock.advance(2000);
  t.equal(await served.segments, 1);
  served.log(1, [served.segment(1), served.segment(2)]);
  served.log(3, [served.segment(3)]);
  clock.advance(2000);
  t.equal(await served.segments, 3, 'the rest of one file, and the next one');
  rmSync(join(served.folder, 'rewind', '1.jsonl'));
  served.log(3, [served.segment(3), served.segment(4)]);
  clock.advance(2000);
  t.equal(await served.segments, 4, 'what was read is known');
  clock.advance(600_001);
  rewinds.tidy(clock.now());
  t.equal(await served.segments, 2);
  rmSync(join(served.folder, 'rewind'), { recursive: true });
  clock.advance(2000);
  t.equal(await served.segments, 0, 'it is gone');
  t.notOk(existsSync(join(served.folder, 'rewind')));
});

t.test(
  'lines that are none are left out, wherever they are cut; behind a lost segment another list begins',
  async (t) => {
    const served = new Served(t);
    const { clock } = served;
    const lines = [1, 2, 3, 4, 5].map((i) => served.segment(i));
    const line = encode(lines[2]);
    for (let length = 0; length < line.length; length += 7) {
      served.log(1, [lines[0]!, lines[1]!, line.slice(0, length), lines[2]!, lines[3]!]);
      clock.advance(601_000);
      served.rewinds.tidy(clock.now());
      t.equal(await served.segments, 4, `${length} bytes`);
    }
    for (const lie of [
      line.replace('"sequence":3', '"sequence":-3'),
      line.replace('.m4s', '.exe'),
      line.replace(nameOf(3), `../${nameOf(3)}`),
      line.replace('"micros":4000000', '"micros":40000000'),
      line.replace('"init":"', '"init":"../'),
    ]) {
      t.not(lie, line);
      served.log(1, [
        lines[0]!,
        lines[1]!,
        lie,
        lines[3]!,
        lines[4]!,
        '{"from":1e300}',
        '{"title":{}}',
        'x',
        '[]',
        '7',
      ]);
      clock.advance(601_000);
      served.rewinds.tidy(clock.now());
      t.equal(await served.segments, 2, lie);
    }
  },
);
