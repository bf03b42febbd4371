/** Answers of Redis or of an origin with each member replaced by what it should not be: refused, and the connection is closed, or harmless. */

import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import t from 'tap';
import { checkedLog } from '../../../src/cluster/log/checked-log.js';
import { HeldLog } from '../../../src/cluster/log/held-log.js';
import { RedisLog } from '../../../src/cluster/log/redis-log.js';
import { LogLost, type SharedLog } from '../../../src/cluster/log/shared-log.js';
import { plainLies } from '../../kit/lies.js';
import { askedLease, commitOf, joining, leaseQuestion } from '../../kit/log-questions.js';

const ASKS = {
  timeMs: (log: SharedLog) => log.timeMs(),
  epoch: (log: SharedLog) => log.epoch(),
  hello: (log: SharedLog) => log.hello(joining()),
  commit: (log: SharedLog) => log.commit(commitOf()),
  lease: (log: SharedLog) => log.lease(leaseQuestion('a', 'http://a', askedLease('x'))),
  last: (log: SharedLog) => log.last(['x']),
  entriesAfter: (log: SharedLog) => log.entriesAfter(0, 2, 0),
  nodes: (log: SharedLog) => log.nodes(),
} as const;

const HONEST: Readonly<Record<keyof typeof ASKS, unknown>> = {
  timeMs: 1,
  epoch: 'e',
  hello: { epoch: 'e', seq: 1, goesOn: true },
  commit: { verdict: 'ok', number: 1 },
  lease: {
    leases: [{ node: 'a', url: '', beforeNode: '', beforeUrl: '', epoch: 1, version: 1, facts: '' }],
    isNameTaken: false,
  },
  last: [['x', '1 {}']],
  entriesAfter: [{ id: '1-0', fields: { c: 'x' } }],
  nodes: [['a', '1 http://a run']],
};

/** A way to a log of which one answer is this. */
function answering(ask: keyof typeof ASKS, answer: unknown) {
  const log = new HeldLog().open();
  const lying = Object.assign(log, { [ask]: async () => answer });
  const asked: Promise<unknown> = ASKS[ask](checkedLog(lying));
  return { log, asked };
}

for (const [name, honest] of Object.entries(HONEST)) {
  const ask = name as keyof typeof ASKS;
  t.test(`the answer to ${ask}`, async (t) => {
    const { log, asked } = answering(ask, honest);
    t.same(await asked, honest);
    t.equal(log.isLost, false);
    let refused = 0;
    const lies = [...plainLies([honest])].map(({ what, value }) => ({ what, value: (value as unknown[])?.[0] }));
    for (const { what, value } of lies) {
      const lie = answering(ask, value);
      const error = await lie.asked.then(
        () => null,
        (reason: unknown) => reason,
      );
      if (error === null) continue;
      refused++;
      t.ok(error instanceof LogLost && lie.log.isLost, what);
    }
    t.ok(refused > 3, `${refused} of ${lies.length}`);
  });
}

t.test('more entries than were asked for', async (t) => {
  const entry = { id: '1-0', fields: {} };
  t.same((await answering('entriesAfter', [entry, entry]).asked) as unknown, [entry, entry]);
  await t.rejects(answering('entriesAfter', [entry, entry, entry]).asked, LogLost);
});

t.test('a Redis that answers each question with what is no answer to it', async (t) => {
  for (const answer of ['*0\r\n', '*2\r\n:1\r\n$-1\r\n', ':5\r\n', '$1\r\nx\r\n', '*1\r\n*1\r\n*1\r\n:1\r\n']) {
    const server = createServer((socket) => {
      let isOpen = false;
      socket.on('error', () => undefined);
      socket.on('data', (chunk: Buffer) => {
        const asked = chunk.toString();
        if (/ROLE/.test(asked)) socket.write('*1\r\n$6\r\nmaster\r\n');
        else if (/SCRIPT/.test(asked)) socket.write('$1\r\nx\r\n');
        else {
          isOpen = true;
          socket.write(answer);
        }
      });
      t.teardown(() => isOpen && socket.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.teardown(() => server.close());
    const url = `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const ask of ['hello', 'commit', 'lease', 'entriesAfter'] as const) {
      const log = checkedLog(await RedisLog.open({ url, sentinels: [], master: '', answerMs: 5000 }, 'p:'));
      const said = await ASKS[ask](log).then(
        (value: unknown) => value,
        (error: unknown) => error,
      );
      const isNothing = said instanceof LogLost || Array.isArray(said) || ask === 'lease';
      t.ok(isNothing, `${ask}: ${answer}: ${JSON.stringify(said)}`);
      log.close();
    }
  }
});
