/** What workers and hubs say to each other, with each member replaced by what it should not be: refused with the member's name, or harmless. */

import t from 'tap';
import { MAX_ROWS } from '../../src/admin/rows.js';
import { NO_FACTS } from '../../src/channel/channel-facts-schema.js';
import { MAX_PUSH } from '../../src/config/push-limits.js';
import { END, FALLBACK, LISTENERS } from '../../src/http/admin/bodies.js';
import { readAnswer, readAsk, readFromHub, readFromWorker, readHubAnswer } from '../../src/link/control-schema.js';
import { encode } from '../../src/metadata/codec.js';
import { CheckError } from '../../src/metadata/record-schema.js';
import { EMPTY_STATE } from '../../src/now-playing/state.js';
import { saidByWorker } from '../kit/liars.js';
import { plainLies } from '../kit/lies.js';
import { makeRecord } from '../kit/record.js';

const asked = (question: string, ask: unknown) => ({ type: 'ask', id: 1, question: 'admin', ask: { question, ask } });

/** The message, and what it asks, as the hub reads them. */
function readWhole(value: unknown): unknown {
  const message = readFromWorker(value);
  return message.type === 'ask' ? { ...message, ask: readAsk(message.question, message.ask) } : message;
}

/** Whether it is accepted; a refusal has to be a CheckError. */
function isTaken(read: () => unknown, what: string): boolean {
  try {
    read();
    return true;
  } catch (error) {
    if (!(error instanceof CheckError)) t.fail(`${what}: ${(error as Error).stack}`);
    return false;
  }
}

t.test('from a worker', async (t) => {
  for (const message of saidByWorker('demo')) {
    t.ok(readWhole(message), JSON.stringify(message).slice(0, 60));
    let refused = 0;
    for (const { what, value } of plainLies(message)) if (!isTaken(() => readWhole(value), what)) refused++;
    t.ok(refused > 10, `${refused} were refused`);
  }
});

t.test('from a hub', async (t) => {
  const state = { ...EMPTY_STATE, version: 1, now: makeRecord() };
  const change = { state, record: makeRecord() };
  for (const message of [
    { type: 'state', channel: 'demo', state },
    { type: 'change', turn: 1, channel: 'demo', change, open: [1] },
    { type: 'time', aheadMs: 1_760_000_000_000.25 },
    { type: 'facts', channel: 'demo', facts: JSON.parse(encode(NO_FACTS)) },
    { type: 'tickets', keys: { madeMs: 1, keys: 'A'.repeat(64) } },
    { type: 'ready', turn: 1, open: [] },
    { type: 'refused', id: 1, refusal: { kind: 'not-found', detail: 'x', headers: { 'Retry-After': '2' } } },
    { type: 'ask', id: 1, question: 'admin', ask: { question: 'crowd', ask: { channel: 'demo' } } },
  ]) {
    t.ok(readFromHub(message), message.type);
    for (const { what, value } of plainLies(message)) isTaken(() => readFromHub(value), what);
  }
});

t.test('the most that the admin interface accepts is accepted, and one more is not', async (t) => {
  const everywhere = (question: string, ask: unknown) =>
    readWhole({ type: 'ask', id: 1, question: 'everywhere', ask: { question, ask } });
  const [channel, agent, ids] = ['x'.repeat(64), '\u{1d160}'.repeat(100), Array(1000).fill('x'.repeat(64))];
  const { limit, offset, ...filter } = LISTENERS.parse({ channel, agent, limit: '1000', offset: `${MAX_ROWS - 1000}` });
  t.ok(everywhere('ages', { ...filter, most: offset + limit }));
  t.throws(() => everywhere('ages', { ...filter, most: offset + limit + 1 }), /ask of ages: most/);
  t.ok(everywhere('end', END.parse({ channel, agent, ids })));
  t.throws(() => everywhere('end', { ids: [...ids, 'x'] }), /ask of end: ids/);
  t.throws(() => everywhere('end', { channel: 'a b' }), /ask of end: channel/);
  const { to } = FALLBACK.parse({ to: `/${'x'.repeat(254)}` });
  t.ok(readWhole(asked('putFallback', { channel, to, by: 'b', sinceMs: 1 })));
  t.throws(() => readWhole(asked('putFallback', { channel, to: `${to}x`, by: 'b', sinceMs: 1 })), /: to/);
  const withdraw = (held: string) =>
    readWhole({ type: 'ask', id: 1, question: 'withdraw', ask: { channel, what: { held } } });
  t.ok(withdraw('x'.repeat(65_536)));
  t.throws(() => withdraw('x'.repeat(65_537)), /ask of withdraw/);
});

t.test('what was pushed can be reported', async (t) => {
  const text = 'x'.repeat(MAX_PUSH.textBytes);
  const session = {
    metaid: 'x',
    channel: 'demo',
    mount: '/demo',
    written: `${text} - ${text}`,
    heard: `${text}${text}${text}`,
  };
  t.ok(readAnswer('admin', { question: 'sessions', ask: null }, [session]));
  const long = { ...session, heard: 'x'.repeat(4 * MAX_PUSH.textBytes + 1) };
  t.throws(() => readAnswer('admin', { question: 'sessions', ask: null }, [long]), CheckError);
});

t.test('what would end a process later', async (t) => {
  const token = { id: 'x', channel: 'demo', name: 'n', sinceMs: 1, by: 'b', sha256: 'a'.repeat(64), untilMs: null };
  t.ok(readWhole(asked('putToken', token)));
  t.throws(() => readWhole(asked('putToken', { ...token, sha256: 'aa' })), /ask of putToken: sha256/);
  const block = { network: '192.0.2.0/24', untilMs: 1, reason: '', by: 'b', sinceMs: 1 };
  t.ok(readWhole(asked('block', block)));
  for (const network of ['192.0.2.0/33', 'x', '', '192.0.2.0/-1', '1/2/3']) {
    t.throws(() => readWhole(asked('block', { ...block, network })), /ask of block: network/, network);
  }
  t.throws(() => readWhole(asked('toString', null)), /question/);
  const filter = (ask: unknown) => ({ type: 'ask', id: 1, question: 'everywhere', ask: { question: 'end', ask } });
  t.throws(() => readWhole(filter({})), /names no listeners/);
  t.ok(readWhole(filter({ channel: 'demo' })));
  const push = (input: unknown) => ({ type: 'ask', id: 1, question: 'push', ask: { channel: 'demo', input } });
  t.throws(() => readWhole(push({ type: 'now', artist: '' })), /ask of push: input.song/);
  t.throws(() => readWhole(push({ type: 'now', artist: '', song: '', timeSeconds: 1e12 })), /input.timeSeconds/);
  t.throws(
    () => readWhole({ type: 'hello', worker: 1_000_000_000, tickets: null }),
    /worker/,
    'the number of a machine',
  );
  t.ok(readWhole({ type: 'hello', worker: 999_999_999, tickets: null }));
});

t.test('answers', async (t) => {
  const decided = { answer: makeRecord(), isFarAhead: false, version: 1 };
  t.same(readHubAnswer('push', decided), decided);
  for (const { what, value } of plainLies(decided)) isTaken(() => readHubAnswer('push', value), what);
  t.throws(() => readHubAnswer('push', { ...decided, version: '1' }), /answer to push: version/);
  t.throws(() => readHubAnswer('withdraw', 'yes'), /answer to withdraw: it: /);
  t.throws(() => readHubAnswer('title', null), /answer to title: it: /);
  t.throws(() => readHubAnswer('metrics', {}), /answer to metrics: it: /);
  t.throws(() => readHubAnswer('everywhere', {}), /answer to everywhere: it: /);
  t.same(readHubAnswer('admin', { any: 1 }), { any: 1 });
  const metric = { name: 'x', help: '', type: 'gauge', values: [{ value: null, labels: { a: 1 } }], aggregator: 'sum' };
  t.ok(readAnswer('metrics', null, [metric]));
  for (const { what, value } of plainLies([metric])) isTaken(() => readAnswer('metrics', null, value), what);
  t.throws(() => readAnswer('metrics', null, [{ ...metric, values: {} }]), CheckError);
  t.equal(readAnswer('admin', { question: 'used', ask: null }, null), null);
  t.same(readAnswer('admin', { question: 'used', ask: null }, { x: 1 }), { x: 1 });
  t.throws(() => readAnswer('admin', { question: 'used', ask: null }, { x: 'y' }), /answer to used: x/);
});
