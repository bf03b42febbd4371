/** Directories of a cluster: two machines of one configuration, one of which lists a channel; also over its death, and at the stop. */

import t from 'tap';
import { ClusterNode } from '../kit/nodes.js';
import { quietFor } from '../kit/pause.js';
import { noRedis, RedisServer } from '../kit/redis.js';
import { DEMO_AUDIO } from '../kit/server.js';
import { YpServer } from '../kit/yp-server.js';

/** For a machine that is busy; a lease of a machine that has died lasts 5 s. */
const LONG_MS = 30_000;

t.test('one machine lists it, and another one goes on', { skip: noRedis, timeout: 240_000 }, async (t) => {
  const yp = await YpServer.open(t);
  const redis = await RedisServer.start(t);
  const more = `
      out: { public: true, sources: [{ type: file, path: ${DEMO_AUDIO} }] }
directories: [{ url: '${yp.url}', touchSeconds: { min: 1, max: 1 }, retrySeconds: { min: 0.5, max: 1 } }]
streams: { publicUrl: 'http://radio.example' }
`;
  const [one, two] = [
    await ClusterNode.start(t, 'one', redis, { more, workers: 1 }),
    await ClusterNode.start(t, 'two', redis, { more, workers: 1 }),
  ];
  await yp.came('touch', 2, LONG_MS);
  await quietFor(2000);
  t.equal(yp.of('add').length, 1, 'once');
  // `one` was there first. It dies, and says nothing of it.
  await one.kill();
  t.match(await yp.came('add', 2, LONG_MS), { listenurl: 'http://radio.example/out' });
  const touches = yp.of('touch').length;
  await yp.came('touch', touches + 1, LONG_MS);
  await two.end();
  t.match(await yp.came('remove', 1, LONG_MS), { sid: 'sid-2' });
});
