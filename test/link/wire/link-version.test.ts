/** Ends of other versions: a hub, a worker, one that offers tapes and one that takes them, each against a forged end on a real local socket. */

import net, { type Socket } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { SystemClock } from '../../../src/base/clock.js';
import { Tallies } from '../../../src/base/tallies.js';
import { Sequence } from '../../../src/feed/sequence.js';
import { Control } from '../../../src/link/control-messages.js';
import { HubLinks } from '../../../src/link/hub-links.js';
import { offerTapes } from '../../../src/link/tapes/tape-offer.js';
import { TapeReturns } from '../../../src/link/tapes/tape-returns.js';
import { LinkConnection } from '../../../src/link/wire/link-connection.js';
import {
  GREETING_BYTES,
  GreetingReader,
  greeting,
  LINK_VERSION,
  OtherVersion,
} from '../../../src/link/wire/link-version.js';
import { MessageWriter } from '../../../src/link/wire/message-writer.js';
import { WorkerLink } from '../../../src/link/worker-link.js';
import { LocalEngine } from '../../../src/titles/local.js';
import { MemoryStore } from '../../kit/memory-store.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until } from '../../kit/until.js';

const NEXT = LINK_VERSION + 1;

/** A real local socket: one end for a link, the other one for the test. */
async function ends(t: Test): Promise<{ stream: Socket; forged: Socket; seen: () => Buffer; isOver: () => boolean }> {
  const path = join(tempFolder(t), 'socket');
  const accepted = new Promise<Socket>((resolve) => {
    const server = net.createServer(resolve).listen(path);
    t.teardown(() => server.close());
  });
  const forged = net.connect(path);
  const stream = await accepted;
  t.teardown(() => forged.destroy());
  t.teardown(() => stream.destroy());
  const chunks: Buffer[] = [];
  let isOver = false;
  forged.on('error', () => undefined).on('data', (chunk: Buffer) => void chunks.push(chunk));
  forged.on('close', () => {
    isOver = true;
  });
  return { stream, forged, seen: () => Buffer.concat(chunks), isOver: () => isOver };
}

/** What an end of that version may send first, and what this one must not read. */
function control(message: unknown): Buffer {
  const writer = new MessageWriter();
  writer.begin(32).text(JSON.stringify(message)).end();
  return writer.take()!;
}

function clockOf(t: Test): SystemClock {
  const clock = new SystemClock();
  t.teardown(() => clock.stop());
  return clock;
}

t.test('the greeting, cut anywhere', async (t) => {
  t.equal(greeting(1).toString('hex'), '61697273706c6e6b01000000', 'what every version reads');
  t.equal(greeting().length, GREETING_BYTES);
  const stream = Buffer.concat([greeting(), Buffer.from('rest')]);
  for (let cut = 0; cut <= stream.length; cut++) {
    const reader = new GreetingReader();
    const parts = [stream.subarray(0, cut), stream.subarray(cut)];
    const rest = parts.map((part) => part.subarray(reader.take(part)));
    if (Buffer.concat(rest).toString() !== 'rest') t.fail(`cut at ${cut}`);
  }
  for (const version of [0, NEXT, 2 ** 32 - 1]) {
    t.throws(() => new GreetingReader().take(greeting(version)), new OtherVersion(version));
    const reader = new GreetingReader();
    for (const byte of greeting(version).subarray(0, -1)) reader.take(Buffer.of(byte));
    t.throws(() => reader.take(greeting(version).subarray(-1)), new OtherVersion(version), 'byte by byte');
  }
  // A program that knows no versions begins with a message, another program with anything.
  for (const bytes of [
    control({ type: 'hello', worker: 7, tickets: null }),
    Buffer.from('GET / HTTP/1.1'),
    Buffer.from('airsplxx'),
  ]) {
    t.throws(() => new GreetingReader().take(bytes), new OtherVersion(0));
  }
});

t.test('a hub refuses workers of other versions, says its own, and serves the others', async (t) => {
  const clock = clockOf(t);
  const sequence = new Sequence();
  const local = new LocalEngine(
    new MemoryStore(),
    async () => undefined,
    () => undefined,
  );
  const errors: unknown[] = [];
  const pushes: string[] = [];
  const links = new HubLinks({
    clock,
    sequence,
    hls: { askHls: () => null, hlsOf: () => undefined },
    channels: new Map(),
    keys: () => ['a'],
    tallies: new Tallies(),
    remembered: 10,
    states: local,
    decisions: {
      push: () => Promise.reject(new Error('not asked for')),
      withdraw: async (channel) => {
        pushes.push(channel);
        return false;
      },
    },
    storeFault: () => null,
    metrics: async () => '',
    onLastMetrics: () => undefined,
    onError: (error) => void errors.push(error),
  });
  t.teardown(() => links.close());
  const hello = control({ type: 'hello', worker: 7, tickets: null });
  const push = control({ type: 'ask', id: 1, question: 'withdraw', ask: { channel: 'a', what: 'next' } });
  for (const [version, first] of [
    [NEXT, greeting(NEXT)],
    [0, Buffer.alloc(0)],
  ] as const) {
    errors.length = 0;
    const { stream, forged, seen, isOver } = await ends(t);
    links.take(stream);
    forged.write(Buffer.concat([first, hello, push]));
    await until(isOver, 2000);
    t.strictSame(seen(), greeting(), 'its version, and nothing else');
    t.match(errors, [{ version }]);
    t.ok(errors[0] instanceof OtherVersion);
    t.equal(links.count, 0);
  }
  const { stream, forged, seen } = await ends(t);
  links.take(stream);
  forged.write(Buffer.concat([greeting(), hello, push]));
  await until(() => pushes.length > 0 && seen().includes('ready'), 2000);
  t.strictSame(pushes, ['a'], 'what the others said was not read');
  t.equal(links.count, 1);
});

t.test('a worker reads nothing of a hub of another version, and goes on with the next hub', async (t) => {
  const clock = clockOf(t);
  const others: number[] = [];
  const errors: unknown[] = [];
  let readies = 0;
  let ended = 0;
  const link = new WorkerLink({
    worker: 7,
    clock,
    sequence: new Sequence(),
    tallies: new Tallies(),
    metrics: async () => null,
    deliver: () => undefined,
    onReady: () => {
      readies++;
    },
    onOtherVersion: ({ version }) => void others.push(version),
    onError: (error) => void errors.push(error),
  });
  const ready = control({ type: 'ready', turn: 1, open: [] });
  for (const [version, first] of [
    [NEXT, greeting(NEXT)],
    [0, Buffer.alloc(0)],
  ] as const) {
    others.length = ended = 0;
    const { stream, forged, seen, isOver } = await ends(t);
    link.connect(stream, () => ended++);
    forged.write(Buffer.concat([first, ready]));
    await until(isOver, 2000);
    t.strictSame(others, [version], 'said once');
    t.equal(ended, 1);
    t.notOk(link.isReady);
    t.ok(seen().subarray(0, GREETING_BYTES).equals(greeting()), 'it begins with its version');
  }
  const { stream, forged } = await ends(t);
  link.connect(stream, () => undefined);
  forged.write(Buffer.concat([greeting(), ready]));
  await until(() => link.isReady, 2000);
  t.equal(readies, 1);
  t.strictSame(errors, []);
});

t.test('who is refused reads why, also where it writes on', async (t) => {
  const path = join(tempFolder(t), 'socket');
  const server = net.createServer((stream) => {
    new LinkConnection(stream, () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  t.teardown(() => server.close());
  const errors: unknown[] = [];
  let isOver = false;
  let seen = '';
  const forged = net.connect({ path, allowHalfOpen: true }).setEncoding('hex');
  t.teardown(() => forged.destroy());
  forged
    .on('error', (error) => errors.push(error))
    .on('data', (text: string) => {
      seen += text;
    });
  forged.on('close', () => {
    isOver = true;
  });
  forged.on('end', () => {
    // The end has come, and what is written behind it goes through: nothing that waits here is lost by that.
    forged.write(control({ type: 'hello', worker: 7, tickets: null }), () =>
      forged.end(control({ type: 'applied', turn: 1 })),
    );
  });
  forged.write(greeting(NEXT));
  await until(() => isOver, 2000);
  t.strictSame(errors, []);
  t.equal(seen, greeting().toString('hex'));
});

t.test('tapes of another version are not taken, and not waited for', async (t) => {
  const clock = clockOf(t);
  const errors: unknown[] = [];
  const returns = new TapeReturns({ clock, has: () => true, onError: (error) => void errors.push(error) });
  t.teardown(() => returns.close());
  const taking = await ends(t);
  returns.take(taking.stream);
  const name = { hub: 'x', number: 1, forks: [] };
  const tape = { channel: 'a', name, head: 9, endMs: 9000, lastMark: 1, playing: 1 };
  taking.forged.write(Buffer.concat([greeting(NEXT), control({ type: 'offers', tapes: [tape], lastMark: 77 })]));
  await until(taking.isOver, 2000);
  t.match(errors, [{ version: NEXT }]);
  t.equal((await returns.collect(1)).size, 0);
  t.equal(returns.lastMark, 0);
  t.strictSame(taking.seen(), greeting());

  errors.length = 0;
  let ended = 0;
  const offering = await ends(t);
  offerTapes(
    offering.stream,
    new Map(),
    clock,
    (error) => void errors.push(error),
    () => ended++,
  );
  offering.forged.write(greeting(NEXT));
  await until(() => ended > 0, 2000);
  t.equal(ended, 1);
  t.strictSame(errors, [], 'the one that asked says it');
});

t.test('the version goes out before any message, and none is read before the other one has come', async (t) => {
  const { stream, forged, seen } = await ends(t);
  const read: unknown[] = [];
  const connection = new LinkConnection(stream, (error) => t.error(error));
  const handler = { onControl: (message: unknown) => void read.push(message), onClosed: () => undefined };
  new Control<unknown, unknown>(connection, handler, (message) => message).send({ type: 'x' });
  const bytes = Buffer.concat([greeting(), control({ type: 'y' })]);
  for (const byte of bytes) forged.write(Buffer.of(byte));
  await until(() => read.length > 0 && seen().length > GREETING_BYTES, 2000);
  t.strictSame(read, [{ type: 'y' }]);
  t.ok(seen().equals(Buffer.concat([greeting(), control({ type: 'x' })])));
});
