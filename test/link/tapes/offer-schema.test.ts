/** What a process offers of a tape, with each member replaced by what it should not be: its link ends or the tape is not taken, and nothing else happens. */

import t from 'tap';
import { ChannelAudio } from '../../../src/audio/channel-audio.js';
import { OggTape } from '../../../src/audio/ogg/ogg-tape.js';
import type { Tape } from '../../../src/audio/tape/tape.js';
import type { ChannelPosition } from '../../../src/channel/channel.js';
import { MAX_LAST_MARK } from '../../../src/link/tapes/offer-schema.js';
import { TapeNames } from '../../../src/link/tapes/tape-names.js';
import { offerTapes } from '../../../src/link/tapes/tape-offer.js';
import { TapeReturns } from '../../../src/link/tapes/tape-returns.js';
import { GREETING_BYTES, greeting } from '../../../src/link/wire/link-version.js';
import { WireReader } from '../../../src/link/wire/wire.js';
import { FakeClock } from '../../kit/clock.js';
import { framed, plainLies, uint32 } from '../../kit/lies.js';
import { asStream, linkPipe } from '../../kit/link-pipe.js';
import { isLong } from '../../kit/long.js';
import { Random } from '../../kit/random.js';
import { viewOf } from '../../kit/record.js';
import { type StoryKind, StorySource } from '../../kit/story-source.js';

const CONTROL = 32;
const PLACE: ChannelPosition = {
  onAir: 0,
  isPinned: false,
  contentType: 'audio/mpeg',
  onAirSinceMs: Date.now(),
  lastTitle: 'A - B',
  file: {
    id: '1 2 3 4',
    atByte: 100,
    aheadMs: 10,
    wallMs: Date.now(),
    framer: {
      format: 'frames',
      facts: { codec: 'mp3', sampleRate: 44_100, channels: 2, bitrateKbps: 128 },
      kept: Buffer.from('abc'),
      neededBytes: 7,
      tagLeftBytes: 0,
      tagsBytes: 0,
      key: 3,
      atBoundary: true,
      atFirst: false,
      fresh: false,
      mean: { bytes: 1, ms: 1, isKnown: true },
      pce: Buffer.from('pce'),
    },
  },
  timeline: [{ atMs: Date.now(), what: 'on-air', place: 0, kind: 'file', reason: '', isOver: false, count: 1 }],
};

/** A hub with a delay, that hands its tape over. */
function feeder(kind: StoryKind, clock: FakeClock) {
  const source = new StorySource(kind, new Random(7));
  const delay = { ms: 300, clock };
  const audio = new ChannelAudio({ key: 'demo', lagMs: 20_000, now: () => clock.now(), metaint: 500, delay });
  audio.observe({ onGrown: () => {}, onLate: () => {}, onFence: () => {}, onTape: () => {} });
  audio.title(viewOf('T1', { id: '1', version: 1 }));
  const play = (forMs: number) => {
    for (let ms = 0; ms < forMs; ) {
      const stepMs = source.write(audio);
      ms += stepMs;
      clock.advance(stepMs);
    }
  };
  // One title is on the open segment, another one waits.
  play(4000);
  for (let i = 0; i < 20 && 'open' in audio.tape! && (audio.tape as Tape).open.marks.length === 0; i++) {
    audio.title(viewOf(`T${i + 2}`, { id: `${i + 2}`, version: i + 2 }));
    play(400);
  }
  audio.title(viewOf('T50', { id: '50', version: 50 }));
  return { audio, source };
}

const raise = (error: unknown) => {
  throw error;
};

/** Everything that is said to a hub that takes tapes back, up to what it gets. @param change of the n-th thing that is offered */
async function takeBack(kind: StoryKind, change: (message: unknown, n: number) => unknown) {
  const clock = new FakeClock();
  const { audio, source } = feeder(kind, clock);
  const tape = audio.tape as Tape | OggTape;
  const open = tape instanceof OggTape ? tape.leave() : tape.open;
  const fed = { open, delayed: audio.leaveDelayed(), position: PLACE };
  const [offering, taking] = [linkPipe(), linkPipe()];
  const errors: Error[] = [];
  let n = 0;
  const reader = new WireReader((type, message) => {
    const payload = message.rest();
    if (type !== CONTROL) return void taking.worker.write(framed(type, payload));
    const text = JSON.stringify(change(JSON.parse(payload.toString('utf8', 4)), n++)) ?? 'undefined';
    const bytes = Buffer.from(text);
    taking.worker.write(framed(type, Buffer.concat([uint32(bytes.length), bytes])));
  });
  let greeted = 0;
  offering.hub.on('data', (bytes: Buffer) => {
    const rest = bytes.subarray(GREETING_BYTES - greeted);
    greeted = Math.min(GREETING_BYTES, greeted + bytes.length);
    reader.push(rest);
  });
  taking.worker.on('data', (bytes: Buffer) => offering.hub.write(Buffer.from(bytes)));
  taking.worker.write(greeting());
  const names = new TapeNames();
  const offered = new Map([['demo', { audio, name: names.nameOf(tape), fed }]]);
  const positions = ['bare', 'unknown'].map((channel) => ({ channel, position: PLACE }));
  offerTapes(asStream(offering.worker), offered, clock, raise, undefined, { positions });
  const returns = new TapeReturns({
    clock,
    has: (channel) => channel !== 'unknown',
    onError: (error) => errors.push(error as Error),
  });
  returns.take(asStream(taking.hub), 'the hub before this one');
  const collected = returns.collect(1);
  const ends = [offering.worker, offering.hub, taking.worker, taking.hub];
  for (let i = 0; i < 50; i++) {
    while (ends.reduce((sum, end) => sum + end.deliver(100_000), 0) > 0);
    clock.advance(40);
    await Promise.resolve();
  }
  const taken = (await collected).get('demo');
  const bare = returns.positions;
  returns.close();
  if (taken !== undefined) {
    // It goes on, and later things happen.
    const next = new ChannelAudio({
      key: 'demo',
      lagMs: 20_000,
      now: () => clock.now(),
      metaint: 500,
      delay: { ms: 300, clock },
    });
    try {
      next.adopt(taken.audio, taken.fed?.open);
      if (taken.fed?.delayed != null) next.adoptDelayed(taken.fed.delayed);
    } catch (error) {
      // The hub goes on without it (processes/restart/hub-returns.ts).
      errors.push(error as Error);
      return { taken, errors, n, bare };
    }
    next.title(viewOf('T3', { id: '3', version: 3 }));
    for (let ms = 0; ms < 3000; ) {
      const stepMs = source.write(next);
      ms += stepMs;
      clock.advance(stepMs);
    }
    const { tape: after } = next;
    for (let seq = after!.tail; seq < after!.head; seq++) void [after!.at(seq)!.titled, after!.rest(seq, true)];
    after!.joinAt(10_000, 1000);
  }
  return { taken, errors, n, bare };
}

for (const kind of ['mp3', 'opus'] satisfies StoryKind[]) {
  t.test(`a tape of ${kind}, with each member of what is offered at every boundary`, async (t) => {
    const honest: unknown[] = [];
    const whole = await takeBack(kind, (message) => {
      honest.push(message);
      return message;
    });
    t.same(whole.errors, []);
    t.same(whole.taken?.fed?.position, PLACE, 'where its sources stand');
    t.same([...whole.bare], [['bare', PLACE]], 'and those of a channel without a tape');
    t.ok(honest.length >= 3, `${honest.length} messages`);
    const random = new Random();
    let [refused, tried] = [0, 0];
    for (const [n, message] of honest.entries()) {
      for (const { what, value } of plainLies(shortened(message))) {
        if (!isLong && !random.chance(0.1)) continue;
        tried++;
        try {
          const { errors, taken } = await takeBack(kind, (each, i) => (i === n ? value : each));
          if (errors.length > 0 || taken === undefined) refused++;
        } catch (error) {
          t.fail(`seed ${random.seed}: ${what}: ${(error as Error).stack}`);
        }
      }
    }
    t.ok(refused > tried / 3, `${refused} of ${tried} were refused`);
  });
}

t.test('the error names the member', async (t) => {
  const lying = (name: string, value: unknown) => (message: unknown) => {
    const { type } = message as { readonly type: string };
    return type === 'offers' ? { ...(message as object), [name]: value } : message;
  };
  const { errors, taken } = await takeBack('mp3', lying('lastMark', MAX_LAST_MARK + 1));
  t.equal(taken, undefined);
  t.match(errors[0]?.message, /^the hub before this one: message CONTROL: offers: lastMark: /);
  t.same((await takeBack('mp3', lying('lastMark', MAX_LAST_MARK))).errors, [], 'at the limit');
});

t.test(
  'what is malformed of one channel is not taken; the tape is, as from a worker, and the link goes on',
  async (t) => {
    for (const [type, part] of [
      ['open', { endMs: -1 }],
      ['delayed', { playedMs: -1 }],
    ] as const) {
      const { errors, taken } = await takeBack('mp3', (message) => {
        const said = message as Readonly<Record<string, object>>;
        return String(said['type']) === type ? { ...said, [type]: { ...said[type], ...part } } : message;
      });
      t.ok((taken?.audio.tape?.head ?? 0) > 0, type);
      t.equal(taken?.fed, null);
      t.match(errors, [/^WireError: the hub before this one: what is open of demo: (endMs|playedMs): /]);
    }
  },
);

/** Of long lists the first two are enough. */
function shortened(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 2).map(shortened);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shortened(member)]));
}
