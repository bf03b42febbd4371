/**
 * HLS of two machines, each with a worker: the same files with the same bytes, whichever is asked, also when one joins late and when the owner of the
 * channel is killed. No number is ever given twice.
 */

import { createHash } from 'node:crypto';
import t, { type Test } from 'tap';
import { type ReadPlaylist, readPlaylist } from '../kit/hls-channel.js';
import { ClusterNode, FILE_SOURCE } from '../kit/nodes.js';
import { pause, quietFor } from '../kit/pause.js';
import { noRedis, RedisServer } from '../kit/redis.js';
import { StampedEncoder } from '../kit/stamped.js';
import { until } from '../kit/until.js';

const HLS = 'streams: { hls: { enabled: true, segmentSeconds: 2, window: 6, keep: 20 } }';
const sha = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

async function listOf({ port }: ClusterNode): Promise<ReadPlaylist | null> {
  const answer = await fetch(`http://127.0.0.1:${port}/live/hls/live.m3u8`).catch(() => null);
  const text = (await answer?.text()) ?? '';
  return answer?.status === 200 ? readPlaylist(text) : null;
}

/** All that machines have said of segments: a name has one content, and a number one name. */
class Files {
  readonly #t: Test;
  readonly byName = new Map<string, string>();
  readonly byNumber = new Map<string, string>();

  constructor(t: Test) {
    this.#t = t;
  }

  /** Loads a machine's playlist, and each segment of it at all of them. @returns the playlist; null: there is none */
  async load(node: ClusterNode, all: readonly ClusterNode[]) {
    const playlist = await listOf(node);
    for (const { name } of playlist?.segments ?? []) {
      for (const each of all) await this.#fetch(each, name);
    }
    return playlist;
  }

  async #fetch(node: ClusterNode, name: string): Promise<void> {
    const answer = await fetch(`http://127.0.0.1:${node.port}/live/hls/${name}`);
    const bytes = Buffer.from(await answer.arrayBuffer());
    const t = this.#t;
    if (answer.status !== 200) {
      t.fail(`${node.name} has no ${name}: ${answer.status}`);
      return;
    }
    const [number] = name.split('-');
    const [known, named] = [this.byName.get(name) ?? sha(bytes), this.byNumber.get(number!) ?? name];
    if (known !== sha(bytes)) t.fail(`${node.name} has other bytes of ${name}`);
    if (named !== name) t.fail(`${number} is ${named} and, at ${node.name}, ${name}`);
    this.byName.set(name, sha(bytes));
    this.byNumber.set(number!, name);
  }
}

t.test(
  'the same files at each machine; one joins late; the owner is killed',
  { skip: noRedis, timeout: 240_000 },
  async (t) => {
    const redis = await RedisServer.start(t);
    const setting = { workers: 1, more: HLS };
    const a = await ClusterNode.start(t, 'a', redis, setting);
    new StampedEncoder(t, a.port, '/live', 'demo-source', 'mp3', 1);
    const files = new Files(t);
    await until(async () => ((await files.load(a, [a]))?.segments.length ?? 0) > 2, 60_000);
    // It feeds the channel where nobody better does.
    const b = await ClusterNode.start(t, 'b', redis, { ...setting, sources: ['encoder', FILE_SOURCE] });
    await until(async () => (await files.load(b, [a, b])) !== null, 30_000);
    const haveOne = async () => {
      const [here, there] = await Promise.all([listOf(a), listOf(b)]);
      return here !== null && here.mediaSequence === there?.mediaSequence;
    };
    await until(haveOne, 30_000, () => 'who joins late has another list');
    const before = (await files.load(b, [a, b]))!;
    const { byName } = files;
    const count = byName.size;
    await until(async () => {
      await files.load(a, [a, b]);
      return byName.size > count + 2;
    }, 30_000);

    let isOver = false;
    // It is asked for the newest segments at the very moment.
    const asking = (async () => {
      for (; !isOver; await pause(20)) await files.load(b, [b]);
    })();
    await quietFor(500);
    await a.kill();
    const last = (await files.load(b, [b]))!;
    const lastNumber = last.mediaSequence + last.segments.length - 1;
    await until(async () => {
      const list = await files.load(b, [b]);
      return list !== null && list.mediaSequence + list.segments.length - 1 > lastNumber + 3;
    }, 60_000);
    isOver = true;
    await asking;
    const after = (await files.load(b, [b]))!;
    t.ok(after.mediaSequence > before.mediaSequence, 'numbers go on');
    await a.start();
    // Its own list of before is replaced by that of the other one.
    await until(haveOne, 30_000);
    await files.load(a, [a, b]);
    await b.end();
  },
);

t.test(
  'a rewind at each machine, of the same files, though nobody asks; one that comes late has less',
  { skip: noRedis, timeout: 240_000 },
  async (t) => {
    const redis = await RedisServer.start(t);
    const setting = { workers: 1, more: HLS.replace('keep: 20', 'keep: 9, rewindHours: 1') };
    const a = await ClusterNode.start(t, 'a', redis, setting);
    new StampedEncoder(t, a.port, '/live', 'demo-source', 'mp3', 1);
    const rewindOf = async ({ port }: ClusterNode) => {
      const answer = await fetch(`http://127.0.0.1:${port}/live/hls/rewind.m3u8`).catch(() => null);
      const text = (await answer?.text()) ?? '';
      return answer?.status === 200 ? readPlaylist(text) : null;
    };
    const names = async (node: ClusterNode) => (await rewindOf(node))?.segments.map(({ name }) => name) ?? [];
    await until(async () => (await names(a)).length > 14, 90_000);
    const b = await ClusterNode.start(t, 'b', redis, { ...setting, sources: ['encoder', FILE_SOURCE] });
    const copied = 'airsplice_hls_active{channel="live",state="copied"} 1';
    await until(
      async () => (await (await fetch(`http://127.0.0.1:${b.port}/metrics`)).text()).includes(copied),
      60_000,
    );
    await until(async () => (await names(b)).length > 12, 60_000);
    const [first] = await names(a);
    const there = await names(b);
    t.notOk(there.includes(first!), 'it has what the window had, and what came since');
    await until(async () => (await names(a)).includes(there.at(-1)!), 10_000);
    t.strictSame(
      (await names(a)).slice(-200).filter((name) => there.includes(name)),
      there,
    );
    for (const name of there) {
      const [one, other] = await Promise.all(
        [a, b].map(async ({ port }) => {
          const answer = await fetch(`http://127.0.0.1:${port}/live/hls/${name}`);
          return sha(Buffer.from(await answer.arrayBuffer()));
        }),
      );
      t.equal(one, other, name);
    }
    await a.kill();
    await until(async () => (await names(b)).length > there.length + 4, 60_000);
    const after = (await rewindOf(b))!;
    t.strictSame(
      after.segments.slice(0, there.length).map(({ name }) => name),
      there,
    );
    await b.end();
  },
);
