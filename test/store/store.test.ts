import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { open } from 'lmdb';
import t, { type Test } from 'tap';
import { type ChannelState, EMPTY_STATE } from '../../src/now-playing/state.js';
import { openLmdbStore } from '../../src/store/lmdb.js';
import { isTooOld } from '../../src/store/store.js';
import { historyKey } from '../../src/store/stored.js';
import { timed } from '../../src/store/timed.js';
import { FakeClock } from '../kit/clock.js';
import { isLong } from '../kit/long.js';
import { MemoryStore } from '../kit/memory-store.js';
import { pause } from '../kit/pause.js';
import { TYPESCRIPT } from '../kit/process.js';
import { Random } from '../kit/random.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';
import { entryOf, onAir, stateOf, storeContract } from './contract.js';

// They wait more than they compute.
t.jobs = 4;

const SAVER = fileURLToPath(new URL('saver.ts', import.meta.url));
const FILE = 'airsplice.mdb';
const DAY_MS = 86_400_000;

t.test('memory keeps the contract', (t) => storeContract(t, async (bounds, clock) => new MemoryStore(bounds, clock)));
t.test('lmdb keeps the contract', (t) =>
  storeContract(t, (bounds, clock) => openLmdbStore(tempFolder(t), bounds, undefined, undefined, clock)),
);

t.test('timed keeps the contract', (t) =>
  storeContract(t, async (bounds, clock) => timed(new MemoryStore(bounds, clock), () => undefined)),
);

/** A save takes as many milliseconds as the state's version; those of channel b fail. */
class SlowStore extends MemoryStore {
  override async save(channel: string, state: ReturnType<typeof stateOf>): Promise<void> {
    await pause(state.version);
    if (channel === 'b') throw new Error('no');
    await super.save(channel, state);
  }
}

t.test('a save that takes long is reported, whether it succeeds or not, and no other', async (t) => {
  const reported: [string, number][] = [];
  const onSlow = (channel: string, tookMs: number) => void reported.push([channel, tookMs]);
  const store = new SlowStore();
  await timed(store, onSlow, 600_000).save('a', stateOf(300, undefined, 'a'));
  t.same(reported, []);
  const watched = timed(store, onSlow, 250);
  await Promise.all([
    watched.save('a', stateOf(300, undefined, 'a')),
    t.rejects(watched.save('b', stateOf(400, undefined, 'a')), { message: 'no' }),
  ]);
  t.same(
    reported.map(([channel]) => channel),
    ['a', 'b'],
  );
  t.ok(reported[0]![1] >= 299 && reported[1]![1] >= 399, reported.join());
  t.equal(watched.load('a')?.version, 300);
});

t.test('history is too old one millisecond past its days, counted from its end', async (t) => {
  const wallMs = Date.UTC(2026, 10, 20);
  const of = (toMs: number | null) => isTooOld(entryOf(1, 0, toMs), { days: 2, entries: 1 }, wallMs);
  t.equal(of(wallMs - 2 * 86_400_000), false);
  t.equal(of(wallMs - 2 * 86_400_000 - 1), true);
  t.equal(of(null), false);
});

/** Plays titles at a store that was opened by this clock. @returns the versions that readers get then, oldest first */
async function playAt(folder: string, clock: FakeClock, versions: readonly number[]): Promise<readonly number[]> {
  const store = await openLmdbStore(folder, { days: 2, entries: 100 }, undefined, undefined, clock);
  for (const version of versions) {
    const { record, fromMs } = store.history('jazz', { limit: 1 })[0] ?? {};
    const ended = record === undefined ? [] : [{ record, fromMs: fromMs!, toMs: Math.max(fromMs!, clock.wallMs()) }];
    await store.save('jazz', onAir(version, clock.wallMs()), [...ended, entryOf(version, clock.wallMs(), null)]);
    clock.spend(60_000);
  }
  const history = store.history('jazz', { limit: 1000 }).reverse();
  await store.close();
  t.ok(
    history.every(({ toMs }, i) => toMs === (history[i + 1]?.fromMs ?? null)),
    'one after the other',
  );
  return history.map(({ record }) => record.version);
}

t.test('lmdb: a server that ran while the clock was ahead, and one while it is behind', async (t) => {
  const folder = tempFolder(t);
  const T = Date.UTC(2026, 10, 20);
  t.strictSame(await playAt(folder, new FakeClock(0, T), [1, 2, 3]), [1, 2, 3]);
  t.strictSame(await playAt(folder, new FakeClock(0, T + 40 * DAY_MS), [4]), [1, 2, 3, 4]);
  t.strictSame(await playAt(folder, new FakeClock(0, T + 300_000), []), [1, 2, 3, 4]);
  t.strictSame(await playAt(folder, new FakeClock(0, T + 300_000), [5, 6]), [1, 2, 3, 4, 5, 6]);
  const store = await openLmdbStore(folder, { days: 2, entries: 100 }, undefined, undefined, new FakeClock(0, T));
  t.ok(
    store.history('jazz', { limit: 1000 }).every(({ fromMs }) => fromMs < T + 600_000),
    'none stands ahead',
  );
  const late = new FakeClock(0, T - 20 * 3_600_000);
  await store.close();
  const again = await openLmdbStore(folder, { days: 2, entries: 100 }, undefined, undefined, late);
  await again.save('jazz', onAir(7, late.wallMs()), [entryOf(7, late.wallMs(), null)]);
  const versions = again.history('jazz', { limit: 1000 }).map(({ record }) => record.version);
  t.strictSame(versions, [6, 5, 4, 3, 2, 1, 7], 'a clock that is behind moves nothing');
  await again.close();
});

t.test('lmdb: what became too old while there was no server goes in as much time again', async (t) => {
  const folder = tempFolder(t);
  const T = Date.UTC(2026, 10, 20);
  await playAt(folder, new FakeClock(0, T), [1, 2]);
  const clock = new FakeClock(0, T + 3 * DAY_MS);
  t.strictSame(await playAt(folder, clock, [3]), [1, 2, 3]);
  const store = await openLmdbStore(folder, { days: 2, entries: 100 }, undefined, undefined, clock);
  store.history('jazz', { limit: 1 });
  clock.spend(3 * DAY_MS);
  t.strictSame(
    store.history('jazz', { limit: 9 }).map(({ record }) => record.version),
    [3],
  );
  await store.close();
});

t.test('what is loaded from memory is not what a caller still holds', async (t) => {
  const store = new MemoryStore();
  const state = { ...stateOf(1) };
  await store.save('a', state);
  state.version = 2;
  t.equal(store.load('a')?.version, 1);
});

t.test('lmdb: the folder is made for its owner alone, and a store opens again with what it had', async (t) => {
  const folder = join(tempFolder(t), 'not', 'yet', 'there.d');
  const store = await openLmdbStore(folder);
  t.equal(statSync(folder).mode & 0o777, 0o700);
  const saves = Array.from({ length: 50 }, (_, i) => store.save(`c${i}`, stateOf(i, undefined, `c${i}`)));
  await store.close();
  await Promise.all(saves);

  const again = await openLmdbStore(folder);
  for (let i = 0; i < 50; i++) t.same(again.load(`c${i}`), stateOf(i, undefined, `c${i}`));
  await again.close();
});

t.test(
  'lmdb: of a state that is damaged, or of a later version, the rest goes on, and what is wrong is said with its channel',
  async (t) => {
    const folder = tempFolder(t);
    const store = await openLmdbStore(folder);
    await store.save('good', stateOf(1, undefined, 'good'));
    await store.close();
    const whole = (channel: string) => ({ format: 2, state: stateOf(7, undefined, channel) as object });
    const changed = (channel: string, member: string, value: unknown) =>
      JSON.stringify({ format: 2, state: { ...whole(channel).state, [member]: value } });
    const record = (channel: string, member: string, value: unknown) =>
      changed(channel, 'now', { ...stateOf(7, undefined, channel).now, [member]: value });
    const values: Record<string, readonly [text: string, said: RegExp, lacks: readonly string[]]> = {
      text: ['now', /it is not JSON/, ['all']],
      null: ['null', /it is not an object/, ['all']],
      bare: ['{"version":1}', /it is not an object/, ['all']],
      later: [
        JSON.stringify({ ...whole('later'), format: 3 }),
        /its format is 3, this version of airsplice reads 1 and 2/,
        [],
      ],
      number: [record('number', 'song', 12345), /now: song: must be a string/, ['now']],
      foreign: [record('foreign', 'channel', 'jazz'), /now: is of another channel/, ['now']],
      newer: [record('newer', 'version', 8), /now: is newer than its state/, ['now']],
      far: [record('far', 'effectAtMs', 1e300), /now: effectAtMs: /, ['now']],
      next: [record('next', 'type', 'next'), /now: (it: )?is not a current title/, ['now']],
      deep: [record('deep', 'extdata', '[1'), /now: extdata: is not JSON/, ['now']],
      wide: [record('wide', 'song', 'x'.repeat(65_537)), /now: song: must be at most 65536 bytes/, ['now']],
      held: [changed('held', 'held', [{}]), /held: 0\.id: /, ['held']],
      since: [changed('since', 'onAirSinceMs', 'now'), /onAirSinceMs: /, ['onAirSinceMs']],
      version: [changed('version', 'version', -1), /version: /, ['version', 'now', 'next', 'covered']],
    };
    const root = open({ path: join(folder, FILE), noSubdir: true, overlappingSync: false });
    const channels = root.openDB<string, string>({ name: 'channels', encoding: 'string' });
    for (const [channel, [value]] of Object.entries(values)) await channels.put(channel, value);
    await channels.put('odd', changed('odd', 'cluster', { of: 'a later version' }));
    await root.close();

    const errors: string[] = [];
    const again = await openLmdbStore(folder, undefined, ({ message }) => errors.push(message));
    for (const [channel, [, said, lacks]] of Object.entries(values)) {
      const read = again.load(channel)!;
      t.match(errors, [new RegExp(`channel ${channel} `)], channel);
      t.match(errors.pop(), said);
      const kept: Record<string, unknown> =
        lacks[0] === 'all' ? { ...EMPTY_STATE } : { ...stateOf(7, undefined, channel) };
      for (const member of lacks) if (member !== 'all') kept[member] = EMPTY_STATE[member as keyof ChannelState];
      t.same(read, kept, channel);
    }
    t.same(again.load('good'), stateOf(1, undefined, 'good'), 'the others can');
    t.same(
      again.load('odd'),
      { ...stateOf(7, undefined, 'odd'), cluster: { of: 'a later version' } },
      'what is not known is kept',
    );
    await again.save('text', stateOf(2, undefined, 'text'));
    t.same(again.load('text'), stateOf(2, undefined, 'text'), 'and a new save mends it');
    t.same(errors, []);
    await again.close();
  },
);

t.test('lmdb: what format 1 has stored is read', async (t) => {
  const folder = tempFolder(t);
  const { version, now, next, nowsSinceNext, nextHasTime } = stateOf(3, undefined, 'a');
  const root = open({ path: join(folder, FILE), noSubdir: true, overlappingSync: false });
  const channels = root.openDB<string, string>({ name: 'channels', encoding: 'string' });
  const state = { version, now, next, nowsSinceNext, nextHasTime };
  await channels.put('a', JSON.stringify({ format: 1, state }));
  await channels.put('b', JSON.stringify({ format: 1, state: { ...state, now: null, next: null } }));
  await root.close();

  const store = await openLmdbStore(folder);
  const added = { held: [], saidSeconds: null, lost: false, covered: null };
  t.same(store.load('a'), { ...state, ...added, onAirSinceMs: now!.effectAtMs });
  t.same(store.load('b'), { ...state, ...added, now: null, next: null, onAirSinceMs: 0 });
  t.same(store.history('a', { limit: 1 }), []);
  await store.close();
});

t.test('lmdb: history opens again with what it had, and its bounds with it', async (t) => {
  const folder = tempFolder(t);
  const first = await openLmdbStore(folder, { days: 30, entries: 100 });
  const nowMs = Date.now();
  for (let i = 1; i <= 50; i++) await first.save('a', stateOf(i, undefined, 'a'), [entryOf(i, nowMs + i, null, 'a')]);
  await first.close();
  const again = await openLmdbStore(folder, { days: 30, entries: 10 });
  t.equal(again.history('a', { limit: 1000 }).length, 50);
  await again.save('a', stateOf(51, undefined, 'a'), [entryOf(51, nowMs + 51, null, 'a')]);
  t.equal(again.history('a', { limit: 1000 }).length, 43, 'in small steps: 8 go with each new one');
  for (let i = 52; i <= 57; i++) await again.save('a', stateOf(i, undefined, 'a'), [entryOf(i, nowMs + i, null, 'a')]);
  t.same(
    again.history('a', { limit: 1000 }).map(({ record }) => record.version),
    [57, 56, 55, 54, 53, 52, 51, 50, 49, 48],
  );
  await again.close();
});

t.test('lmdb: an entry of the history that cannot be read is skipped, reported, and pruned in its turn', async (t) => {
  const folder = tempFolder(t);
  const nowMs = Date.now();
  const first = await openLmdbStore(folder);
  for (let i = 1; i <= 6; i++) await first.save('a', stateOf(i, undefined, 'a'), [entryOf(i, nowMs + i, null, 'a')]);
  await first.close();
  const root = open({ path: join(folder, FILE), noSubdir: true, overlappingSync: false });
  const history = root.openDB<string, ReturnType<typeof historyKey>>({ name: 'history', encoding: 'string' });
  const key = (version: number) => historyKey('a', entryOf(version, nowMs + version, null, 'a'));
  await history.put(key(1), '{"format":2,"entry":{"rec');
  await history.put(key(3), 'null');
  await history.put(key(4), '{"format":2,"entry":{"record":{"version":4},"fromMs":1}}');
  await root.close();

  const reported: string[] = [];
  const store = await openLmdbStore(folder, { days: 30, entries: 6 }, (error) => reported.push(error.message));
  const versions = () => store.history('a', { limit: 1000 }).map(({ record }) => record.version);
  t.same(versions(), [6, 5, 2]);
  t.same(store.history('a', { limit: 2, beforeMs: nowMs + 6 }).length, 2, 'a page is filled with what can be read');
  t.same(reported, ['An entry of the stored history of channel a is unreadable: skipping it']);
  for (let i = 7; i <= 11; i++) await store.save('a', stateOf(i, undefined, 'a'), [entryOf(i, nowMs + i, null, 'a')]);
  t.same(versions(), [11, 10, 9, 8, 7, 6], 'and new titles go on');
  t.equal(reported.length, 1, 'reported once');
  await store.close();
});

t.test('lmdb: a damaged file is the text of a refusal, not the death of the server', async (t) => {
  const folder = tempFolder(t);
  const file = join(folder, FILE);
  const store = await openLmdbStore(folder);
  for (let i = 0; i < 40; i++) await store.save(`c${i}`, stateOf(i, 'x'.repeat(3000), `c${i}`));
  await store.close();
  const whole = readFileSync(file);

  for (const bytes of [100, 4096, 8192, whole.length >> 1]) {
    truncateSync(file, bytes);
    await t.rejects(openLmdbStore(folder), { message: /airsplice\.mdb is damaged \(.*SIG/ }, `cut at ${bytes}`);
    writeFileSync(file, whole);
  }
  writeFileSync(file, 'this is a shopping list\n'.repeat(1000));
  await t.rejects(openLmdbStore(folder), { message: /airsplice\.mdb is damaged/ });
  writeFileSync(file, whole);
  const again = await openLmdbStore(folder);
  t.equal(again.load('c39')?.version, 39, 'each refusal has let go of the folder');
  await again.close();
});

t.test('lmdb: a file that can be read and is wrong all the same is refused with the reason', async (t) => {
  const folder = tempFolder(t);
  const file = join(folder, FILE);
  const store = await openLmdbStore(folder);
  for (let i = 0; i < 40; i++) await store.save(`c${i}`, stateOf(i, 'x'.repeat(300), `c${i}`));
  await store.close();
  const whole = readFileSync(file);
  const refusal = async (reason: RegExp, change: (bytes: Buffer) => void) => {
    const bytes = Buffer.from(whole);
    change(bytes);
    // Beside each other: most of the time a child begins.
    const other = tempFolder(t);
    writeFileSync(join(other, FILE), bytes);
    await t.rejects(openLmdbStore(other), { message: reason });
  };
  /** Calls `found` with the place behind each occurrence. */
  const behindEach = (bytes: Buffer, text: string, found: (at: number) => void) => {
    for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) found(at + text.length);
  };
  await Promise.all([
    refusal(/its keys are in disorder/, (bytes) => behindEach(bytes, 'c20', (at) => bytes.write('c99', at - 3))),
    // The database's own record, behind its name: its entries are at 32.
    refusal(/it has 40 of 41 entries/, (bytes) => behindEach(bytes, 'channels\0', (at) => (bytes[at + 32]! += 1))),
    // lmdb would die of it when it writes.
    refusal(/the list of free pages is longer than itself/, (bytes) => {
      const meta = bytes.readBigInt64LE(152) > bytes.readBigInt64LE(4096 + 152) ? 0 : 4096;
      const page = bytes.subarray(4096 * Number(bytes.readBigInt64LE(meta + 88)));
      const node = 24 + page.readUInt16LE(24);
      page.writeBigInt64LE(1_000_000n, node + 8 + page.readUInt16LE(node + 6));
    }),
  ]);
  writeFileSync(file, '');
  await t.rejects(openLmdbStore(folder), { message: /is empty, cut to 0 bytes: restore a copy/ });
  t.equal(statSync(file).size, 0, 'it was not touched');
});

/** A saver at work on a folder, and what it has said. */
class Saver {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  /** Channel → the version that resolved last. */
  readonly saved = new Map<string, number>();
  readonly lines: string[] = [];
  #complaint = '';
  readonly #closed: Promise<unknown[]>;

  /** `before` is what sh does first, in the process that becomes the saver. */
  constructor(t: Test, folder: string, options: { before?: string; growBytes?: number; launcher?: string[] } = {}) {
    const script = `${options.before ?? ':'}; exec "$0" ${TYPESCRIPT.join(' ')} "$@"`;
    const [command, ...argv] = [...(options.launcher ?? []), 'sh', '-c', script, process.execPath, SAVER, folder];
    if (options.growBytes !== undefined) argv.push(String(options.growBytes));
    // Without the test runner's own hooks, which triple the time to start.
    const env = { ...process.env, NODE_OPTIONS: '' };
    this.child = spawn(command!, argv, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#closed = once(this.child, 'close');
    t.teardown(() => this.child.kill('SIGKILL'));
    this.child.stderr.on('data', (text) => {
      this.#complaint += text;
    });
    let text = '';
    this.child.stdout.setEncoding('latin1').on('data', (more: string) => {
      const lines = (text + more).split('\n');
      text = lines.pop()!;
      for (const line of lines) {
        this.lines.push(line);
        const [word, channel, version] = line.split(' ');
        if (word === 'saved') this.saved.set(channel!, Number(version));
      }
    });
  }

  /** Resolves when it has said this many more lines that begin so. */
  async said(begin: string, count = 1): Promise<void> {
    const from = this.lines.length;
    const hasSaid = () => {
      if (this.lines.slice(from).filter((line) => line.startsWith(begin)).length >= count) return true;
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        throw new Error(`The saver ended: ${this.child.signalCode} ${this.#complaint.slice(-500)}`);
      }
      return false;
    };
    await until(
      hasSaid,
      20_000,
      () => `The saver is silent: ${this.lines.slice(-2)} ${this.#complaint.slice(-500)}`,
      2,
    );
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    const [, signal] = await this.#closed;
    if (signal !== 'SIGKILL') throw new Error(`The saver had ended before: ${this.#complaint.slice(-500)}`);
  }

  /** Whether after every refused save the channel still had the state saved before it. */
  refusalsChangedNothing(): boolean {
    const before = new Map<string, string>();
    return this.lines.every((line) => {
      const [word, channel, version] = line.split(' ');
      if (word === 'saved') before.set(channel!, version!);
      return version === before.get(channel!);
    });
  }
}

t.test('lmdb: kill -9 at any moment loses no save that had resolved', async (t) => {
  const random = new Random();
  const folder = tempFolder(t);
  for (let round = 1; round <= (isLong ? 10 : 4); round++) {
    const saver = new Saver(t, folder);
    await saver.said('saved', 8);
    await pause(random.next() * 60);
    await saver.kill();

    const store = await openLmdbStore(folder);
    for (const [channel, last] of saver.saved) {
      const state = store.load(channel);
      const kept = state?.version ?? -1;
      const why = `seed ${random.seed}, round ${round}: ${channel} ${last} had resolved, ${kept} is there`;
      t.ok(kept === last || kept === last + 1, why);
      t.same(state, stateOf(kept, `${channel} ${kept}`, channel), `${why}, and is whole`);
      t.equal(store.history(channel, { limit: 1 })[0]?.record.version, kept, `${why}, with its history`);
    }
    await store.close();
  }
});

t.test('lmdb: two processes on one folder', async (t) => {
  const folder = tempFolder(t);
  const first = new Saver(t, folder);
  await first.said('saved', 4);

  await t.rejects(openLmdbStore(folder), {
    message: `The folder ${folder} is in use by another airsplice server (process ${first.child.pid})`,
  });
  const second = new Saver(t, folder);
  await once(second.child, 'close');
  t.equal(second.child.exitCode, 1);
  t.match(second.lines, [/^closed The folder .* is in use by another airsplice server \(process \d+\)$/]);
  await first.said('saved', 4);

  await first.kill();
  const store = await openLmdbStore(folder);
  t.ok(store.load('a')!.version >= first.saved.get('a')!, 'after SIGKILL of the first it opens at once');
  await store.close();
});

t.test('lmdb: a save that cannot be written rejects, and changes nothing', async (t) => {
  const folder = tempFolder(t);
  // The file's limit (dash counts blocks of 512 bytes, bash of 1,024) is within a page, so that a write is cut short there.
  const saver = new Saver(t, folder, { before: 'ulimit -f 1001', growBytes: 2000 });
  await saver.said('refused', 40);
  await saver.said('saved', 20);
  await saver.kill();
  t.ok(saver.refusalsChangedNothing(), 'the state before is in force');
  t.match(
    saver.lines.find((line) => line.startsWith('refused')),
    /The state of channel . cannot be saved: .*Input\/output error/,
  );
  const store = await openLmdbStore(folder);
  for (const [channel, last] of saver.saved)
    t.ok(store.load(channel)!.version >= last, 'the saves between them are there');
  await store.close();
});

t.test(
  'lmdb: on a full disk saves reject until there is space again',
  { skip: process.platform !== 'linux' },
  async (t) => {
    const folder = tempFolder(t);
    // A small disk of the saver's own, gone with it. Seen from here through /proc.
    const launcher = process.getuid?.() === 0 ? ['unshare', '-m'] : ['unshare', '-rm'];
    const before = `mount -t tmpfs -o size=12m tmpfs '${folder}' || exit 9`;
    const saver = new Saver(t, folder, { launcher, before });
    const started = await Promise.race([saver.said('saved', 20), once(saver.child, 'close')]).catch(() => ['failed']);
    if (started !== undefined) return t.plan(0, 'a file system cannot be mounted here');
    const filler = join(`/proc/${saver.child.pid}/root`, folder, 'filler');
    writeFileSync(filler, Buffer.alloc(6 * 1024 * 1024));
    await saver.said('refused', 20);
    t.match(saver.lines.at(-1), /refused . \d+ The state of channel . cannot be saved: the disk of .* is full/);
    rmSync(filler);
    await saver.said('saved', 20);
    t.ok(saver.refusalsChangedNothing());
    await saver.kill();
  },
);

t.test('lmdb: a save that was refused after its commit is in no file that comes back', async (t) => {
  const data = join(tempFolder(t), 'data');
  const bounds = { days: 30, entries: 2 };
  const nowMs = Date.now();
  const store = await openLmdbStore(data, bounds);
  const entries = [1, 2].map((version) => entryOf(version, nowMs + version, null));
  await store.save('jazz', stateOf(2), entries);
  const before = store.history('jazz', { limit: 10 });

  // Found in its place, and taken away while the commit goes on. The third pushes out the first.
  const refused = [
    store.save('jazz', stateOf(3), [{ ...entries[1]!, toMs: nowMs + 3 }, entryOf(3, nowMs + 3, null)]),
    store.save('other', stateOf(7, undefined, 'other')),
  ];
  renameSync(data, `${data}.away`);
  for (const save of refused) await t.rejects(save, /cannot be saved: .*airsplice\.mdb is gone/);
  t.match(store.fault(), /is gone/);
  renameSync(`${data}.away`, data);
  t.equal(store.fault(), null, 'it can be used again at once');
  t.same(store.load('jazz'), stateOf(2));
  t.equal(store.load('other'), undefined);
  t.same(store.history('jazz', { limit: 10 }), before);
  await store.save('jazz', stateOf(3, 'another'), [entryOf(3, nowMs + 4, null)]);
  t.same(
    store.history('jazz', { limit: 10 }).map(({ record }) => record.version),
    [3, 2],
    'the version of the refused one is that of the next, once',
  );

  const last = store.save('jazz', stateOf(4), [entryOf(4, nowMs + 5, null)]);
  renameSync(data, `${data}.away`);
  const closed = store.close();
  await t.rejects(last, /is gone/);
  await closed;
  renameSync(`${data}.away`, data);
  const again = await openLmdbStore(data, bounds);
  t.same(again.load('jazz'), stateOf(3, 'another'), 'also when the store is being closed');
  t.equal(again.history('jazz', { limit: 10 }).length, 2);
  await again.close();
});
