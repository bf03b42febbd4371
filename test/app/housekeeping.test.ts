/** What happens once a second, on the whole server. */

import t from 'tap';
import { Audience } from '../../src/listener/cursor/audience.js';
import { Sessions } from '../../src/listener/sessions/sessions.js';
import { Player } from '../kit/player.js';
import { DEMO_AUDIO, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { Upstream } from '../kit/upstream.js';

t.test('listeners that wait for the audio of a silent channel cost no walk over those that play', async (t) => {
  // It takes the connection and says nothing.
  const upstream = await Upstream.open(t);
  const walks = t.capture(Audience.prototype, 'endAll', Audience.prototype.endAll);
  const purges = t.capture(Sessions.prototype, 'purge', Sessions.prototype.purge);
  const { port, app } = await startServer(
    t,
    `addresses: [{ host: 127.0.0.1, port: 0 }]
streams: { silenceSeconds: 0.1, startTimeoutSeconds: 60 }
stations:
  house:
    channels:
      plays: { sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      silent: { sources: [{ type: pull, url: '${upstream.url}', allowPrivate: true, connectTimeoutSeconds: 60 }] }
`,
  );
  const playing = new Player(port, '/plays');
  await playing.until((player) => player.audioBytes > 0);
  const waiting = new Player(port, '/silent');
  await until(() => upstream.requestHeads.length > 0, 5000);
  purges();
  let turns = 0;
  await until(() => (turns += purges().length) >= 3, 10_000);
  t.same(walks(), []);
  t.notOk(waiting.closed, 'it still waits');
  playing.close();
  waiting.close();
  await app.stop();
});
