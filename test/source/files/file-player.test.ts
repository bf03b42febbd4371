/** Titles of a file: each stands at its place in every round, committed before the frame behind it, and a player of another process goes on behind it. */

import t from 'tap';
import type { Frame } from '../../../src/audio/frames/frame.js';
import { SystemClock } from '../../../src/base/clock.js';
import { FilePlayer } from '../../../src/source/files/file-player.js';
import type { FileTitle } from '../../../src/source/files/file-titles.js';
import type { SourceInput, SourceTitle } from '../../../src/source/source.js';
import { pause } from '../../kit/pause.js';
import { DEMO_AUDIO } from '../../kit/server.js';
import { until } from '../../kit/until.js';

t.jobs = 3;

const FRAME_MS = (1152 / 44_100) * 1000;
const titlesAt = (...places: readonly number[]): FileTitle[] =>
  places.map((atMs) => ({ atMs, title: { artist: 'A', song: `at ${atMs}`, cover: '' } }));

class Listens implements SourceInput {
  readonly dueMs = Number.NEGATIVE_INFINITY;
  readonly aheadMs = 0;
  audioMs = 0;
  /** Its words, and how much audio stood before it. */
  readonly titles: { song: string; audioMs: number }[] = [];
  /** Frames that came while a title was being saved. */
  early = 0;
  #isSaving = false;
  readonly #saveMs: number;

  constructor(saveMs = 0) {
    this.#saveMs = saveMs;
  }

  onFrame({ durationMs }: Frame): number {
    if (this.#isSaving) this.early++;
    this.audioMs += durationMs;
    return 0;
  }
  async onTitle(title: SourceTitle): Promise<void> {
    this.titles.push({ song: typeof title === 'string' ? title : title.song, audioMs: this.audioMs });
    this.#isSaving = true;
    await pause(this.#saveMs);
    this.#isSaving = false;
  }
  onLost(reason: string): void {
    throw new Error(reason);
  }
}

function player(t: { teardown(call: () => void): void }, listens: Listens, titles: readonly FileTitle[]): FilePlayer {
  const clock = new SystemClock();
  const made = new FilePlayer(listens, clock, DEMO_AUDIO, () => 0, titles);
  t.teardown(() => {
    made.end();
    clock.stop();
  });
  return made;
}

t.test('at the edge of the nearest frame, however many one piece holds, and never behind its audio', async (t) => {
  const listens = new Listens(40);
  void player(t, listens, titlesAt(0, 100, 130, 1000)).play(null);
  await until(() => listens.titles.length === 4 && listens.audioMs > 1200, 5000);
  for (const [i, atMs] of [0, 100, 130, 1000].entries()) {
    const { song, audioMs } = listens.titles[i]!;
    t.equal(song, `at ${atMs}`);
    t.ok(Math.abs(audioMs - atMs) <= FRAME_MS / 2 + 0.001, `${audioMs} ms, not ${atMs}`);
  }
  t.equal(listens.early, 0, 'no frame goes before a title that is being saved');
});

t.test('of several within one frame the last is said', async (t) => {
  const listens = new Listens();
  void player(t, listens, titlesAt(200, 203, 206, 500)).play(null);
  await until(() => listens.titles.length >= 2, 5000);
  t.strictSame(
    listens.titles.map(({ song }) => song),
    ['at 206', 'at 500'],
  );
});

t.test('another player goes on with the next title, an older version leaves this round without', async (t) => {
  const before = new Listens();
  const first = player(t, before, titlesAt(0, 300, 900));
  void first.play(null);
  await until(() => before.titles.length === 2, 5000);
  const place = first.position!;
  first.end();
  t.same(place.round?.titles, 2);
  const after = new Listens();
  void player(t, after, titlesAt(0, 300, 900)).play(place);
  await until(() => after.titles.length > 0, 5000);
  t.equal(after.titles[0]!.song, 'at 900');
  t.ok(Math.abs(place.round!.audioMs + after.titles[0]!.audioMs - 900) <= FRAME_MS / 2 + 0.001);

  const { round: _, ...old } = place;
  const silent = new Listens();
  void player(t, silent, titlesAt(0, 300, 900)).play(old);
  await until(() => silent.audioMs > 1000, 5000);
  t.strictSame(silent.titles, []);
});
