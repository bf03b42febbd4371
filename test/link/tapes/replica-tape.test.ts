/**
 * Whatever happens to a tape and to the link, a replica reads as the tape does, and a listener there is sent the same bytes. Random stories: audio of
 * every kind, titles at their place, ahead, late and corrected, other formats, fences, tapes that are let go; links that are cut and slow, and
 * hubs that go on with what the one before has fed. Over one link, and over two: another machine's hub takes the tape and passes it on, or feeds it
 * itself from some moment on, and back.
 */

import type { Socket } from 'node:net';
import t, { type Test } from 'tap';
import { ChannelAudio } from '../../../src/audio/channel-audio.js';
import type { PlayableAudio } from '../../../src/audio/playable-audio.js';
import type { AudioTape } from '../../../src/audio/tape/audio-tape.js';
import { TICK_MS } from '../../../src/base/clock.js';
import { TapeNames } from '../../../src/link/tapes/tape-names.js';
import { TapeReceiver } from '../../../src/link/tapes/tape-receiver.js';
import { TapeSender } from '../../../src/link/tapes/tape-sender.js';
import { LinkConnection } from '../../../src/link/wire/link-connection.js';
import { Listener } from '../../../src/listener/cursor/listener.js';
import { FakeClock } from '../../kit/clock.js';
import { asStream, type LinkPipe, linkPipe } from '../../kit/link-pipe.js';
import { isLong } from '../../kit/long.js';
import { Random } from '../../kit/random.js';
import { viewOf } from '../../kit/record.js';
import { STORY_KINDS, StorySource } from '../../kit/story-source.js';
import { TapePair } from '../../kit/tape-pair.js';

const STORIES = isLong ? 120 : 6;
const STEPS = 250;
/** Of a step: no more than the longest frame, and a tick. */
const MAX_STEP_MS = 1500;
/** Until all that a sender has to say is said. */
const SETTLE_MS = 400;
const MAX_TICKS = 250;
const LINGER_MS = 2000;
const FACTS = ['contentType', 'metaint', 'sampleRate', 'channels', 'delayMs', 'hasSegments'] as const;
/** Less than a tape. */
const MAX_QUEUED_BYTES = 20_000;

/** Takes all that it is given. */
class Sink {
  readonly writableLength = 0;
  readonly #parts: Buffer[] = [];

  cork(): void {}
  uncork(): void {}

  write(bytes: Buffer): void {
    // As it is now.
    this.#parts.push(Buffer.from(bytes));
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

/** A listener on the tape and one on its replica, that join together. */
interface Two {
  readonly here: Listener;
  readonly there: Listener;
  readonly sinks: readonly [Sink, Sink];
  readonly tapes: readonly [AudioTape, AudioTape];
}

class Story {
  readonly random: Random;
  readonly clock = new FakeClock();
  readonly audio: ChannelAudio;
  readonly receiver: TapeReceiver;
  readonly pair: TapePair;
  names = new TapeNames();
  readonly counts = { cuts: 0, compared: 0, ended: 0, fallen: 0, bytes: 0, moves: 0 };
  /** Between the two links; null: there is one. */
  readonly #middle: TapeReceiver | null;
  /** To the middle; null: it is cut, or there is none. */
  #first: LinkPipe | null = null;
  /** What the last link takes the tape from. */
  #served: PlayableAudio;
  #sender: TapeSender | null = null;
  #source: StorySource;
  #pipe: LinkPipe | null = null;
  #twos: Two[] = [];
  /** Whether bytes go over by themselves. */
  #isSlow = false;
  #titles = 0;

  constructor(random: Random, hops: 1 | 2) {
    this.random = random;
    const { clock } = this;
    this.#middle = hops === 1 ? null : new TapeReceiver(clock, LINGER_MS);
    const delay = random.chance(0.3) ? { ms: random.int(500, 4000), clock } : undefined;
    this.audio = new ChannelAudio({
      key: 'demo',
      lagMs: random.int(5000, 30_000),
      now: () => clock.now(),
      metaint: random.chance(0.7) ? random.int(500, 3000) : undefined,
      bitrateKbps: random.chance(0.5) ? random.int(24, 128) : undefined,
      icy: {
        charset: 'utf-8',
        apostrophe: 'keep',
        streamUrl: random.chance(0.5) ? 'none' : 'cover',
        etypes: { jingle: 'keep' },
        name: 'Demo',
      },
      icyInOgg: random.chance(0.5),
      delay,
    });
    this.pair = new TapePair(random);
    this.receiver = new TapeReceiver(clock, LINGER_MS);
    this.#source = this.#anySource();
    this.#served = this.#middle?.audio('demo') ?? this.audio;
    this.#connectFirst();
    this.connect();
    this.#enter();
  }

  get linked() {
    return this.receiver.audio('demo');
  }

  connect(): void {
    this.#pipe?.hub.destroy();
    const pipe = linkPipe();
    this.#pipe = pipe;
    const onBroken = (error: unknown) => {
      throw error;
    };
    const parts = { clock: this.clock, names: this.names, audioOf: () => this.#served };
    this.#sender = new TapeSender(
      new LinkConnection(asStream(pipe.hub), onBroken, { maxQueuedBytes: MAX_QUEUED_BYTES }),
      parts,
    );
    this.receiver.connect(new LinkConnection(asStream(pipe.worker), onBroken));
  }

  /** The link to the middle. */
  #connectFirst(): void {
    if (this.#middle === null) return;
    this.#first?.hub.destroy();
    const pipe = linkPipe();
    this.#first = pipe;
    const onBroken = (error: unknown) => {
      throw error;
    };
    const parts = { clock: this.clock, names: this.names, audioOf: () => this.audio };
    new TapeSender(new LinkConnection(asStream(pipe.hub), onBroken, { maxQueuedBytes: MAX_QUEUED_BYTES }), parts);
    this.#middle.connect(new LinkConnection(asStream(pipe.worker), onBroken));
  }

  /** The middle feeds the tape itself from now on, or takes it again once it has come as far. */
  #move(): void {
    const middle = this.#middle!.audio('demo');
    if (this.#served === middle) this.#served = this.audio;
    else {
      middle.want(true);
      if (this.#first === null) this.#connectFirst();
      for (let i = 0; i < MAX_TICKS && middle.tape?.head !== this.audio.tape?.head; i++) {
        this.clock.advance(TICK_MS);
        this.#flowFirst();
      }
      if (middle.tape?.head !== this.audio.tape?.head) return;
      this.#served = middle;
    }
    this.#sender?.move('demo');
    this.counts.moves++;
  }

  step(): void {
    const { random } = this;
    this.#play(random.int(0, MAX_STEP_MS));
    if (random.chance(0.25)) this.#title();
    if (random.chance(0.02)) this.#changeSource();
    if (random.chance(0.02)) this.audio.sourceChanged();
    if (random.chance(0.01)) this.audio.release();
    if (random.chance(0.08)) this.#cut();
    if (this.#middle !== null && random.chance(0.05)) this.#cutFirst();
    if (this.#middle !== null && random.chance(0.05)) this.#move();
    if (random.chance(0.05)) this.#isSlow = !this.#isSlow;
    if (random.chance(0.01)) this.#pause();
    if (random.chance(0.02)) this.#leave();
    this.#pump(random.int(1, 20_000));
    if (random.chance(0.3)) this.settle();
  }

  /** All that was said has come over: both ends have the same. */
  settle(): void {
    if (this.#pipe === null) this.connect();
    if (this.#first === null) this.#connectFirst();
    this.#isSlow = false;
    const { audio, linked } = this;
    this.#flow();
    this.clock.advance(SETTLE_MS);
    this.#flow();
    // What leaves a delay line meanwhile is said a little later; it may be another tape that has come as far as the one before.
    const isBehind = () =>
      audio.tape?.endMs !== linked.tape?.endMs || FACTS.some((fact) => audio[fact] !== linked[fact]);
    for (let i = 0; i < MAX_TICKS && isBehind(); i++) {
      this.clock.advance(TICK_MS);
      this.#flow();
    }
    if (!linked.isWanted) return;
    const { tape } = audio;
    if ((tape === undefined) !== (linked.tape === undefined)) throw new Error('only one of them has a tape');
    for (const fact of FACTS)
      if (audio[fact] !== linked[fact]) throw new Error(`${fact}: ${audio[fact]}, there ${linked[fact]}`);
    if (tape !== undefined) {
      this.pair.compare(tape, linked.tape!);
      this.counts.compared++;
    }
    this.#visit();
  }

  /** Those who listen to the end. */
  finish(): void {
    this.settle();
    for (const two of this.#twos) this.#end(two);
    this.#twos = [];
  }

  #anySource(): StorySource {
    return new StorySource(STORY_KINDS[this.random.int(0, STORY_KINDS.length - 1)]!, this.random);
  }

  /** In real time, about. */
  #play(ms: number): void {
    for (let doneMs = 0; doneMs < ms; ) {
      const frameMs = this.#source.write(this.audio, this.random.chance(0.01));
      this.clock.advance(Math.max(1, Math.round(frameMs)));
      doneMs += Math.max(1, frameMs);
      if (!this.#isSlow && this.random.chance(0.2)) this.#pump(this.random.int(1, 5000));
    }
  }

  #title(): void {
    const { random } = this;
    const isCorrection = random.chance(0.2);
    const number = isCorrection ? this.#titles : ++this.#titles;
    const song = `T${number}${isCorrection ? ` corrected ${random.int(0, 99)}` : ''} é${'é'.repeat(random.int(0, 40))}`;
    const agoMs = random.chance(0.5) ? 0 : random.int(-2000, 6000);
    const etype = random.chance(0.3) ? 101 : 0;
    this.audio.title(viewOf(song, { id: `${number}`, version: number, etype, effectAtMs: number }), agoMs);
  }

  #changeSource(): void {
    this.#source = this.#anySource();
    this.audio.sourceChanged();
    this.#source.write(this.audio, true);
  }

  /** At any byte of what is under way. */
  #cut(): void {
    this.#pump(this.random.int(0, 3000));
    this.#pipe?.hub.destroy();
    this.#pipe = null;
    this.counts.cuts++;
    if (this.random.chance(0.3)) this.#nextHub();
    if (this.random.chance(0.7)) this.connect();
  }

  #cutFirst(): void {
    this.#pumpFirst(this.random.int(0, 3000));
    this.#first?.hub.destroy();
    this.#first = null;
    if (this.random.chance(0.7)) this.#connectFirst();
  }

  /** Another hub has taken the tape back. */
  #nextHub(): void {
    const { tape } = this.audio;
    const names = new TapeNames();
    if (tape !== undefined) names.set(tape, this.names.nameOf(tape));
    this.names = names;
    this.#first?.hub.destroy();
    this.#first = null;
  }

  /** The link stands still, or is away, for longer than the tape is. */
  #pause(): void {
    this.settle();
    this.#isSlow = true;
    if (this.random.chance(0.5)) this.#cut();
    const fromMs = this.audio.audioMs;
    while (this.audio.audioMs < fromMs + 1.5 * (this.audio.tape?.lagMs ?? 0)) {
      this.#play(1000);
      for (const { here } of this.#twos) here.advance(this.clock.now());
    }
    this.settle();
  }

  /** All who listen there go, perhaps for longer than the link lingers. */
  #leave(): void {
    for (const two of this.#twos) this.#end(two);
    this.#twos = [];
    if (this.random.chance(0.5)) return;
    this.linked.listeners--;
    this.linked.want(false);
    this.#play(this.random.int(0, 2 * LINGER_MS));
    this.#enter();
  }

  #enter(): void {
    this.linked.listeners++;
    this.linked.want(true);
  }

  #pumpFirst(most: number): void {
    this.#first?.worker.deliver(most);
    if (!this.#isSlow) this.#first?.hub.deliver(most);
  }

  #flowFirst(): void {
    while ((this.#first?.worker.deliver(100) ?? 0) + (this.#first?.hub.deliver(30_000) ?? 0) > 0);
  }

  #pump(most: number): void {
    this.#pumpFirst(most);
    if (this.#pipe === null) return;
    this.#pipe.worker.deliver(most);
    if (!this.#isSlow) this.#pipe.hub.deliver(most);
  }

  /** Everything, in pieces. */
  #flow(): void {
    const { hub, worker } = this.#pipe!;
    // What goes over one of them may make something to go over the other, a tick later.
    for (let i = 0; i < (this.#middle === null ? 1 : 4); i++) {
      if (i > 0) this.clock.advance(TICK_MS);
      this.#flowFirst();
      while (worker.deliver(this.random.int(1, 100)) + hub.deliver(this.random.int(1, 30_000)) > 0);
    }
  }

  #visit(): void {
    const nowMs = this.clock.now();
    const { tape } = this.linked;
    this.#twos = this.#twos.filter((two) => {
      const [isHere, isThere] = [two.here.advance(nowMs), two.there.advance(nowMs)];
      if (isHere && isThere) return true;
      // One who has fallen off the replica, since the link was away or slow, is not one whose format has changed; that may be so here behind it.
      // Over two links it may have fallen off one tape before it is known that there is another.
      const hasLost = isHere || this.#middle !== null || !two.tapes[1].isOver;
      if (hasLost && two.there.endingReason === 'lagged') this.counts.fallen++;
      else if (two.there.endingReason !== two.here.endingReason)
        throw new Error(`${two.here.endingReason}, there ${two.there.endingReason}`);
      this.#end(two, isHere);
      return false;
    });
    if (tape === undefined || !this.random.chance(0.5)) return;
    const icy = this.audio.metaint !== null && this.random.chance(0.7);
    const cursor = tape.joinAt(this.random.int(0, 8000));
    const sinks = [new Sink(), new Sink()] as const;
    const [here, there] = ([this.audio, this.linked] as const).map((audio, i) => {
      audio.listeners++;
      audio.playing++;
      const listener = new Listener(sinks[i] as unknown as Socket, audio.tape!, {
        channel: 'demo',
        cursor,
        icy,
        session: null,
        nowMs,
      });
      listener.advance(nowMs);
      return listener;
    }) as [Listener, Listener];
    this.#twos.push({ here, there, sinks, tapes: [this.audio.tape!, tape] });
  }

  /** @param isHere only the one here goes on */
  #end({ here, there, sinks, tapes: [tape, replica] }: Two, isHere = false): void {
    for (const audio of [this.audio, this.linked]) {
      audio.playing--;
      audio.listeners--;
    }
    this.counts.ended++;
    // What has not come over yet a replica lacks: the last segments of a tape that has ended, the last bytes of a frame.
    const isSameOpen = tape.head === replica.head && tape.openRestBytes === replica.openRestBytes;
    const isWhole = !isHere && here.cursor === there.cursor && isSameOpen;
    if (isWhole) for (const listener of [here, there]) listener.finish();
    const [one, other] = sinks.map((sink) => sink.bytes) as [Buffer, Buffer];
    this.counts.bytes += other.length;
    const isSame = isWhole ? one.equals(other) : one.subarray(0, other.length).equals(other);
    if (!isSame) throw new Error(`a listener: ${one.length} bytes here, ${other.length} there`);
  }
}

for (const hops of [1, 2] as const) t.test(`random stories, over ${hops} links`, (t) => tell(t, hops));

async function tell(t: Test, hops: 1 | 2): Promise<void> {
  const all = { cuts: 0, compared: 0, ended: 0, fallen: 0, bytes: 0, moves: 0, segments: 0, marks: 0 };
  const { seed } = new Random();
  for (let i = 0; i < STORIES; i++) {
    const story = new Story(new Random(seed + i), hops);
    let step = 0;
    try {
      for (; step < STEPS; step++) story.step();
      story.finish();
    } catch (error) {
      t.fail(`SEED=${seed + i}, step ${step}: ${error instanceof Error ? error.stack : error}`);
      return;
    }
    for (const [name, count] of Object.entries({
      ...story.counts,
      segments: story.pair.segments,
      marks: story.pair.marks,
    }))
      all[name as keyof typeof all] += count;
  }
  t.comment(JSON.stringify(all));
  for (const [name, count] of Object.entries(all))
    t.ok(count > 0 || (name === 'moves' && hops === 1), `${name}: ${count}`);
}
