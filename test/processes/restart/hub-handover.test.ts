/** What a hub hands over to the next one, in which order, and what it lets go of. Both ends are here, on real sockets. */

import type { Socket } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { framerFor } from '../../../src/audio/frames/format.js';
import { SystemClock } from '../../../src/base/clock.js';
import { Channel } from '../../../src/channel/channel.js';
import { loadConfig } from '../../../src/config/load.js';
import { TapeNames } from '../../../src/link/tapes/tape-names.js';
import { encode } from '../../../src/metadata/codec.js';
import { HubSocket } from '../../../src/processes/hub-socket.js';
import type { FromChild } from '../../../src/processes/messages.js';
import { handOver } from '../../../src/processes/restart/hub-handover.js';
import { HubReturns, takeConnection } from '../../../src/processes/restart/hub-returns.js';
import { DEMO_FRAMES } from '../../kit/feeder.js';
import { keepLines } from '../../kit/log-lines.js';
import { socketPair } from '../../kit/socket-pair.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until } from '../../kit/until.js';

const source = `sources: [{ type: encoder, password: 'sha256:${'a'.repeat(64)}' }]`;
const TEXT = `stations: { demo: { channels: { heard: { ${source} }, unheard: { ${source} }, cut: { ${source} } } } }`;

/** The channels of a hub, with sources that have started. */
function hubOf(t: Test) {
  const config = loadConfig('/nowhere/config.yaml', {}, TEXT);
  const clock = new SystemClock();
  const { log, lines } = keepLines();
  const options = config.stations['demo']!.channels;
  const channels = new Map(
    ['heard', 'unheard', 'cut'].map((key) => [key, new Channel(key, options[key]!, config, { clock, log })]),
  );
  t.teardown(() => {
    for (const channel of channels.values()) channel.stop();
    clock.stop();
  });
  const start = () => {
    for (const channel of channels.values())
      channel.start({ onTitle: async () => undefined, onSourceChanged: () => undefined });
  };
  return { clock, channels, names: new TapeNames(), lines, start };
}

/** An encoder of the channel, of a hub before this one, that has sent some seconds. @returns its socket at the hub */
async function encoderOf(t: Test, { channels }: ReturnType<typeof hubOf>, channel: string): Promise<Socket> {
  const { client, socket } = await socketPair(t);
  const framer = framerFor({ onFrame: () => 0 });
  framer.push(Buffer.concat(DEMO_FRAMES.slice(0, 20)));
  const intake = { framer: framer.state, left: Buffer.alloc(0), noiseBytes: 0 };
  const position = { headers: new Map(), address: '192.0.2.1', sinceMs: Date.now(), body: { kind: 'bare' }, intake };
  t.equal(takeConnection(channels, { text: encode({ channel, position, aheadMs: 0 }), ahead: '' }, socket), null);
  client.write(Buffer.concat(DEMO_FRAMES.slice(20, 300)));
  const { audio } = channels.get(channel)!;
  await until(() => (audio.tape?.head ?? 0) > (audio.tape?.tail ?? 0), 5000);
  return socket;
}

/** Hands over to the hub at this path; what happens, in order. */
async function handedOver({ clock, channels, names }: ReturnType<typeof hubOf>, path: string) {
  const events: string[] = [];
  const sent: FromChild[] = [];
  const step = async (name: string) => void events.push(name);
  await handOver(path, {
    clock,
    channels,
    names,
    needed: new Set(['cut']),
    closeLinks: () => void step('links'),
    closeTitles: () => step('titles'),
    closeStore: () => step('store'),
    send: (message, _socket, onSent) => {
      events.push(message.type);
      sent.push(message);
      onSent?.();
    },
    onError: (error) => t.fail(String(error)),
  });
  return { events, sent };
}

t.test(
  'the next hub has the tapes that are heard or cut, with their names; encoders go with their sockets',
  async (t) => {
    const [hub, next] = [hubOf(t), hubOf(t)];
    hub.start();
    const socket = await encoderOf(t, hub, 'heard');
    const { audio } = hub.channels.get('heard')!;
    const other = await encoderOf(t, hub, 'unheard');
    await encoderOf(t, hub, 'cut');
    const cut = hub.channels.get('cut')!.audio.tape!.head;
    audio.listeners = 1;
    const { head } = audio.tape!;
    const name = hub.names.nameOf(audio.tape!);
    const path = join(tempFolder(t), 'tapes');
    const returns = new HubReturns({
      clock: next.clock,
      without: [],
      has: (channel) => next.channels.has(channel),
      maxLagMs: () => 30_000,
      onError: (error) => t.fail(String(error)),
      onTakes: () => undefined,
    });
    const local = new HubSocket();
    local.take('tapes', (socket) => returns.take(socket));
    await local.listen(path);
    t.teardown(() => local.close());
    let taken = 0;
    const collected = returns.collect(1, next.channels, next.names).then((count) => {
      taken = count;
    });
    const { events, sent } = await handedOver(hub, path);
    t.equal(taken, 2, 'it waits until the next one has them');
    await collected;
    t.same(events, ['links', 'titles', 'connection', 'connection', 'connection', 'store', 'released']);
    t.match(
      sent,
      ['heard', 'unheard', 'cut'].map((channel) => ({ text: new RegExp(`^{"channel":"${channel}"`) })),
    );
    t.ok(socket.destroyed && other.destroyed, 'here they are closed once they are sent');
    const { tape } = next.channels.get('heard')!.audio;
    t.equal(tape!.head, head);
    t.same(next.names.nameOf(tape!), name);
    t.same([...returns.unhanded], [], 'it is whole');
    t.equal(next.channels.get('unheard')!.audio.tape, undefined);
    t.equal(next.channels.get('cut')!.audio.tape!.head, cut);
  },
);

t.test('a next hub that is gone is not waited for: what was decided is saved all the same', async (t) => {
  const hub = hubOf(t);
  hub.start();
  await encoderOf(t, hub, 'heard');
  hub.channels.get('heard')!.audio.listeners = 1;
  const { events } = await handedOver(hub, join(tempFolder(t), 'none'));
  t.same(events, ['links', 'titles', 'connection', 'store', 'released']);
});
