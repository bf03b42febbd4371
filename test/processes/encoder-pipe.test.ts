/** An encoder's bytes on their way from the worker that decrypts them to the hub: of the same version, of another one, cut anywhere. */

import net, { type Socket } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { ProvenEncoder } from '../../src/http/ingest/proven.js';
import { greeting, LINK_VERSION } from '../../src/link/wire/link-version.js';
import { encode } from '../../src/metadata/codec.js';
import { EncoderPipes, HEAD_MS, pipeEncoder } from '../../src/processes/encoder-pipe.js';
import { HubSocket } from '../../src/processes/hub-socket.js';
import { plainLies } from '../kit/lies.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until, untilPromised } from '../kit/until.js';

const encoder = {
  kind: 'shoutcast',
  channel: 'demo',
  address: '192.0.2.1',
  path: '',
  rest: Buffer.from('icy-name: x\r\n\r\n'),
};

/** A hub's end, and what came to it. */
async function hub(t: Test): Promise<{ path: string; taken: ProvenEncoder[]; faults: unknown[] }> {
  const path = join(tempFolder(t), 'encoders');
  const taken: ProvenEncoder[] = [];
  const faults: unknown[] = [];
  const onEncoder = (each: ProvenEncoder) => {
    taken.push(each);
    t.teardown(() => each.socket.destroy());
  };
  const pipes = new EncoderPipes(onEncoder, (error) => void faults.push(error));
  const local = new HubSocket();
  local.take('encoder', (socket) => pipes.take(socket));
  await local.listen(path);
  t.teardown(() => {
    local.close();
    pipes.close();
  });
  return { path, taken, faults };
}

/** As a worker of that version begins. */
function forged(version: number, text = encode(encoder)): Buffer {
  const head = Buffer.from(text);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(head.length);
  return Buffer.concat([Buffer.from('e'), greeting(version), length, head, Buffer.from('audio')]);
}

async function send(t: Test, path: string, parts: readonly Buffer[]): Promise<{ isOver(): boolean }> {
  const socket = net.connect({ path, noDelay: true });
  t.teardown(() => socket.destroy());
  let isOver = false;
  socket
    .on('error', () => undefined)
    .on('close', () => {
      isOver = true;
    });
  for (const part of parts) await new Promise((resolve) => socket.write(part, resolve));
  return { isOver: () => isOver };
}

/** What was read of it before, and what comes behind, up to there. Its socket is paused when it comes. */
async function hears({ socket, ...head }: ProvenEncoder, all: string): Promise<void> {
  let rest = (head as unknown as typeof encoder).rest.toString();
  socket.on('data', (chunk: Buffer) => {
    rest += chunk.toString();
  });
  socket.resume();
  await until(
    () => rest === all,
    5000,
    () => rest,
  );
}

t.test('of the same version, in one piece and byte by byte', async (t) => {
  const { path, taken } = await hub(t);
  const bytes = forged(LINK_VERSION);
  for (const parts of [[bytes], [...bytes].map((byte) => Buffer.of(byte))]) {
    taken.length = 0;
    await send(t, path, parts);
    await until(() => taken.length > 0, 5000);
    t.match(taken[0], { kind: 'shoutcast', channel: 'demo' });
    await hears(taken[0]!, 'icy-name: x\r\n\r\naudio');
  }
});

t.test('of another version, or of none: it ends, and nothing of it is read', async (t) => {
  const { path, taken } = await hub(t);
  const bytes = forged(LINK_VERSION + 1);
  // A length and a head that cannot be read would end the hub.
  const old = Buffer.concat([Buffer.from('e'), Buffer.of(3, 0, 0, 0), Buffer.from('???')]);
  for (const parts of [[bytes], [bytes.subarray(0, 12), bytes.subarray(12)], [old]]) {
    const { isOver } = await send(t, path, parts);
    await until(isOver, 5000);
  }
  t.equal(taken.length, 0);
});

t.test('a head that cannot be read, one that never ends, and one that does not come', async (t) => {
  const { path, taken, faults } = await hub(t);
  for (const text of ['{"kind":', 'null']) {
    const { isOver } = await send(t, path, [forged(LINK_VERSION, text)]);
    await until(isOver, 5000);
  }
  t.equal(faults.length, 2);
  const whole = forged(LINK_VERSION);
  const slow = [Buffer.alloc(0), whole.subarray(0, 5), whole.subarray(0, whole.length - 20)];
  const all = await Promise.all(slow.map((part) => send(t, path, [part])));
  await untilPromised(() => all.every(({ isOver }) => isOver()), 2 * HEAD_MS);
  t.equal(taken.length, 0);
});

t.test('a malformed encoder ends its own connection only', async (t) => {
  const { path, taken } = await hub(t);
  const said = (text: string) => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(Buffer.byteLength(text));
    return Buffer.concat([Buffer.from('e'), greeting(), length, Buffer.from(text)]);
  };
  const honest = JSON.parse(encode(encoder)) as object;
  const lies = [...plainLies(honest)].map(({ value }) => JSON.stringify(value) ?? 'undefined');
  let refused = 0;
  for (const text of ['', '{', 'null', ...lies]) {
    const before = taken.length;
    const { isOver } = await send(t, path, [said(text)]);
    await until(
      () => isOver() || taken.length > before,
      5000,
      () => text.slice(0, 200),
    );
    if (taken.length === before) refused++;
  }
  t.ok(refused > 100, `${refused} of ${lies.length}`);
  const before = taken.length;
  await send(t, path, [forged(LINK_VERSION)]);
  await until(() => taken.length > before, 5000);
});

t.test('what a worker sends is what the hub takes', async (t) => {
  const { path, taken } = await hub(t);
  const near = join(tempFolder(t), 'encoder');
  const accepted = new Promise<Socket>((resolve) => {
    const server = net.createServer(resolve).listen(near);
    t.teardown(() => server.close());
  });
  const client = net.connect(near);
  const socket = await accepted;
  for (const end of [client, socket]) t.teardown(() => end.destroy());
  pipeEncoder({ ...encoder, socket } as unknown as ProvenEncoder, path);
  client.write('frames');
  await until(() => taken.length > 0, 5000);
  await hears(taken[0]!, 'icy-name: x\r\n\r\nframes');
  client.destroy();
  await until(() => taken[0]!.socket.readableEnded, 5000);
  t.pass('with its end');
});
