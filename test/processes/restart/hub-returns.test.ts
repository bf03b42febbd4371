/** An encoder's connection of the hub before this one: as that one sends it, at every point of a stream, and with each member replaced by what it should not be. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { framerFor } from '../../../src/audio/frames/format.js';
import { Channel } from '../../../src/channel/channel.js';
import { loadConfig } from '../../../src/config/load.js';
import { encode } from '../../../src/metadata/codec.js';
import { readConnection } from '../../../src/processes/encoder-schema.js';
import { takeConnection } from '../../../src/processes/restart/hub-returns.js';
import { FakeClock } from '../../kit/clock.js';
import { plainLies } from '../../kit/lies.js';
import { keepLines } from '../../kit/log-lines.js';
import { flacLink, forgedHeads, opusLink } from '../../kit/made-ogg.js';
import { Random } from '../../kit/random.js';
import { socketPair } from '../../kit/socket-pair.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { audioOf } from '../../kit/upstream.js';

const MAX_AHEAD_MS = 600_000;

/** As a hub sends it, once this was read. */
function connectionAt(audio: Buffer) {
  const framer = framerFor({ onFrame: () => 0 });
  framer.push(audio);
  const intake = { framer: framer.state, left: Buffer.from('left'), noiseBytes: 0 };
  const body = { kind: 'chunked', state: 'data', size: 100, digits: 0, lineBytes: 0, blank: true, closed: false };
  const headers = new Map([['user-agent', 'test']]);
  const foreign = new Map([['ice-name', Buffer.from('Zo\xeb', 'latin1')]]);
  const position = { headers, foreign, address: '192.0.2.1', sinceMs: Date.now(), body, intake };
  return { channel: 'demo', position, aheadMs: 40 };
}

/** Between processes. */
const sent = (value: unknown) => ({
  text: encode(value),
  ahead: Buffer.from('ahead').toString('base64'),
});

function makeChannel(t: Test) {
  const path = join(tempFolder(t), 'config.yaml');
  const sources = `[{ type: encoder, password: 'sha256:${'a'.repeat(64)}' }]`;
  writeFileSync(path, `stations: { demo: { channels: { demo: { sources: ${sources} } } } }`);
  const config = loadConfig(path, process.env);
  const options = config.stations['demo']!.channels['demo']!;
  const channel = new Channel('demo', options, config, { clock: new FakeClock(), log: keepLines().log });
  channel.start({ onTitle: async () => undefined, onSourceChanged: () => undefined });
  t.teardown(() => channel.stop());
  return { channel, channels: new Map([['demo', channel]]) };
}

t.test('whatever was read of a stream, and whatever is damaged in it', async (t) => {
  const random = new Random();
  const opus = opusLink(7, 40, 'TITLE=x');
  const kinds = {
    mp3: audioOf(random, 30),
    opus,
    flac: flacLink(8, 44_100, 40),
    forged: Buffer.concat([opus, forgedHeads(3000)]),
  };
  for (const [kind, audio] of Object.entries(kinds)) {
    for (let i = 0; i < 100; i++) {
      const copy = Buffer.from(audio);
      if (random.chance(0.5)) for (let n = 20; n > 0; n--) copy[random.int(8, copy.length - 1)] = random.int(0, 255);
      const all = Buffer.concat([copy, copy, copy]);
      const { bad } = readConnection(sent(connectionAt(all.subarray(0, random.int(8, all.length)))));
      if (bad !== null) t.fail(`seed ${random.seed}: ${kind}: ${bad}`);
    }
  }
});

t.test('it is taken, or its socket is closed and the reason is named; nothing is thrown', async (t) => {
  const audio = audioOf(new Random(1), 5);
  const { channel, channels } = makeChannel(t);
  const { socket } = await socketPair(t);
  const whole = connectionAt(audio);
  t.match(readConnection(sent(whole)).value, { ...whole, ahead: Buffer.from('ahead') }, 'all of it');
  t.equal(takeConnection(channels, sent(whole), socket), null);
  t.ok(channel.encoder.isConnected);
  t.notOk(socket.destroyed);
  t.ok(channel.encoder.end());

  const pair = await socketPair(t);
  let refused = 0;
  // With few bytes, of which each is a member.
  const { position, ...rest } = connectionAt(audio);
  const intake = { ...position.intake, framer: { ...position.intake.framer, kept: Buffer.from('abc') } };
  const honest = JSON.parse(encode({ ...rest, position: { ...position, intake } })) as object;
  const lies = [...plainLies(honest)];
  for (const { what, value } of lies) {
    try {
      const bad = takeConnection(channels, sent(value), pair.socket);
      if (bad !== null) refused++;
    } catch (error) {
      t.fail(`${what}: ${(error as Error).stack}`);
    }
    channel.encoder.end();
  }
  for (const ahead of ['*', 5, null, undefined] as const) {
    const letter = { ...sent(connectionAt(audio)), ahead: ahead as string };
    t.not(takeConnection(channels, letter, pair.socket), null, `${ahead}`);
  }
  t.ok(refused > lies.length / 2, `${refused} of ${lies.length} were refused`);
  t.ok(pair.socket.destroyed);
});

t.test('the limit of how far it is ahead, and what would never end', async (t) => {
  const connection = connectionAt(audioOf(new Random(1), 5));
  const { position } = connection;
  t.equal(readConnection(sent({ ...connection, aheadMs: MAX_AHEAD_MS })).bad, null);
  t.match(readConnection(sent({ ...connection, aheadMs: MAX_AHEAD_MS + 1 })).bad, /^aheadMs: /);
  // A piece of no whole byte is taken again and again.
  const body = { ...position.body, size: 0.5 };
  t.match(readConnection(sent({ ...connection, position: { ...position, body } })).bad, /^position\.body\.size: /);
});
