/** The service after a restart: what was committed is in force again, and what has become stale meanwhile is not. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { openLog } from '../../src/base/log.js';
import { Channel } from '../../src/channel/channel.js';
import { loadConfig } from '../../src/config/load.js';
import { Feed } from '../../src/feed/feed.js';
import { ListenerFeed } from '../../src/listener/listener-feed.js';
import { Sessions } from '../../src/listener/sessions.js';
import { Rate } from '../../src/net/rate.js';
import { MemoryStore } from '../../src/store/memory.js';
import { LocalEngine } from '../../src/titles/local.js';
import { TitleService } from '../../src/titles/service.js';
import { FakeClock } from '../kit/clock.js';
import { demoYaml, tempFolder } from '../kit/server.js';

/** A server's titles on a store, as they are after a start. */
async function start(t: Test, store: MemoryStore, clock: FakeClock): Promise<{ titles: TitleService; feed: Feed }> {
  const path = join(tempFolder(t), 'config.yaml');
  writeFileSync(path, demoYaml());
  const config = loadConfig(path, process.env);
  const { log } = openLog('silent', 0);
  const parts = { clock, log, onTitle: async () => undefined, onSourceChanged: () => undefined };
  const channel = new Channel('demo', config.stations['demo']!.channels['demo']!, config, parts);
  const feed = new Feed();
  feed.addStation('demo', [{ key: 'demo', name: 'Demo', station: 'demo', timezone: 'UTC' }]);
  const listenerFeed = new ListenerFeed(feed);
  const titles = new TitleService({
    engine: (onChange) => new LocalEngine(store, onChange, (error) => t.error(error)),
    feed,
    listenerFeed,
    sessions: new Sessions(clock, listenerFeed, { keepMs: 1, max: 1 }),
    clock,
    log,
    channels: new Map([['demo', channel]]),
    rules: config.titles,
    heldPushes: 64,
    textBytes: 1024,
    sourceTitleRate: new Rate(clock, { perMinute: 600, burst: 100, remembered: 2 }),
    onError: (error) => t.error(error),
  });
  await titles.restore();
  return { titles, feed };
}

t.test('a restart brings back now and next; a next whose time has passed by 60 s is gone', async (t) => {
  for (const [passedMs, song] of [
    [59_000, 'Next'],
    [61_000, undefined],
  ] as const) {
    const store = new MemoryStore();
    const clock = new FakeClock();
    const timeSeconds = Math.floor(clock.wallMs() / 1000);
    const { titles } = await start(t, store, clock);
    await titles.push('demo', { type: 'now', artist: '', song: 'Now' });
    await titles.push('demo', { type: 'next', artist: '', song: 'Next', timeSeconds });
    await titles.close();
    clock.advance(passedMs);
    const { titles: again, feed } = await start(t, store, clock);
    t.equal(feed.last('demo', 'now')?.record.song, 'Now');
    t.equal(feed.last('demo', 'next')?.record.song, song, `${passedMs} ms after its time`);
    t.equal(again.versionOf('demo'), 2);
    await again.close();
  }
});
