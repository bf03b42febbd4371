/**
 * Listeners that are written to each two or four seconds, against the same written to each second: no one is ever short of audio that would not have been, and
 * each one's bytes are those that its segments give one by one. Seeded stories on a clock of the test's: a source that stalls and makes up for it, titles
 * on time and late, MP3 that becomes Ogg and back, listeners who come and go, and a crowd that comes and goes around them.
 */

import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import t, { type Test } from 'tap';
import { FrameWalk } from '../../bench/frames.js';
import { ChannelAudio } from '../../src/audio/channel-audio.js';
import { framerFor } from '../../src/audio/frames/format.js';
import type { AudioTape } from '../../src/audio/tape/audio-tape.js';
import { Audience } from '../../src/listener/cursor/audience.js';
import { ENDINGS } from '../../src/listener/cursor/ending.js';
import { Listener } from '../../src/listener/cursor/listener.js';
import { extraMsFor, type WriteSeconds, type WriteSetting } from '../../src/listener/cursor/pace.js';
import { Sessions } from '../../src/listener/sessions/sessions.js';
import { FakeClock } from '../kit/clock.js';
import { Feeder } from '../kit/feeder.js';
import { frameOf } from '../kit/frame-of.js';
import { opusLink } from '../kit/made-ogg.js';
import { Player } from '../kit/player.js';
import { Random } from '../kit/random.js';
import { viewOf } from '../kit/record.js';
import { startServer, WORKERS } from '../kit/server.js';
import { until } from '../kit/until.js';

const TICK_MS = 40;
const STORIES = 8;
const STORY_MS = 60_000;
/** Enough of them that their writes are shared. */
const AT_FIRST = 40;
const CROWD = 1000;
const BURST_SECONDS = 3;
const BYTES_PER_SECOND = 16_000;
/** More than make their writes shared. */
const SHARING = 40;
const YAML = `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations:
  house:
    channels:
      live: { bitrateKbps: 128, pushTokens: [studio-token], sources: [{ type: encoder, password: demo-source }] }
streams: { burstSeconds: ${BURST_SECONDS}, writeSeconds: 4 }
`;
const HEAD = Buffer.from('HTTP/1.0 200 OK\r\n\r\n');

/** A socket that takes all, but for times at which it still holds what it was given. */
class Sink extends EventEmitter {
  writableLength = 0;
  writes = 0;
  readonly parts: Buffer[] = [];
  onWrite: () => void = () => undefined;

  cork(): void {}
  uncork(): void {}

  write(bytes: Buffer): boolean {
    // It has taken it: the tape may write over it.
    this.parts.push(Buffer.from(bytes));
    this.writes++;
    this.onWrite();
    return true;
  }

  resume(): void {}
  destroy(): void {}
  destroySoon(): void {}
  resetAndDestroy(): void {}
}

/** A listener of the audience, and one that is written to at the same moments, segment by segment. */
interface Pair {
  readonly listener: Listener;
  readonly sink: Sink;
  readonly alone: Listener;
  readonly aloneSink: Sink;
  readonly tape: AudioTape;
  readonly joinedMs: number;
  /** The tape's, then. */
  readonly edgeMs: number;
  /** Where it would have begun with a write each second; null: with what comes next. */
  readonly entryMs: number | null;
  isOver: boolean;
  /** It has held what it was given. */
  hasStood: boolean;
}

class Story {
  readonly clock = new FakeClock();
  readonly channel: ChannelAudio;
  readonly #elsewhere: ChannelAudio;
  readonly audience: Audience;
  readonly pairs: Pair[] = [];
  readonly faults: string[] = [];
  readonly #random: Random;
  /** The tape's, at each tick so far. */
  readonly #edges: number[] = [];
  #crowd = 0;
  #titles = 0;
  #isOgg = false;
  #missingMs = 0;
  #stalledUntilMs = 0;
  readonly #framer = framerFor({
    onFrame: ({ bytes: frame, durationMs: ms, fresh, link }) => this.channel.write(frameOf(frame, ms, 16, fresh, link)),
  });
  #serial = 1;

  constructor(random: Random, writeSeconds: WriteSetting) {
    this.#random = random;
    const options = { now: () => this.clock.now(), lagMs: 60_000, metaint: random.int(500, 700), bitrateKbps: 16 };
    this.channel = new ChannelAudio({ key: 'demo', ...options });
    this.#elsewhere = new ChannelAudio({ key: 'elsewhere', ...options });
    const quiet = { onBegan: () => undefined, onWritten: () => undefined, onHeard: () => undefined };
    this.audience = new Audience(
      this.clock,
      new Sessions(this.clock, quiet, { keepMs: 1000, max: 10 }),
      () => writeSeconds,
    );
  }

  run(): void {
    const random = this.#random;
    for (let i = random.int(0, 700); i > 0; i--) this.#tick();
    if (this.channel.tape === undefined) for (let i = 0; i < 50; i++) this.#tick();
    if (random.chance(0.5)) this.#changeCrowd();
    for (let i = 0; i < AT_FIRST; i++) this.#join();
    for (let passedMs = 0; passedMs < STORY_MS; passedMs += TICK_MS) {
      if (random.chance(0.03)) this.#join();
      if (random.chance(0.002)) this.#changeCrowd();
      if (random.chance(0.02)) this.#title();
      if (random.chance(0.0005)) this.#isOgg = !this.#isOgg;
      if (random.chance(0.01)) random.chance(0.5) ? this.#leave() : this.#stand();
      this.#tick();
      for (const pair of this.pairs) this.#compare(pair);
    }
    this.audience.endAll('shutdown');
    for (const { sink, aloneSink } of this.pairs) {
      const [sent, expected] = [Buffer.concat(sink.parts), Buffer.concat(aloneSink.parts)];
      if (!sent.equals(expected)) this.faults.push(`${sent.length} bytes are not the ${expected.length} expected`);
    }
  }

  #tick(): void {
    this.#play();
    this.clock.advance(TICK_MS);
    this.#edges.push(this.channel.tape?.edgeMs ?? 0);
  }

  /** In real time, with stalls, after which all comes that was missed. */
  #play(): void {
    const random = this.#random;
    const nowMs = this.clock.now();
    this.#missingMs += TICK_MS;
    if (nowMs < this.#stalledUntilMs) return;
    if (random.chance(0.003)) this.#stalledUntilMs = nowMs + random.int(100, 6000);
    if (random.chance(0.5)) return;
    if (this.#isOgg) {
      const packets = Math.floor(this.#missingMs / 20);
      // A link each, and so a segment.
      if (packets < 50) return;
      this.#framer.push(opusLink(this.#serial++, packets));
      this.#missingMs -= packets * 20;
      return;
    }
    for (; this.#missingMs >= 25; this.#missingMs -= 25) {
      // 16 kb/s; nothing that looks like a frame's head.
      this.channel.write(frameOf(Buffer.alloc(50, random.int(0, 200)), 25, 16));
    }
  }

  #join(): void {
    const { tape } = this.channel;
    if (tape === undefined) return;
    const random = this.#random;
    const nowMs = this.clock.now();
    const sink = new Sink();
    const icy = random.chance(0.7);
    const burstMs = random.chance(0.1) ? 0 : random.int(500, 20_000);
    const entryMs = tape.at(tape.joinAt(burstMs))?.entryMs ?? null;
    this.audience.enter(this.channel);
    const pair: { -readonly [name in keyof Pair]?: Pair[name] } = {
      sink,
      tape,
      joinedMs: nowMs,
      edgeMs: tape.edgeMs,
      entryMs,
    };
    const listener = this.audience.join(sink as unknown as Socket, this.channel, HEAD, {
      icy,
      burstMs,
      session: null,
      limitMs: Number.POSITIVE_INFINITY,
      onEnd: ({ ending }) => {
        pair.isOver = true;
        if (!ENDINGS[ending].abrupt) alone.finish();
      },
    });
    const aloneSink = new Sink();
    const alone = new Listener(aloneSink as unknown as Socket, tape, {
      channel: 'demo',
      cursor: listener.firstSeq,
      icy,
      session: null,
      nowMs,
    });
    Object.assign(pair, { listener, alone, aloneSink, isOver: false, hasStood: false });
    this.pairs.push(pair as Pair);
    alone.writeSeconds = listener.writeSeconds;
    alone.heldBackMs = listener.heldBackMs;
    alone.start(HEAD, nowMs);
    sink.onWrite = () => {
      // The rest of a frame, at its end.
      if (listener.slot < 0) return;
      alone.writeSeconds = listener.writeSeconds;
      alone.heldBackMs = listener.heldBackMs;
      alone.advance(this.clock.now());
    };
  }

  /** What a crowd does to the pace; its own channel is another. */
  #changeCrowd(): void {
    const count = this.#crowd > 0 ? 0 : CROWD;
    for (; this.#crowd < count; this.#crowd++) this.audience.enter(this.#elsewhere);
    for (; this.#crowd > count; this.#crowd--) this.audience.leave(this.#elsewhere);
  }

  #title(): void {
    const random = this.#random;
    const name = `T${++this.#titles}${'x'.repeat(random.int(0, 60))}`;
    this.channel.title(viewOf(name, { id: name, version: this.#titles }), random.chance(0.5) ? 0 : random.int(0, 8000));
  }

  #someone(): Pair | undefined {
    const live = this.pairs.filter(({ isOver }) => !isOver);
    return live[this.#random.int(0, live.length - 1)];
  }

  #leave(): void {
    this.#someone()?.listener.end('left');
  }

  /** For a while its socket takes nothing. */
  #stand(): void {
    const pair = this.#someone();
    if (pair === undefined) return;
    pair.hasStood = true;
    pair.sink.writableLength = 1;
    const onAlarm = () => {
      pair.sink.writableLength = 0;
    };
    this.clock.alarm(this.clock.now() + this.#random.int(1000, 10_000), { onAlarm });
  }

  /**
   * Of one that has more: what it has been sent is at least what it would have been as long before as it may wait, and as much more. Of the others:
   * what lay on the tape a second before.
   */
  #compare({ listener, tape, joinedMs, edgeMs, entryMs, isOver, hasStood }: Pair): void {
    if (isOver || hasStood || tape.isOver) return;
    const fromMs = entryMs ?? listener.playback.joinMs;
    const nowMs = this.clock.now();
    // Before that it is written to each second, and has no more than its burst.
    const seconds: WriteSeconds = listener.heldBackMs === 0 ? listener.maxWriteSeconds : 1;
    const agoMs = seconds * 1000;
    const then = this.#edges.at(-1 - agoMs / TICK_MS);
    const isNew = nowMs - agoMs < joinedMs || then === undefined;
    const minMs = Math.max(isNew ? edgeMs : then, fromMs) - fromMs + extraMsFor(seconds);
    const sentMs = (tape.at(listener.cursor - 1)?.endMs ?? 0) - listener.playback.joinMs;
    const isShort = listener.playback.joinMs < 0 ? entryMs !== null : sentMs < minMs;
    if (isShort && this.faults.length < 5)
      this.faults.push(`${nowMs - joinedMs} ms after its join: ${sentMs} ms in place of ${minMs}`);
  }
}

async function tell(t: Test, writeSeconds: WriteSetting): Promise<void> {
  const random = new Random();
  const of: Record<WriteSeconds, number> = { 1: 0, 2: 0, 4: 0 };
  let [runs, ended] = [0, 0];
  for (let n = 0; n < STORIES; n++) {
    const story = new Story(random, writeSeconds);
    story.run();
    t.strictSame(story.faults, [], `seed ${random.seed}, story ${n}: ${story.pairs.length} listeners`);
    for (const { listener } of story.pairs) of[listener.maxWriteSeconds]++;
    runs += story.pairs.filter(({ sink, aloneSink }) => sink.writes < aloneSink.writes).length;
    ended += story.audience.endings.format;
  }
  t.ok(runs > STORIES, `${runs} listeners got shared runs`);
  t.ok(ended > 0, `${ended} listeners ended with the format`);
  if (writeSeconds === 1) t.same([of[2], of[4]], [0, 0]);
  else t.ok(of[writeSeconds === 2 ? 2 : 4] > STORIES, `by seconds between two writes: ${JSON.stringify(of)}`);
  if (writeSeconds === 2) t.equal(of[4], 0);
}

for (const writeSeconds of ['auto', 1, 2, 4] as const) {
  t.test(`writeSeconds: ${writeSeconds}`, { skip: WORKERS > 0 && 'no server in it' }, (t) => tell(t, writeSeconds));
}

t.test('a server that writes each four seconds', async (t) => {
  const { port, base } = await startServer(t, YAML);
  const feeder = new Feeder(t, port, '/live');
  await feeder.answered();
  feeder.stream(t);
  const first = new Player(port, '/live');
  await first.until(({ audioBytes }) => audioBytes > (BURST_SECONDS + 6) * BYTES_PER_SECOND, 30_000);
  const sounding: boolean[] = [];
  const players = Array.from({ length: SHARING }, (_, i) => {
    const frames = new FrameWalk();
    sounding.push(true);
    const onAudio = (bytes: Uint8Array) => {
      frames.feed(bytes, 0, bytes.length);
      if (frames.breaks > 0) sounding[i] = false;
    };
    return new Player(port, '/live', { icy: i % 4 > 0, onAudio });
  });
  await Promise.all(
    players.map((player) => player.until(({ audioBytes }) => audioBytes >= BURST_SECONDS * BYTES_PER_SECOND)),
  );

  for (const song of ['One', 'Two', 'Three']) {
    await fetch(`${base}/metapush/live/studio-token?song=${song}`);
    const [some] = players.filter(({ metaint }) => metaint > 0);
    await some!.until(({ titles }) => titles.at(-1)?.title === song);
  }
  await Promise.all(
    players.map((player) => player.until(({ metaint, titles }) => metaint === 0 || titles.length >= 3)),
  );
  for (const { metaint, titles } of players) {
    if (metaint > 0) t.match(titles.map(({ title }) => title).join(), /One,Two,Three$/);
  }
  t.notOk(sounding.includes(false), 'with frames that join');

  // Of a segment and two seconds, what comes each four seconds is more.
  const [player] = players;
  let [last, most] = [player!.audioBytes, 0];
  await until(
    () => {
      most = Math.max(most, player!.audioBytes - last);
      last = player!.audioBytes;
      return most > 3.1 * BYTES_PER_SECOND;
    },
    20_000,
    () => `${most} bytes at once`,
  );
  for (const one of [first, ...players]) one.close();
});
