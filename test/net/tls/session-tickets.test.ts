/** The keys of TLS tickets: made where nobody else has any, changed in time, taken from the machine that makes them and from the hub before. */

import t from 'tap';
import { ticketKeysSchema } from '../../../src/link/ticket-keys-schema.js';
import {
  SessionTickets,
  TICKETS_LAST_MS,
  type TicketKeys,
  TicketKeysInForce,
} from '../../../src/net/tls/session-tickets.js';
import { FakeClock } from '../../kit/clock.js';

class Turn {
  isOwn = false;
  said: TicketKeys[] = [];
  last: TicketKeys | null = null;
  say(keys: TicketKeys): void {
    if (this.said.at(-1)?.keys !== keys.keys) this.said.push(keys);
  }
  wasSaid(): boolean {
    return false;
  }
  heard(): TicketKeys | null {
    return this.last;
  }
}

function make(turn: Turn | null = null, clock = new FakeClock()) {
  const got: TicketKeys[] = [];
  const state = { isNeeded: true };
  const tickets = new SessionTickets({
    clock,
    turn,
    isNeeded: () => state.isNeeded,
    onKeys: (keys) => void got.push(keys),
  });
  return { clock, got, state, tickets };
}

const keysOf = (clock: FakeClock, agoMs: number, letter = 'A'): TicketKeys => {
  return { madeMs: clock.wallMs() - agoMs, keys: letter.repeat(64) };
};

t.test('alone: made where an address speaks TLS, and changed in time', async (t) => {
  const { clock, got, state, tickets } = make();
  state.isNeeded = false;
  tickets.look();
  tickets.offer(keysOf(clock, 0));
  t.same(got, [], 'no address speaks TLS');
  state.isNeeded = true;
  tickets.look();
  tickets.look();
  t.equal(got.length, 1);
  t.equal(Buffer.from(got[0]!.keys, 'base64').length, 48);
  t.ok(ticketKeysSchema.safeParse(got[0]).success);
  clock.advance(TICKETS_LAST_MS - 1);
  tickets.look();
  t.equal(got.length, 1, 'not a moment before');
  clock.advance(1);
  tickets.look();
  t.equal(got.length, 2);
  t.not(got[1]!.keys, got[0]!.keys);
});

t.test('a new hub goes on with those that workers have', async (t) => {
  const { clock, got, tickets } = make();
  tickets.look();
  tickets.offer(keysOf(clock, TICKETS_LAST_MS, 'B'));
  t.equal(got.length, 1, 'too old');
  tickets.offer(keysOf(clock, -1, 'B'));
  t.equal(got.length, 1, 'newer');
  tickets.offer(keysOf(clock, 1000, 'C'));
  tickets.offer(keysOf(clock, 1000, 'C'));
  t.same(got.slice(1), [keysOf(clock, 1000, 'C')]);
});

t.test('several machines: the keys of the one that makes them', async (t) => {
  const turn = new Turn();
  const { clock, got, tickets } = make(turn);
  turn.last = keysOf(clock, 3_600_000, 'H');
  tickets.look();
  t.same(got, [turn.last], 'those that stand there, from the first look on');
  tickets.offer(keysOf(clock, 7_200_000, 'W'));
  t.equal(got.length, 1, 'not those of its own workers');
  turn.last = keysOf(clock, 0, 'I');
  tickets.look();
  t.same(got[1], turn.last, 'the other machine has changed them');
  clock.advance(TICKETS_LAST_MS);
  tickets.look();
  t.equal(got.length, 2, 'the other machine is late: nothing else is made');
  turn.isOwn = true;
  tickets.look();
  t.equal(got.length, 3, 'its turn: they are due');
  t.same(turn.said.at(-1), got[2], 'and said');
  turn.isOwn = false;
  turn.last = keysOf(clock, 2 * TICKETS_LAST_MS, 'J');
  tickets.look();
  t.equal(got.length, 3, 'said too long ago');
});

t.test('the first machine, and one whose hub is new: said once no others can come', async (t) => {
  const turn = new Turn();
  turn.isOwn = true;
  const { clock, got, tickets } = make(turn);
  tickets.look();
  t.same(turn.said, [], 'workers of the hub before may still come');
  tickets.offer(keysOf(clock, 5000, 'W'));
  tickets.look();
  t.same(turn.said, [got[1]]);

  const first = new Turn();
  first.isOwn = true;
  const alone = make(first);
  alone.tickets.look();
  alone.clock.advance(3000);
  alone.tickets.look();
  t.same(first.said, alone.got);
});

t.test('of another process: exactly 48 bytes', async (t) => {
  for (const length of [60, 63, 65, 68]) {
    t.notOk(ticketKeysSchema.safeParse({ madeMs: 1, keys: 'A'.repeat(length) }).success, `${length} characters`);
  }
  t.notOk(ticketKeysSchema.safeParse({ madeMs: 1, keys: `${'A'.repeat(63)}=` }).success);
  t.ok(ticketKeysSchema.safeParse({ madeMs: 1, keys: 'A'.repeat(64) }).success);
});

t.test('tokens have a key of their own, the same wherever the keys are the same', async (t) => {
  const clock = new FakeClock();
  const [here, there, other] = ['A', 'A', 'B'].map((letter) => {
    const inForce = new TicketKeysInForce();
    t.equal(inForce.tokenKey, null);
    inForce.set(keysOf(clock, 0, letter));
    return inForce;
  }) as [TicketKeysInForce, TicketKeysInForce, TicketKeysInForce];
  t.ok(here.tokenKey!.equals(there.tokenKey!));
  t.notOk(here.tokenKey!.equals(other.tokenKey!));
  t.notOk(here.bytes!.includes(here.tokenKey!));
});
