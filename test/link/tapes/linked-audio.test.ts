/**
 * A tape over two links, as a machine of a cluster passes it on to its workers: what the far one has is compared with what the middle one is about to have, and what
 * the middle one says of it was said to it. Random stories over two links: replica-tape.test.ts.
 */

import t from 'tap';
import type { TapeObserver } from '../../../src/audio/playable-audio.js';
import type { AudioTape } from '../../../src/audio/tape/audio-tape.js';
import type { Segment } from '../../../src/audio/tape/segment.js';
import { forkedAt, TapeNames } from '../../../src/link/tapes/tape-names.js';
import { TapeReceiver } from '../../../src/link/tapes/tape-receiver.js';
import { TapeSender } from '../../../src/link/tapes/tape-sender.js';
import { LinkConnection } from '../../../src/link/wire/link-connection.js';
import { frameOf } from '../../kit/frame-of.js';
import { LinkHarness, SETTLE_MS } from '../../kit/link-harness.js';
import { asStream, type LinkPipe, linkPipe } from '../../kit/link-pipe.js';
import { Random } from '../../kit/random.js';
import { TapePair } from '../../kit/tape-pair.js';

const LINGER_MS = 60_000;

/** A machine that passes on what comes over the harness's link; its process can be another one. */
class Far {
  readonly near = new LinkHarness({}, LINGER_MS);
  readonly #receiver = new TapeReceiver(this.near.clock, LINGER_MS);
  #pipe: LinkPipe = linkPipe();

  get middle() {
    return this.near.linked;
  }

  get linked() {
    return this.#receiver.audio('demo');
  }

  /** The link to the middle. */
  connect(): this {
    this.#pipe = linkPipe();
    const { clock, broken } = this.near;
    const onBroken = (error: unknown) => void broken.push(error);
    const parts = { clock, names: new TapeNames(), audioOf: () => this.middle };
    void new TapeSender(new LinkConnection(asStream(this.#pipe.hub), onBroken), parts);
    this.#receiver.connect(new LinkConnection(asStream(this.#pipe.worker), onBroken));
    return this;
  }

  /** The middle process is another one: it has nothing. */
  restart(): void {
    this.#pipe.hub.destroy();
    this.near.pipe.hub.destroy();
    this.near.receiver = new TapeReceiver(this.near.clock, LINGER_MS);
    this.connect();
    this.near.connect();
  }

  /** All that the far end has to say, and a tick for the middle to answer it. */
  answered(): this {
    const { hub, worker } = this.#pipe;
    this.near.clock.advance(50);
    while (worker.deliver(100_000) + hub.deliver(100_000) > 0);
    return this;
  }

  settle(): this {
    for (let i = 0; i < 3; i++) {
      this.near.settle();
      this.answered();
      this.near.clock.advance(SETTLE_MS);
    }
    this.near.flow();
    return this.answered();
  }
}

function playing(): Far {
  const far = new Far();
  far.near.connect();
  far.connect();
  far.near.write();
  far.linked.listeners++;
  far.linked.want(true);
  far.settle();
  far.near.play(10_000);
  return far.settle();
}

t.test('a far end that has more than the middle has yet waits for what is on its way there', (t) => {
  const far = playing();
  const { tape } = far.linked;
  const [tail, head] = [tape!.tail, tape!.head];
  t.ok(head - tail > 5, `${head - tail} segments`);
  far.restart();
  // A link's first bytes: the tape, and little of it.
  far.answered();
  far.near.clock.advance(50);
  far.near.pipe.worker.deliver(100_000);
  far.near.clock.advance(50);
  while (far.middle.tape === undefined && far.near.pipe.hub.deliver(50) > 0);
  far.answered();
  t.ok(far.middle.tape!.head < head, `the middle has ${far.middle.tape!.head} of ${head}`);
  t.equal(far.linked.tape, tape);
  t.equal(tape!.tail, tail, 'nobody has fallen off it');
  far.near.play(2000);
  far.settle();
  t.equal(far.linked.tape, tape, 'and it goes on');
  t.equal(tape!.head, far.near.audio.tape!.head);
  t.equal(tape!.tail, far.near.audio.tape!.tail);
  t.same(far.near.broken, []);
  t.end();
});

t.test('where a tape forks behind what they have, all go on under its new name', (t) => {
  const far = playing();
  const { tape } = far.linked;
  const { audio, names } = far.near;
  const name = forkedAt(names.nameOf(audio.tape!), audio.tape!.head);
  names.set(audio.tape!, name);
  far.near.play(3000);
  far.settle();
  t.equal(far.linked.tape, tape);
  t.equal(tape!.head, audio.tape!.head);
  t.strictSame([far.middle.tape!.name, tape!.name], [name, name]);
  t.same(far.near.broken, []);
  t.end();
});

t.test('where it forks before that, they get the other tape, and nobody goes on in it', (t) => {
  const far = playing();
  const { tape } = far.linked;
  const { audio, names } = far.near;
  far.near.pipe.hub.destroy();
  names.set(audio.tape!, forkedAt(names.nameOf(audio.tape!), audio.tape!.head - 1));
  far.near.connect();
  far.near.play(3000);
  far.settle();
  t.ok(tape!.isOver);
  t.not(far.linked.tape, tape);
  t.equal(far.linked.tape!.head, audio.tape!.head);
  t.equal(far.linked.tape!.name.forks.length, 1);
  t.same(far.near.broken, []);
  t.end();
});

t.test('a title that came late while the middle was cut off is on the segments of all, as they go on', (t) => {
  const far = playing();
  const { audio } = far.near;
  const lateOf = (tape: AudioTape | undefined) => {
    const { tail, head } = audio.tape!;
    return Array.from({ length: head - tail }, (_, i) => (tape!.at(tail + i) as Segment).late?.view.record.id);
  };
  far.near.pipe.hub.destroy();
  far.near.title(8000);
  t.ok(lateOf(audio.tape).includes('1'), 'which all had');
  far.near.connect();
  far.settle();
  t.same(lateOf(far.middle.tape), lateOf(audio.tape));
  t.same(lateOf(far.linked.tape), lateOf(audio.tape));
  t.same(far.near.broken, []);
  t.end();
});

t.test('a title that came late is on the segments of all, also where only the far end can go on with a fork', (t) => {
  const far = playing();
  const { audio, names } = far.near;
  const { tape } = far.linked;
  // Each segment goes to the middle at once, and with the next tick to the far end.
  far.near.connect(undefined, true);
  far.settle();
  const { head } = audio.tape!;
  while (audio.tape!.head === head) far.near.write();
  far.near.flow();
  t.strictSame([far.middle.tape!.head, tape!.head], [head + 1, head]);
  const middle = far.middle.tape;
  far.near.pipe.hub.destroy();
  names.set(audio.tape!, forkedAt(names.nameOf(audio.tape!), head));
  far.near.title(8000);
  far.near.connect();
  far.settle();
  t.not(far.middle.tape, middle, 'the middle has had more than the fork');
  t.equal(far.linked.tape, tape);
  t.ok((tape!.at(head - 1) as Segment).late !== null);
  new TapePair(new Random()).compare(audio.tape!, tape!);
  t.same(far.near.broken, []);
  t.end();
});

t.test('what the middle says of a tape was said to it', (t) => {
  const far = new Far();
  far.near.connect();
  far.connect();
  far.near.play(3000);
  far.linked.listeners++;
  far.linked.want(true);
  const types = new Set<string>();
  const look = () => far.linked.tape !== undefined && types.add(far.linked.contentType);
  for (let i = 0; i < 2000; i++) {
    far.near.pipe.worker.deliver(1000);
    far.near.pipe.hub.deliver(30);
    far.near.clock.advance(50);
    far.answered();
    look();
    if (far.linked.tape?.head === far.near.audio.tape!.head) break;
  }
  t.same([...types], ['audio/aac']);
  t.end();
});

t.test(
  'those who look at the middle are told of facts and of where listeners begin, also where a tape goes on',
  (t) => {
    const far = playing();
    const heard: string[] = [];
    const observer: TapeObserver = {
      onGrown: () => undefined,
      onLate: () => undefined,
      onTape: () => void heard.push('tape'),
      onFacts: () => void heard.push('facts'),
      onFence: () => void heard.push('fence'),
    };
    far.middle.observe(observer);
    far.near.pipe.hub.destroy();
    // LC, 48 kHz, two channels.
    far.near.audio.write(
      frameOf(Buffer.concat([Buffer.from('fff14c80191ffc', 'hex'), Buffer.alloc(193)]), 1024 / 48, 64, true),
    );
    far.near.connect();
    far.near.settle();
    t.same(heard.sort(), ['facts', 'fence']);
    far.answered();
    t.equal(far.linked.tape!.joinFrom, far.near.audio.tape!.joinFrom);
    t.end();
  },
);

t.test('what has come came before now, whatever the clock of who sent it says', (t) => {
  for (const stepMs of [-600_000, 600_000]) {
    const harness = new LinkHarness().connect();
    harness.write();
    harness.enter().settle();
    harness.play(3000);
    harness.clock.stepWall(stepMs);
    harness.flow();
    const { linked, clock } = harness;
    t.ok(linked.tape!.head > 0);
    t.ok(linked.arrivedMs(linked.tape!.at(linked.tape!.head - 1)!.endMs) <= clock.now(), `${stepMs}`);
  }
  t.end();
});
