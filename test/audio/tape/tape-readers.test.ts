/**
 * What a tape keeps while nobody listens, and whose memory it uses again: who comes at any moment is sent what a tape that keeps everything
 * would have given him, and what was given to a socket never changes.
 */

import { readFileSync } from 'node:fs';
import t from 'tap';
import { ChannelAudio } from '../../../src/audio/channel-audio.js';
import { framerFor } from '../../../src/audio/frames/format.js';
import type { OggLink } from '../../../src/audio/ogg/ogg-link.js';
import type { PlayableAudio, TapeObserver } from '../../../src/audio/playable-audio.js';
import type { AudioTape } from '../../../src/audio/tape/audio-tape.js';
import { MAX_MORE_MS, neededFrom } from '../../../src/audio/tape/burst.js';
import type { Mark } from '../../../src/audio/tape/mark.js';
import { RecordView } from '../../../src/metadata/view.js';
import { frameOf } from '../../kit/frame-of.js';
import { opusLink } from '../../kit/made-ogg.js';
import { Random } from '../../kit/random.js';
import { FACE, makeRecord } from '../../kit/record.js';
import { DEMO_AUDIO } from '../../kit/server.js';

const RUNS = 25;
const LAG_MS = 20_000;
const KBPS = 128;

interface Frame {
  readonly bytes: Buffer;
  readonly durationMs: number;
  readonly link: OggLink | undefined;
}

function framesOf(file: Buffer): Frame[] {
  const frames: Frame[] = [];
  framerFor({
    onFrame: ({ bytes, durationMs, link }) => void frames.push({ bytes: Buffer.from(bytes), durationMs, link }),
  }).push(file);
  return frames;
}

const MP3 = framesOf(readFileSync(DEMO_AUDIO));
const OPUS = framesOf(opusLink(500, 1));

/**
 * Takes from a channel what the audience and a listener take (listener/cursor/audience.ts, listener/cursor/listener.ts). One that holds keeps the tape's own bytes, as a
 * socket does that has not taken all; another one's socket has taken them when it returns.
 */
class Listening {
  readonly sent: Buffer[] = [];
  /** Where it began, and what it has had. */
  readonly places: unknown[] = [];
  readonly #audio: PlayableAudio;
  readonly #icy: boolean;
  readonly #holds: () => boolean;
  #tape: AudioTape | undefined;
  #cursor = 0;
  #isFirst = true;
  #late: Mark | null = null;

  constructor(audio: PlayableAudio, icy: boolean, holds: () => boolean) {
    this.#audio = audio;
    this.#icy = icy;
    this.#holds = holds;
    if (audio.listeners++ === 0) audio.want(true);
  }

  join(burstMs: number, moreMs: number): void {
    this.#tape = this.#audio.tape;
    if (this.#tape === undefined) return;
    this.#audio.playing++;
    this.#cursor = this.#tape.joinAt(burstMs, moreMs);
    this.read();
  }

  read(): void {
    const tape = this.#tape;
    const from = this.sent.length;
    while (tape !== undefined && this.#cursor < tape.head) {
      const segment = tape.at(this.#cursor++)!;
      if (this.#isFirst && segment.entry < 0) continue;
      if (this.#isFirst) this.sent.push(segment.entered(this.#icy));
      else this.sent.push(this.#icy ? segment.titledFor(this.#late) : segment.plain);
      if (segment.late !== null) this.#late = segment.late;
      this.#isFirst = false;
      const titles = segment.marks.map(({ mark, atMs }) => [mark.view.title, atMs]);
      this.places.push([this.#cursor, segment.startMs, segment.entryMs, segment.before?.view.title, ...titles]);
    }
    this.#hold(from);
  }

  #hold(from: number): void {
    if (this.#holds()) this.#tape?.held();
    else for (let i = from; i < this.sent.length; i++) this.sent[i] = Buffer.from(this.sent[i]!);
  }

  leave(): void {
    if (this.#tape !== undefined) {
      if (!this.#isFirst) this.#hold(this.sent.push(this.#tape.rest(this.#cursor, this.#icy)) - 1);
      this.#audio.playing--;
    }
    if (--this.#audio.listeners === 0) this.#audio.want(false);
  }
}

const nobody: TapeObserver = {
  onGrown: () => undefined,
  onLate: () => undefined,
  onFence: () => undefined,
  onTape: () => undefined,
};

t.test('who comes at any moment is sent what a tape that keeps everything would give', async (t) => {
  for (let run = 0; run < RUNS; run++) {
    const random = new Random();
    const burstMs = random.int(0, 12_000);
    const metaint = [undefined, 500, 4000, 16_000][random.int(0, 3)];
    let nowMs = 1000;
    const options = { key: 'demo', lagMs: LAG_MS, now: () => nowMs, metaint, bitrateKbps: KBPS };
    const [all, kept] = [new ChannelAudio(options), new ChannelAudio({ ...options, burstMs })];
    const both = [all, kept] as const;
    const present: Listening[][] = [];
    const gone: Listening[][] = [];
    let titles = 0;
    // Nobody for most of the time, or they come and go all the while.
    const comes = random.chance(0.5) ? 0.002 : 0.02;
    for (let i = random.int(0, 1000), end = i + 4000; i < end; i++) {
      const { bytes, durationMs } = MP3[i % MP3.length]!;
      const fresh = random.chance(0.002);
      for (const audio of both) audio.write(frameOf(bytes, durationMs, KBPS, fresh));
      if (random.chance(0.1)) nowMs += 10 * durationMs;
      if (random.chance(0.002)) for (const audio of both) audio.sourceChanged();
      if (random.chance(0.001)) for (const audio of both) audio.tape?.fence();
      if (random.chance(0.0005)) for (const audio of both) audio.release();
      if (random.chance(0.01)) {
        const view = new RecordView(makeRecord({ id: `${++titles}`, song: `Song ${titles}` }), FACE);
        const agoMs = random.chance(0.5) ? 0 : random.int(0, 15_000);
        const [late, same] = both.map((audio) => audio.title(view, agoMs));
        t.same(same?.atMs, late?.atMs, `seed ${random.seed}: title ${titles}`);
      }
      if (present.length < 5 && random.chance(comes)) {
        const icy = random.chance(0.5);
        const holding = random.chance(0.5) ? 0.05 : 0.5;
        present.push(both.map((audio) => new Listening(audio, icy, () => random.chance(holding))));
        const ms = random.chance(0.8) ? burstMs : random.int(0, burstMs);
        const moreMs = [0, 1000, MAX_MORE_MS][random.int(0, 2)]!;
        for (const each of present.at(-1)!) each.join(ms, moreMs);
      }
      if (random.chance(0.05)) for (const pair of present) for (const each of pair) each.read();
      if (present.length > 0 && random.chance(0.005)) {
        const pair = present.splice(random.int(0, present.length - 1), 1)[0]!;
        for (const each of pair) each.leave();
        gone.push(pair);
      }
    }
    for (const pair of present) for (const each of pair) each.leave();
    // Compared at the end, with all that was written over meanwhile.
    for (const [one, other] of [...gone, ...present] as [Listening, Listening][]) {
      t.same(other.places, one.places, `seed ${random.seed}`);
      t.ok(Buffer.concat(other.sent).equals(Buffer.concat(one.sent)), `seed ${random.seed}, ${burstMs} ms, ${metaint}`);
    }
  }
});

/** Writes so much audio, over and over. */
function write(to: ChannelAudio, frames: readonly Frame[], ms: number): void {
  for (let i = 0, doneMs = 0; doneMs < ms; i++) {
    const { bytes, durationMs, link } = frames[i % frames.length]!;
    to.write(frameOf(bytes, durationMs, KBPS, false, link));
    doneMs += durationMs;
  }
}

const keptMs = ({ tape }: ChannelAudio) => tape!.edgeMs - tape!.at(tape!.tail)!.startMs;

for (const [name, frames] of [
  ['MP3', MP3],
  ['Ogg', OPUS],
] as const) {
  t.test(`${name}: the burst while nobody listens, the lag while anybody does`, async (t) => {
    const audio = new ChannelAudio({ key: 'demo', lagMs: LAG_MS, burstMs: 3000, now: () => 0, bitrateKbps: KBPS });
    write(audio, frames, 60_000);
    const tail = neededFrom(audio.tape!, 3000, MAX_MORE_MS);
    t.equal(audio.tape!.tail, tail, 'up to where the next one begins');
    const minMs = keptMs(audio);
    // Of what has so few bytes, all that a browser could be given.
    t.ok(minMs < (name === 'Ogg' ? LAG_MS - 4000 : 7000 + MAX_MORE_MS), `${minMs} ms`);
    audio.want(true);
    t.equal(audio.tape!.tail, tail);
    write(audio, frames, 3000);
    t.equal(audio.tape!.tail, tail, 'nothing is forgotten');
    write(audio, frames, 60_000);
    t.ok(keptMs(audio) >= LAG_MS, `${keptMs(audio)} ms`);
    audio.want(false);
    t.equal(audio.tape!.tail, neededFrom(audio.tape!, 3000, MAX_MORE_MS), 'at once');
    audio.observe(nobody);
    write(audio, frames, 60_000);
    t.ok(keptMs(audio) >= LAG_MS, 'for who observes it as for who listens');
    audio.unobserve(nobody);
    t.equal(audio.tape!.tail, neededFrom(audio.tape!, 3000, MAX_MORE_MS));
    audio.sourceChanged();
    write(audio, frames, 60_000);
    t.ok(Math.abs(keptMs(audio) - minMs) < 2000, `${keptMs(audio)} ms`);
  });
}

t.test('segments are written over older ones; none that anybody holds ever is', async (t) => {
  const audio = new ChannelAudio({ key: 'demo', lagMs: LAG_MS, burstMs: 3000, now: () => 0, bitrateKbps: KBPS });
  const buffers = () => {
    const { tail, head } = audio.tape!;
    return Array.from({ length: head - tail }, (_, i) => audio.tape!.at(tail + i)!.bytes);
  };
  write(audio, MP3, 20_000);
  const idle = new Set(buffers());
  let most = 0;
  for (let i = 0; i < 100; i++) {
    write(audio, MP3, 1000);
    for (const bytes of buffers()) idle.add(bytes);
    most = Math.max(most, buffers().length);
  }
  t.equal(idle.size, most + 1, 'those on the tape, and the open one');
  audio.want(true);
  write(audio, MP3, 2 * LAG_MS);
  const listened = new Set(buffers());
  for (let i = 0; i < 100; i++) {
    write(audio, MP3, 1000);
    for (const bytes of buffers()) listened.add(bytes);
  }
  t.ok(listened.size <= buffers().length + 2, `${listened.size} where sockets take all at once`);

  const read = new Set(buffers());
  const open = audio.tape!.rest(audio.tape!.head, true).buffer;
  audio.tape!.held();
  write(audio, MP3, 10_000);
  audio.want(false);
  for (let i = 0; i < 100; i++) {
    write(audio, MP3, 1000);
    const latest = buffers().at(-1)!;
    if (i > 0) t.notOk(read.has(latest) || (i > 1 && latest.buffer === open), `second ${i}`);
  }
});
