/** Titles of an encoder that sends Ogg at a whole server: in its readers' records, and in the comments that listeners get. */

import t from 'tap';
import { Feeder } from '../kit/feeder.js';
import { opusLink } from '../kit/made-ogg.js';
import { Player } from '../kit/player.js';
import { startServer } from '../kit/server.js';
import { until } from '../kit/until.js';

const yaml = `
addresses: [{ host: 127.0.0.1, port: 0 }]
sources: { stallMs: 20000 }
stations: { demo: { channels: { live: { sources: [{ type: encoder, password: demo-source }] } } } }
`;

t.test('artists and album reach readers and listeners; a link without a title ends it', async (t) => {
  const { base, port } = await startServer(t, yaml);
  const encoder = new Feeder(t, port, '/live', { headers: 'Content-Type: audio/ogg\r\n' });
  await encoder.answered();
  const said = async (rawdata: string) => {
    let record: Record<string, unknown> = {};
    const isIt = async () => {
      const answer = await fetch(`${base}/metadata/channel/live.json`);
      if (answer.status === 200) record = (await answer.json()) as Record<string, unknown>;
      return record['rawdata'] === rawdata;
    };
    await until(isIt, 10_000, () => `${record['rawdata']}, not ${rawdata}`);
    return record;
  };
  encoder.socket.write(
    opusLink(1, 150, 'ARTIST=Queen', 'ARTIST=David Bowie', 'TITLE=Under Pressure', 'ALBUM=Hot Space'),
  );
  const both = await said('Queen, David Bowie - Under Pressure');
  t.match(both, { artist: 'Queen, David Bowie', song: 'Under Pressure', album: 'Hot Space', source: 'encoder' });
  const player = new Player(port, '/live', { keep: true });
  t.teardown(() => player.close());
  await player.until(({ audioBytes }) => audioBytes > 0, 10_000);
  for (const comment of ['TITLE=Under Pressure', 'ARTIST=Queen, David Bowie', 'ALBUM=Hot Space'])
    t.ok(player.audio.includes(comment), comment);
  encoder.socket.write(opusLink(2, 100, 'TITLE=Anna - Lied'));
  t.match(await said('Anna - Lied'), { artist: 'Anna', song: 'Lied', album: '' });
  encoder.socket.write(opusLink(3, 100, 'GENRE=Jazz'));
  t.match(await said(''), { artist: '', song: '' });
});
