/** A bad message of plain data closes the link, and its error names peer, message, kind and member. */

import t from 'tap';
import { Control } from '../../src/link/control-messages.js';
import { readFromWorker } from '../../src/link/control-schema.js';
import { LinkConnection } from '../../src/link/wire/link-connection.js';
import { asStream, linkPipe } from '../kit/link-pipe.js';

function ends() {
  const pipe = linkPipe();
  const errors: string[] = [];
  const onBroken = (error: unknown) => void errors.push((error as Error).message);
  const hub = new LinkConnection(asStream(pipe.hub), onBroken, { peer: 'worker 3' });
  const taken: unknown[] = [];
  const handler = { onControl: (message: unknown) => void taken.push(message), onClosed: () => undefined };
  new Control(hub, handler, readFromWorker);
  const worker = new Control(new LinkConnection(asStream(pipe.worker), onBroken), handler, readFromWorker);
  const send = (message: unknown) => {
    worker.send(message as never);
    pipe.worker.deliver(Number.POSITIVE_INFINITY);
  };
  return { hub, errors, taken, send };
}

t.test('errors name the message', async (t) => {
  for (const [message, named] of [
    [{ type: 'hello', worker: 0, tickets: null }, /^worker 3: message CONTROL: hello: worker: /],
    [{ type: 'applied', turn: 'x' }, /^worker 3: message CONTROL: applied: turn: /],
    [{ type: 'x'.repeat(10_000) }, /^worker 3: message CONTROL: of no known type: type: .{0,200}$/],
    [null, /^worker 3: message CONTROL: of no known type: .{0,200}$/],
  ] as const) {
    const { hub, errors, taken, send } = ends();
    send({ type: 'applied', turn: 1 });
    t.strictSame([taken, hub.isClosed], [[{ type: 'applied', turn: 1 }], false]);
    send(message);
    t.equal(errors.length, 1);
    t.match(errors[0], named);
    t.ok(hub.isClosed);
    t.equal(taken.length, 1);
  }
});
