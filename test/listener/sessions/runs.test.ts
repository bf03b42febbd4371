/** Runs: one buffer for all that are due the same, with what each would have got by itself; only of what ends at the live edge. */

import t from 'tap';
import { ChannelAudio } from '../../../src/audio/channel-audio.js';
import type { Mark } from '../../../src/audio/tape/mark.js';
import { Runs } from '../../../src/listener/sessions/runs.js';
import { frameOf } from '../../kit/frame-of.js';
import { Random } from '../../kit/random.js';
import { viewOf } from '../../kit/record.js';

const METAINT = 500;
const LISTENERS = 32;

class Played {
  nowMs = 1000;
  readonly channel = new ChannelAudio({
    key: 'demo',
    now: () => this.nowMs,
    lagMs: 60_000,
    metaint: METAINT,
    bitrateKbps: 16,
  });
  readonly runs: Runs;
  readonly #random: Random;
  #titles = 0;

  constructor(random = new Random()) {
    this.#random = random;
    this.play(10);
    this.runs = new Runs(this.channel.tape!, 0);
    for (let i = 0; i < LISTENERS; i++) this.runs.enter();
  }

  /** So many seconds, a segment each. */
  play(seconds: number): void {
    for (let i = 0; i < seconds * 10; i++) {
      this.channel.write(frameOf(this.#random.bytes(200), 100, 16));
      this.nowMs += 100;
    }
  }

  title(agoMs: number): void {
    this.channel.title(viewOf(`T${++this.#titles}`, { id: `${this.#titles}`, version: this.#titles }), agoMs);
  }

  /** What a listener would be sent segment by segment. @param begins with the first of them */
  alone(count: number, icy: boolean, had: Mark | null, begins = false): Buffer {
    const tape = this.channel.tape!;
    const pieces: Buffer[] = [];
    for (let seq = tape.head - count; seq < tape.head; seq++) {
      const segment = tape.at(seq)!;
      if (begins && pieces.length === 0) pieces.push(segment.entered(icy));
      else pieces.push(icy ? segment.titledFor(had) : segment.plain);
      had = segment.late ?? had;
    }
    return Buffer.concat(pieces);
  }
}

t.test('who is due the same gets the same buffer; others get their own', async (t) => {
  const { runs, channel, play, title } = bound(new Played());
  title(0);
  play(3);
  const two = runs.upToEdge(2, true, null);
  t.equal(runs.upToEdge(3, true, null) === two, false);
  t.equal(runs.upToEdge(2, true, null), two);
  const plain = runs.upToEdge(2, false, null);
  t.equal(runs.upToEdge(2, false, null), plain);
  t.equal(runs.upToEdge(2, true, null), two, 'beside the other kinds');
  t.equal(plain.length, 2 * channel.tape!.segmentBytes);
  t.equal(two.buffer.byteLength, two.length, 'not of a pool: sockets may hold it');
});

t.test('only short runs of a crowd are shared', async (t) => {
  const { runs } = new Played();
  t.same(
    [0, 1, 2, 6, 7].map((count) => runs.isShared(count)),
    [false, false, true, true, false],
  );
  runs.leave();
  t.equal(runs.isShared(2), false, `not with ${LISTENERS - 1} listeners`);
  runs.enter();
  t.equal(runs.isShared(2), true);
});

t.test('a crowd that joins at one place gets one burst', async (t) => {
  const { runs, channel, play } = bound(new Played());
  const join = (icy: boolean) => {
    const { head } = channel.tape!;
    return runs.burst(head - 5, head, icy);
  };
  for (const icy of [true, false]) {
    for (let i = 0; i < 4; i++) t.equal(join(icy), null, 'not the first few');
    const burst = join(icy)!;
    t.equal(join(icy), burst);
    t.equal(burst.buffer.byteLength, burst.length, 'not of a pool: sockets may hold it');
  }
  play(1);
  t.equal(join(true), null, 'the next ones begin elsewhere');
  for (let i = 0; i < 4; i++) join(true);
  t.not(join(true), null);
  runs.leave();
  t.equal(join(true), null, `not with ${LISTENERS - 1} listeners`);
});

t.test('what ends before the live edge is not kept, and nothing when the crowd has gone', async (t) => {
  const { runs, play } = bound(new Played());
  const kept = ['edge', 'leave'].map((reason) => {
    const run = runs.upToEdge(3, true, null);
    if (reason === 'edge') {
      play(1);
      runs.upToEdge(2, true, null);
    } else runs.leave();
    return { run, reason };
  });
  runs.enter();
  for (const { run, reason } of kept) t.not(runs.upToEdge(3, true, null), run, reason);
});

t.test('whatever titles come, and however late, a run is what its listener would have got alone', async (t) => {
  const random = new Random();
  for (let story = 0; story < 40; story++) {
    const played = new Played(random);
    const { runs, channel } = played;
    const hads = new Set<Mark | null>([null]);
    for (let step = 0; step < 60; step++) {
      if (random.chance(0.4)) played.title(random.chance(0.5) ? 0 : random.int(0, 5000));
      if (random.chance(0.6)) played.play(1);
      for (let back = 1; back <= 6; back++) {
        const late = channel.tape!.at(channel.tape!.head - back)?.late;
        if (late != null) hads.add(late);
      }
      for (const had of hads) {
        for (let count = 2; count <= 6; count++) {
          for (const icy of [true, false]) {
            const isSame = runs.upToEdge(count, icy, had).equals(played.alone(count, icy, had));
            if (!isSame) t.fail(`seed ${random.seed}, story ${story}, step ${step}: ${count} segments, icy ${icy}`);
          }
        }
      }
      const count = random.int(1, 8);
      const { head } = channel.tape!;
      for (const icy of [true, false]) {
        for (let joins = random.int(1, 6); joins > 0; joins--) {
          const burst = runs.burst(head - count, head, icy);
          if (burst !== null && !burst.equals(played.alone(count, icy, null, true)))
            t.fail(`seed ${random.seed}, story ${story}, step ${step}: a burst of ${count} segments, icy ${icy}`);
        }
      }
      if (hads.size > 4) hads.delete([...hads][1]!);
    }
  }
  t.pass('40 stories');
});

function bound(played: Played) {
  return {
    runs: played.runs,
    channel: played.channel,
    play: (seconds: number) => played.play(seconds),
    title: (agoMs: number) => played.title(agoMs),
  };
}
