/**
 * The title that stands before a source's first audio: an Ogg encoder's, in the head of its stream. On the real server, which has to
 * save it first.
 */

import net from 'node:net';
import t, { type Test } from 'tap';
import { opusLink, opusPages } from '../kit/made-ogg.js';
import { Player } from '../kit/player.js';
import { knownEverywhere, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';

const YAML = `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations:
  demo:
    channels:
      air: { sources: [{ type: encoder, password: demo-source }] }
`;
/** A second: 20 ms each. */
const PACKETS = 50;

/** Sends a head and two seconds of audio in one go, and a second each second. */
async function encode(t: Test, port: number, serial: number, title: string): Promise<net.Socket> {
  const socket = net.connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  const login = Buffer.from('source:demo-source').toString('base64');
  socket.write(
    `PUT /air HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${login}\r\nContent-Type: application/ogg\r\n\r\n`,
  );
  await new Promise((done) => socket.once('data', done));
  await knownEverywhere();
  socket.write(opusLink(serial, 2 * PACKETS, `TITLE=${title}`));
  let sequence = 2 + (2 * PACKETS) / 10;
  const timer = setInterval(() => {
    socket.write(opusPages(serial, sequence, PACKETS));
    sequence += PACKETS / 10;
  }, 1000);
  t.teardown(() => clearInterval(timer));
  socket.on('close', () => clearInterval(timer));
  return socket;
}

const titlesIn = (audio: Buffer) =>
  [...audio.toString('latin1').matchAll(/TITLE=(\w+?)(?=OggS)/g)].map(([, title]) => title);

t.test("an Ogg encoder's first audio does not carry the title of the one before", async (t) => {
  const { port } = await startServer(t, YAML);
  const first = await encode(t, port, 1, 'Before');
  const stayed = new Player(port, '/air', { keep: true });
  await stayed.until((one) => titlesIn(one.audio).includes('Before'));
  first.destroy();
  await encode(t, port, 2, 'After');
  await stayed.until((one) => titlesIn(one.audio).includes('After'));
  t.same(titlesIn(stayed.audio), ['Before', 'After'], 'who was there hears one link of each');
  const joined = new Player(port, '/air', { keep: true });
  t.teardown(() => joined.close());
  await until(() => joined.audioBytes > 1000, 10_000);
  t.notOk(titlesIn(joined.audio).slice(1).includes('Before'), 'and so does who joins');
  stayed.close();
});
