/** A title whose question failed: by a false clock, with a real hook. */

import http from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import type { LoadedConfig } from '../../src/config/load.js';
import { Covers } from '../../src/covers/covers.js';
import type { TrackRecord } from '../../src/metadata/record.js';
import { type ChannelState, EMPTY_STATE } from '../../src/now-playing/state.js';
import type { Engine } from '../../src/titles/engine.js';
import { Moments } from '../../src/titles/moments.js';
import { FakeClock } from '../kit/clock.js';
import { keepLines } from '../kit/log-lines.js';
import { quietFor } from '../kit/pause.js';
import { viewOf } from '../kit/record.js';
import { until } from '../kit/until.js';

const COVER = 'https://img.example/1.jpg';

async function made(t: Test) {
  const subject = { isUp: false, asked: [] as string[], state: EMPTY_STATE as ChannelState };
  const server = http.createServer((request, response) => {
    subject.asked.push(new URL(request.url!, 'http://x').searchParams.get('song')!);
    response.writeHead(subject.isUp ? 200 : 500).end(JSON.stringify({ cover: COVER }));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const clock = new FakeClock();
  const covers = {
    hook: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    etypes: [{ from: 0, to: 0 }],
    timeoutSeconds: 5,
    cacheEntries: 10,
    cacheSeconds: 600,
  };
  const config = { stations: { s: { channels: { demo: { covers } } } }, limits: { urlBytes: 4096 } };
  const engine: Pick<Engine, 'state' | 'update'> = {
    state: () => subject.state,
    update: async (_, decide) => {
      const change = decide(subject.state);
      subject.state = change?.state ?? subject.state;
      return change;
    },
  };
  const all = new Covers({
    config: config as unknown as LoadedConfig,
    clock,
    log: keepLines().log,
    engine: engine as Engine,
    moments: new Moments(clock),
    isTurn: () => true,
    onChannels: () => undefined,
    onError: (error) => t.fail(String(error)),
  });
  all.follow();
  t.teardown(() => {
    all.close();
    server.closeAllConnections();
    server.close();
  });
  const failed = () => [...all.counts()][0]![1].failed;
  /** A title is in force, and its question has failed. */
  const title = async (song: string, fields: Partial<TrackRecord> = {}) => {
    const view = viewOf(song, fields);
    subject.state = { ...subject.state, now: view.record };
    const before = failed();
    all.onTitle('demo', view);
    await until(() => failed() > before, 5000);
  };
  return { subject, clock, title, failed };
}

t.test('it is asked for again after a minute, while it is in force', async (t) => {
  const { subject, clock, title, failed } = await made(t);
  await title('one');
  // What follows the answer has to be done, too.
  await quietFor(50);
  clock.advance(59_000);
  t.strictSame(subject.asked, ['one']);
  clock.advance(2000);
  await until(() => failed() === 2, 5000);
  await quietFor(50);
  subject.isUp = true;
  clock.advance(61_000);
  await until(() => subject.state.now?.cover === COVER, 5000);
  clock.advance(120_000);
  await quietFor(50);
  t.strictSame(subject.asked, ['one', 'one', 'one']);
});

t.test('but not where another title is', async (t) => {
  const { subject, clock, title } = await made(t);
  await title('one');
  await quietFor(50);
  subject.state = {
    ...subject.state,
    now: viewOf('two', { id: 'id-2', effectAtMs: 1_795_000_100_000, etype: 103 }).record,
  };
  clock.advance(120_000);
  await quietFor(50);
  t.strictSame(subject.asked, ['one']);
});
