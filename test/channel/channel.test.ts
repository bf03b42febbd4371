/** A channel that goes on in another process, as a rolling restart has it. Titles: titles/title-service.test.ts. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Channel } from '../../src/channel/channel.js';
import { loadConfig } from '../../src/config/load.js';
import { FakeClock } from '../kit/clock.js';
import { keepLines } from '../kit/log-lines.js';
import { Random } from '../kit/random.js';
import { DEMO_AUDIO } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';
import { audioOf, streamHead, Upstream } from '../kit/upstream.js';

t.test('a source that an operator has chosen stays chosen, an upstream too, which connects anew', async (t) => {
  const upstream = await Upstream.open(t);
  upstream.answer = (socket) =>
    void socket.write(Buffer.concat([Buffer.from(streamHead()), audioOf(new Random(), 100)]));
  const path = join(tempFolder(t), 'config.yaml');
  const sources = `[{ type: file, path: ${DEMO_AUDIO} }, { type: pull, url: '${upstream.url}' }]`;
  writeFileSync(path, `stations: { demo: { channels: { demo: { sources: ${sources} } } } }`);
  const config = loadConfig(path, process.env);
  const options = config.stations['demo']!.channels['demo']!;
  const parts = { clock: new FakeClock(), log: keepLines().log };
  const output = { onTitle: async () => undefined, onSourceChanged: () => undefined };
  const before = new Channel('demo', options, config, parts);
  before.start(output);
  before.switch.pin(1);
  await until(() => before.switch.indexOnAir === 1, 5000);
  const { position: place } = before.detach();

  const channel = new Channel('demo', options, config, parts);
  channel.adopt(place);
  channel.start(output);
  t.teardown(() => channel.stop());
  await until(() => channel.switch.indexOnAir === 1, 5000);
  t.equal(channel.switch.pinned, 1);
});
