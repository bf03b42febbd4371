/** A node without Redis asks an origin over a real connection: the engine keeps the port's contract there, and whatever goes wrong is over soon. */

import { once } from 'node:events';
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { SystemClock } from '../../../src/base/clock.js';
import { HeldLog } from '../../../src/cluster/log/held-log.js';
import { RemoteLog, serveLog } from '../../../src/cluster/log/remote-log.js';
import { LogLost, type OnLogLost, type OpenSharedLog, type SharedLog } from '../../../src/cluster/log/shared-log.js';
import { askForLog } from '../../../src/cluster/tapes/tape-client.js';
import { TapeServer } from '../../../src/cluster/tapes/tape-server.js';
import { LinkConnection } from '../../../src/link/wire/link-connection.js';
import { CONTROL } from '../../../src/link/wire/message-types.js';
import { allUntil, benchOf, startNode } from '../../kit/cluster.js';
import { commitOf, joining } from '../../kit/log-questions.js';
import { freePort } from '../../kit/process.js';
import { awaited, patient, until } from '../../kit/until.js';
import { engineContract } from '../../titles/engine-contract.js';

t.setTimeout(patient(60_000));

const SECRET = Buffer.from('a secret that all nodes of this test know');
/** An answer that is late counts as a lost connection, and an edge then decides alone: where that is not the subject, a busy machine may take long. */
const ANSWER_MS = patient(10_000);
const SILENT_MS = 500;
const clock = new SystemClock();
t.teardown(() => clock.stop());

/** An origin that can be away, with another log when it comes back. */
class Origin {
  held = new HeldLog();
  /** Ways to the log that were opened for nodes. */
  readonly ways: SharedLog[] = [];
  readonly errors: unknown[] = [];
  readonly port: number;
  #server: TapeServer | null = null;

  constructor(port: number) {
    this.port = port;
  }

  static async start(t: Test): Promise<Origin> {
    const origin = new Origin(await freePort());
    await origin.start();
    t.teardown(() => origin.end());
    return origin;
  }

  async start(): Promise<void> {
    const server = new TapeServer({
      host: '127.0.0.1',
      port: this.port,
      secret: SECRET,
      onError: (error: unknown) => this.errors.push(error),
      isOwnHost: () => true,
      onTape: () => false,
      onSessions: (_, stream) => stream.end(),
      onLog: (stream) =>
        void serveLog(
          stream,
          (onLost) => this.open(onLost),
          clock,
          (error) => this.errors.push(error),
        ),
    });
    await server.listen();
    this.#server = server;
  }

  end(): void {
    this.#server?.close();
    this.#server = null;
  }

  open: OpenSharedLog = async (onLost) => {
    const way = this.held.open(onLost);
    this.ways.push(way);
    return way;
  };

  /** As a node without Redis comes to it. */
  connect = async (onLost?: OnLogLost, answerMs = ANSWER_MS): Promise<SharedLog> => {
    const stream = await askForLog(`http://127.0.0.1:${this.port}`, { secret: SECRET, node: 'edge' });
    return new RemoteLog(stream, answerMs, clock, onLost);
  };
}

t.test('the contract', async (t) => {
  const origin = await Origin.start(t);
  await engineContract(t, async () => {
    origin.held = new HeldLog();
    return benchOf(await startNode(t, origin.connect, 'edge'), (isFailing) =>
      isFailing ? origin.end() : origin.start(),
    );
  });
});

t.test(
  'an origin and an edge agree; while the origin is away the edge takes pushes, and sends them when it is back',
  async (t) => {
    const origin = await Origin.start(t);
    const [a, b] = [await startNode(t, origin.open, 'a'), await startNode(t, origin.connect, 'b')];
    await a.push('x', 'One');
    await b.push('x', 'Two');
    await allUntil([a, b], ({ songs }) => `${songs('x')}` === 'One,Two', 'one order');
    origin.end();
    await until(
      () => !b.engine.isReached,
      3000,
      () => 'the edge does not notice',
    );
    await b.push('x', 'Three');
    t.same(b.songs('x'), ['One', 'Two', 'Three'], 'shown there at once');
    t.same(a.songs('x'), ['One', 'Two']);
    await origin.start();
    await allUntil([a, b], ({ songs }) => `${songs('x')}` === 'One,Two,Three', 'known at both');
    await until(() => b.engine.waiting === 0, 3000);
  },
);

t.test('what goes wrong is over soon', async (t) => {
  const origin = await Origin.start(t);
  const reasons: Error[] = [];
  const log = await origin.connect((reason) => reasons.push(reason));
  t.ok((await log.timeMs()) > 0);
  t.same(await log.last(['none']), []);

  t.comment('what the origin itself loses its connection loses');
  const waits = log.entriesAfter(0, 10, 5000);
  origin.ways[0]!.close();
  await t.rejects(waits, LogLost, 'who waits at it is told');
  t.ok(log.isLost);
  t.equal(reasons.length, 1, 'once');
  await t.rejects(log.timeMs(), LogLost);

  t.comment('an origin that says nothing');
  const silent = await origin.connect(undefined, SILENT_MS);
  origin.ways[1]!.timeMs = () => new Promise(() => undefined);
  await t.rejects(awaited(silent.timeMs(), SILENT_MS + 1000), LogLost, 'is given up');

  t.comment('what is said against a question is an answer');
  const answered = await origin.connect();
  origin.ways[2]!.commit = () => Promise.reject(new Error('OOM command not allowed'));
  await t.rejects(answered.commit(commitOf()), { message: 'OOM command not allowed', name: 'Error' });
  t.notOk(answered.isLost);
  answered.close();
  await until(
    () => origin.ways[2]!.isLost,
    3000,
    () => 'the way of a node that is gone stays open',
  );

  t.comment('an origin without anything to give');
  const { open } = origin;
  origin.open = () => Promise.reject(new LogLost('Redis is away'));
  const none = await origin.connect();
  await t.rejects(none.timeMs(), LogLost);
  origin.open = open;
});

t.test('a value that is too long for a message only as JSON is skipped, and named', async (t) => {
  // As in Redis, where another program has written it: JSON takes two bytes for a quote, six for a NUL.
  for (const [name, text] of Object.entries({ quotes: '"'.repeat(33 * 2 ** 20), NULs: '\0'.repeat(11 * 2 ** 20) })) {
    const origin = await Origin.start(t);
    const way = origin.held.open();
    const { epoch } = await way.hello(joining());
    const edge = await startNode(t, origin.connect, 'living', { answerMs: ANSWER_MS });
    await edge.push('x', 'before');
    await edge.push('y', 'before');
    await way.commit(commitOf({ epoch, before: 1, ordered: text, id: 'junk', node: 'z' }));
    await way.commit(commitOf({ epoch, channel: 'z', ordered: text, id: 'junk', node: 'z' }));
    const fresh = await startNode(t, origin.connect, 'new', { answerMs: ANSWER_MS });
    const nodes = [edge, fresh];
    await allUntil(
      nodes,
      ({ reason, engine }) => reason === null && engine.isReached,
      `${name}: the origin is reached`,
    );
    await edge.push('x', 'after');
    await allUntil(
      nodes,
      ({ songs, engine }) => songs('x').at(-1) === 'after' && engine.waiting === 0,
      'a push arrives',
    );
    for (const place of ['the last value of channel x: ', 'entry 3 of the log: ']) {
      await until(
        () => fresh.bad.some((bad) => bad.startsWith(place)),
        10_000,
        () => `${name}: ${place}is not named: ${fresh.bad}`,
      );
    }
    t.same(
      nodes.flatMap(({ errors }) => errors),
      [],
    );
    await Promise.all(nodes.map(({ engine }) => engine.close()));
    origin.end();
  }
});

t.test('what is no question of a node ends the connection', async (t) => {
  for (const text of [
    '{"type":"ask","id":1,"ask":"close","args":[]}',
    '{"type":"ask","id":1,"ask":"constructor","args":[]}',
    '{"type":"ask","id":1,"ask":"last"}',
    '{"type":"ask","id":-1,"ask":"epoch","args":[]}',
    '{"type":"ask","ask":"epoch","args":[]}',
    '{"id":1,"ask":"epoch","args":[]}',
    '{"type":"ask","id":1,"ask":"commit","args":["x"]}',
    '{"type":"ask","id":1,"ask":"commit","args":[[{}]]}',
    JSON.stringify({ type: 'ask', id: 1, ask: 'commit', args: [{ ...commitOf(), before: '0' }] }),
    '{"type":"ask","id":1,"ask":"last","args":[12]}',
    '{"type":"ask","id":1,"ask":"entriesAfter","args":[0,1e9,1000]}',
    '{"type":"ask","id":1,"ask":"entriesAfter","args":[0,100,1e9]}',
    '[',
    'null',
  ]) {
    const origin = await Origin.start(t);
    const stream = await askForLog(`http://127.0.0.1:${origin.port}`, { secret: SECRET, node: 'edge' });
    const link = new LinkConnection(stream, () => undefined);
    let answers = 0;
    const onMessage = () => void answers++;
    link.handle(CONTROL, CONTROL, { onMessage, onDrain: () => undefined, onClosed: () => undefined });
    link
      .begin(CONTROL)
      .text(JSON.stringify({ type: 'ask', id: 1, ask: 'commit', args: [commitOf()] }))
      .end();
    link.flush();
    await until(() => answers === 1, 3000);
    link.begin(CONTROL).text(text).end();
    link.flush();
    await once(stream, 'close');
    await until(
      () => origin.ways.every(({ isLost }) => isLost),
      3000,
      () => `${text} leaves it open`,
    );
    t.ok(origin.errors.length > 0, text);
    const socket = connect(origin.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.destroy();
    t.pass('and the origin takes the next one');
    origin.end();
  }
});
