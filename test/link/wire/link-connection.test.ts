/** A silent link between machines is closed, even if its connection seems open: at the limit, in each direction, but not because this end stood still itself. */

import t from 'tap';
import { LinkConnection, type LinkOptions, LinkSilent } from '../../../src/link/wire/link-connection.js';
import { FakeClock } from '../../kit/clock.js';
import { asStream, linkPipe } from '../../kit/link-pipe.js';

const TYPE = 40;
/** What is promised. */
const WITHIN_MS = 3000;

function linked(clock: FakeClock, options: LinkOptions = { clock }) {
  const pipe = linkPipe();
  const ends = [pipe.hub, pipe.worker].map((end) => {
    const errors: unknown[] = [];
    const connection = new LinkConnection(asStream(end), (error) => errors.push(error), options);
    let closed = 0;
    let messages = 0;
    connection.handle(TYPE, TYPE, {
      onMessage: () => messages++,
      onDrain: () => undefined,
      onClosed: () => closed++,
    });
    return {
      connection,
      errors,
      end,
      get counts() {
        return { closed, messages };
      },
    };
  });
  /** @param from whose bytes go over */
  const run = (ms: number, from = [pipe.hub, pipe.worker]) => {
    for (let at = 0; at < ms; at += 100) {
      clock.advance(100);
      for (const end of from) end.deliver(Number.POSITIVE_INFINITY);
    }
  };
  return { pipe, ends, run };
}

t.test('at rest it stays', async (t) => {
  const { ends, run } = linked(new FakeClock());
  run(60_000);
  for (const { connection, errors, counts } of ends) {
    t.notOk(connection.isClosed);
    t.same(errors, []);
    t.same(counts, { closed: 0, messages: 0 }, 'what says that it is there is no message');
  }
});

t.test('a silent link is closed, and reported once', async (t) => {
  for (const offsetMs of [0, 100, 200, 300, 400]) {
    const clock = new FakeClock();
    const { ends, run } = linked(clock);
    run(5000 + offsetMs);
    const lastMs = Math.min(...ends.map(({ connection }) => connection.heardMs));
    run(1900, []);
    t.notOk(
      ends.some(({ connection }) => connection.isClosed),
      'not after 1.9 s',
    );
    while (!ends.every(({ connection }) => connection.isClosed)) clock.advance(100);
    t.ok(clock.now() - lastMs <= WITHIN_MS, `after ${clock.now() - lastMs} ms`);
    for (const { errors, counts } of ends.slice(0, 1)) {
      t.equal(errors.length, 1);
      t.ok(errors[0] instanceof LinkSilent);
      t.equal(counts.closed, 1);
    }
  }
});

for (const deaf of [0, 1]) {
  t.test(`nothing comes to end ${deaf} alone: that one ends it`, async (t) => {
    const clock = new FakeClock();
    const { ends, run, pipe } = linked(clock);
    run(5000);
    const from = deaf === 0 ? pipe.hub : pipe.worker;
    run(WITHIN_MS, [from]);
    t.ok(ends.every(({ connection }) => connection.isClosed));
    t.equal(ends[deaf]!.errors.length, 1);
    t.equal(ends[1 - deaf]!.errors.length, 0, 'the other one has read all');
  });
}

t.test('messages count as a sign of life; an end that stood still closes nothing', async (t) => {
  const clock = new FakeClock();
  const { ends, run, pipe } = linked(clock);
  run(1000);
  clock.spend(60_000);
  run(100, []);
  t.notOk(
    ends.some(({ connection }) => connection.isClosed),
    'it is not ended at the waking',
  );
  run(2000);
  for (let i = 0; i < 10; i++) {
    ends[0]!.connection.begin(TYPE).end();
    ends[0]!.connection.flush();
    run(1000, [pipe.hub, pipe.worker]);
  }
  t.equal(ends[1]!.counts.messages, 10);
  t.notOk(ends.some(({ connection }) => connection.isClosed));
});

t.test('within a machine silence does not matter', async (t) => {
  const { ends, run } = linked(new FakeClock(), {});
  run(60_000, []);
  t.notOk(ends.some(({ connection }) => connection.isClosed));
});
