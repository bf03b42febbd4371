/** Bad messages of sessions end at most the link of the worker that sent them: others read on, and the hub keeps no more than one worker may have. */

import t from 'tap';
import { HubSessions } from '../../../src/link/sessions/hub-sessions.js';
import { SessionRegistry } from '../../../src/link/sessions/session-registry.js';
import { WorkerSessions } from '../../../src/link/sessions/worker-sessions.js';
import { LinkConnection } from '../../../src/link/wire/link-connection.js';
import { greeting } from '../../../src/link/wire/link-version.js';
import { asStream, linkPipe } from '../../kit/link-pipe.js';
import { LOCATION, liesOf, METAID, SESSION_MESSAGES, said } from '../../kit/session-lies.js';

const MOST = 100;

/** A hub with an honest worker, 2, that follows what the other one, 1, has. */
function start() {
  const registry = new SessionRegistry(() => MOST);
  const errors: Error[] = [];
  const [one, two] = [linkPipe(), linkPipe()];
  const hubs = [one, two].map((pipe, i) => {
    const onBroken = (error: unknown) => void errors.push(error as Error);
    const sessions = new HubSessions(
      new LinkConnection(asStream(pipe.hub), onBroken, { peer: `worker ${i + 1}` }),
      registry,
    );
    sessions.begin(i + 1);
    return sessions;
  });
  const heard: string[] = [];
  const shared = new Proxy({} as never, {
    get: (_, name) => (metaid: string) => void heard.push(`${String(name)} ${metaid}`),
  });
  const worker = new WorkerSessions(() => ({ shared, players: shared, reports: { judge: () => 'taken' } }));
  const broken: Error[] = [];
  worker.connect(new LinkConnection(asStream(two.worker), (error) => broken.push(error as Error)));
  worker.onReady();
  worker.follow(METAID, true);
  const flow = async () => {
    await new Promise((done) => setImmediate(done));
    for (const { hub, worker: end } of [one, two]) while (end.deliver(1e6) + hub.deliver(1e6) > 0);
    await new Promise((done) => setImmediate(done));
    for (const { hub, worker: end } of [one, two]) while (end.deliver(1e6) + hub.deliver(1e6) > 0);
  };
  one.worker.write(greeting());
  return { registry, hubs, errors, broken, heard, liar: one.worker, flow };
}

t.test('each message with each of its members at every boundary', async (t) => {
  for (const message of SESSION_MESSAGES) {
    let ended = 0;
    for (const { what, bytes } of liesOf(message)) {
      const { liar, flow, errors, broken, registry, heard } = start();
      liar.write(said(LOCATION.type, LOCATION.honest()));
      await flow();
      if (!heard.includes(`onFirst ${METAID}`)) t.fail('the location is not heard');
      liar.write(bytes);
      await flow();
      if (broken.length > 0) t.fail(`${message.name} ${what}: the other worker: ${broken[0]!.message}`);
      if (errors.some((error) => !error.message.startsWith(`worker 1: message ${message.name}: `)))
        t.fail(`${what}: ${errors}`);
      if (registry.count > 2) t.fail(`${what}: ${registry.count} metaids`);
      if (errors.length > 0) ended++;
    }
    t.ok(ended > 0, `${message.name}: ${ended} links were ended`);
  }
});

t.test('locations and followers of one worker are bounded, and go with it', async (t) => {
  for (const type of [LOCATION, SESSION_MESSAGES[1]!]) {
    const { liar, flow, registry, errors } = start();
    await flow();
    const before = registry.count;
    for (let i = 0; i < MOST; i++) liar.write(said(type.type, type.honest(), `metaid${i}`));
    await flow();
    t.equal(registry.count, before + MOST, 'at the limit');
    for (let i = 0; i < 5000; i++) liar.write(said(type.type, type.honest(), `another${i}`));
    await flow();
    t.equal(registry.count, before + MOST, 'past it');
    t.same(errors, []);
    liar.destroy();
    t.equal(registry.count, before);
  }
});

t.test('a player of HLS has a location and asks; nothing else is passed on about it', async (t) => {
  const key = `hls:${'x'.repeat(22)}`;
  for (const message of SESSION_MESSAGES) {
    const { liar, flow, errors, broken, heard } = start();
    await flow();
    liar.write(said(message.type, message.honest(), key));
    await flow();
    t.strictSame(broken, [], 'the other worker goes on');
    const isKnown = message.name === 'LOCATION' || message.name === 'REPORT';
    if (isKnown) t.strictSame(errors, [], message.name);
    else t.match(errors[0]?.message, /: metaid: /, message.name);
    t.equal(heard.includes(`onFirst ${key}`), message.name === 'LOCATION', message.name);
  }
  for (const wrong of ['hls:', 'hls:x', `hls:${'x'.repeat(23)}`, `hls:${'x'.repeat(21)}.`]) {
    const { liar, flow, errors } = start();
    await flow();
    liar.write(said(LOCATION.type, LOCATION.honest(), wrong));
    await flow();
    t.match(errors[0]?.message, /: metaid: /, wrong);
  }
});

t.test('an invalid metaid, of any length', async (t) => {
  for (const metaid of ['x'.repeat(129), 'ä', 'a b', 'a\n', 'x'.repeat(100_000)]) {
    const { liar, flow, errors, registry } = start();
    await flow();
    liar.write(said(LOCATION.type, LOCATION.honest(), metaid));
    await flow();
    t.match(errors[0]?.message, /^worker 1: message LOCATION: metaid: /);
    t.notMatch(errors[0]?.message, metaid, 'it may be a secret');
    t.equal(registry.count, 1);
  }
});
