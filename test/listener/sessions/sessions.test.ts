/** Written and heard: when a listener's own titles are published, by a clock that the test moves. */

import t from 'tap';
import { Mark } from '../../../src/audio/tape/mark.js';
import type { Session } from '../../../src/listener/sessions/session.js';
import { Sessions } from '../../../src/listener/sessions/sessions.js';
import { FakeClock } from '../../kit/clock.js';
import { viewOf } from '../../kit/record.js';

interface Line {
  readonly what: 'written' | 'heard';
  readonly title: string;
  readonly positionMs: number;
  readonly atMs: number;
  readonly session: string;
}

function setUp(options = { keepMs: 60_000, max: 3 }) {
  const clock = new FakeClock(0);
  const lines: Line[] = [];
  const began: string[] = [];
  const note = (what: Line['what']) => (session: Session, title: Session['lastHeard'] & object) =>
    lines.push({ what, title: title.view.title, positionMs: title.positionMs, atMs: clock.now(), session: session.id });
  const sessions = new Sessions(
    clock,
    { onBegan: (session) => began.push(session.mount), onWritten: note('written'), onHeard: note('heard') },
    options,
  );
  const titlesOf = (what: Line['what']) =>
    lines.filter((line) => line.what === what).map((line) => [line.title, line.positionMs, line.atMs]);
  return { clock, sessions, lines, titlesOf, began };
}

const A = new Mark(viewOf('A', { version: 1 }));
const B = new Mark(viewOf('B', { version: 2 }));
const C = new Mark(viewOf('C', { version: 3 }));

t.test('the title in force at the first byte is published at once, with position 0', async (t) => {
  const { sessions, clock, titlesOf } = setUp();
  const session = sessions.open({ metaid: 'm', channel: 'demo', mount: '/demo.mp3' });
  session.player.begin(clock.now());
  session.begin(0, A, clock.now());
  session.player.write(1000, 16_000, clock.now());
  t.same(titlesOf('heard'), [['A', 0, 0]]);
  t.same(titlesOf('written'), [['A', 0, 0]]);
  clock.advance(5000);
  t.equal(titlesOf('heard').length, 1, 'and once only');
  const record = JSON.parse(session.json(session.lastHeard!));
  t.match(record, { rawdata: 'A', position: '0', session: session.id, mount: '/demo.mp3' });
});

t.test('a title in the burst is written at once and heard at its position', async (t) => {
  const { sessions, clock, titlesOf } = setUp();
  const session = sessions.open({ metaid: 'm', channel: 'demo', mount: '/demo.mp3' });
  session.player.begin(0);
  session.begin(0, A, 0);
  for (let second = 1; second <= 5; second++) {
    session.player.write(second * 1000, 16_000, 0);
    if (second === 4) session.written(B, 3000, 0);
  }
  t.same(titlesOf('written'), [
    ['A', 0, 0],
    ['B', 3000, 0],
  ]);
  t.same(titlesOf('heard'), [['A', 0, 0]]);
  clock.advance(2980);
  t.equal(titlesOf('heard').length, 1, 'not before its place');
  t.equal(session.lastHeard?.view.title, 'A');
  t.equal(session.lastWritten?.view.title, 'B');
  clock.advance(40);
  const [, b] = titlesOf('heard');
  t.same(b?.slice(0, 2), ['B', 3000]);
  t.ok(Number(b?.[2]) >= 3000 && Number(b?.[2]) <= 3040, `heard at ${b?.[2]}`);
});

t.test('where the title changes within the first segment, both are written and heard, each at its place', async (t) => {
  const { sessions, clock, titlesOf } = setUp();
  const session = sessions.open({ metaid: 'm', channel: 'demo', mount: '/x' });
  session.player.begin(0);
  session.begin(0, A, 0);
  session.player.write(1000, 16_000, 0);
  session.written(B, 412.5, 0);
  clock.advance(400);
  t.same(titlesOf('heard'), [['A', 0, 0]], 'not before its place');
  clock.advance(40);
  t.same(titlesOf('written'), [
    ['A', 0, 0],
    ['B', 412.5, 0],
  ]);
  t.same(
    titlesOf('heard').map((row) => row.slice(0, 2)),
    [
      ['A', 0],
      ['B', 412.5],
    ],
  );
});

t.test(
  'a connection that goes on elsewhere: what it had ahead is heard first; session and position go on',
  async (t) => {
    const { sessions, clock, titlesOf, lines, began } = setUp();
    const session = sessions.open({ metaid: 'm', channel: 'demo', mount: '/demo' });
    session.player.begin(0);
    session.begin(0, A, 0);
    session.player.write(5000, 80_000, 0);
    session.written(B, 3000, 0);
    clock.advance(1000);
    sessions.move(session, 'other', '/other');
    t.same([...sessions.onChannel('demo')], []);
    t.same([...sessions.onChannel('other')], [session]);
    t.same(began, ['/demo', '/other'], 'what follows there is said');
    session.player.write(6000, 16_000, clock.now());
    // Its own times and order.
    session.begin(70_000, C, clock.now(), 5000);
    t.same(titlesOf('written').at(-1), ['C', 5000, 1000]);
    t.equal(session.lastHeard?.view.title, 'A', 'a poll gets what is heard');
    clock.advance(1960);
    t.equal(session.lastHeard?.view.title, 'A');
    clock.advance(80);
    t.equal(session.lastHeard?.view.title, 'B', 'of the former tape');
    t.match(JSON.parse(session.json(session.lastHeard!)), { mount: '/demo', position: '3000' });
    clock.advance(1920);
    t.equal(session.lastHeard?.view.title, 'B', 'not before its place');
    clock.advance(80);
    t.match(JSON.parse(session.json(session.lastHeard!)), { rawdata: 'C', mount: '/other', position: '5000' });
    t.equal(new Set(lines.map((line) => line.session)).size, 1);
  },
);

t.test('a tape that begins with the title that was sent already says nothing', async (t) => {
  const { sessions, clock, titlesOf } = setUp();
  const session = sessions.open({ metaid: 'm', channel: 'demo', mount: '/demo' });
  session.player.begin(0);
  session.begin(0, A, 0);
  session.player.write(5000, 80_000, 0);
  sessions.move(session, 'demo', '/demo');
  session.begin(0, new Mark(viewOf('A', { version: 1 })), 0, 5000);
  session.player.write(9000, 64_000, 0);
  session.written(new Mark(viewOf('B', { version: 2 })), 2000, 0);
  clock.advance(8000);
  t.same(
    titlesOf('heard').map(([title, positionMs]) => [title, positionMs]),
    [
      ['A', 0],
      ['B', 7000],
    ],
  );
});

t.test('two titles that come late are given once each, also where the segment behind carries both', async (t) => {
  const { sessions, titlesOf } = setUp();
  const session = sessions.open({ metaid: 'm', channel: 'demo', mount: '/x' });
  session.player.begin(0);
  session.begin(0, A, 0);
  session.player.write(5000, 80_000, 0);
  session.late({ before: A, mark: B, atMs: 3000 }, 100);
  session.late({ before: B, mark: C, atMs: 4000 }, 200);
  session.player.write(6000, 16_000, 300);
  session.written(B, 3000, 300);
  session.written(C, 4000, 300);
  t.same(
    titlesOf('written').map(([title]) => title),
    ['A', 'B', 'C'],
  );
});

t.test('a block that is written late moves the start: the player has stalled', async (t) => {
  const { sessions, clock, titlesOf } = setUp();
  const session = sessions.open({ metaid: 'm', channel: 'demo', mount: '/x' });
  session.player.begin(0);
  session.begin(0, A, 0);
  session.player.write(1000, 16_000, 0);
  clock.advance(4000);
  session.player.write(2000, 16_000, clock.now());
  session.player.write(3000, 16_000, clock.now());
  session.written(B, 3000, clock.now());
  clock.advance(1960);
  t.equal(titlesOf('heard').length, 1, 'two seconds after what the player had had, not at once');
  clock.advance(60);
  const [, b] = titlesOf('heard');
  t.ok(Number(b?.[2]) >= 6000 && Number(b?.[2]) <= 6040, `heard at ${b?.[2]}`);
});

t.test('a stall while titles are held holds them longer', async (t) => {
  const { sessions, clock, titlesOf } = setUp();
  const session = sessions.open({ metaid: 'm', channel: 'demo', mount: '/x' });
  session.player.begin(0);
  session.begin(0, A, 0);
  for (let second = 1; second <= 5; second++) session.player.write(second * 1000, 16_000, 0);
  session.written(B, 5000, 0);
  clock.advance(4900);
  // Nothing was written for long: at 8 s the player has had 5 s to play, so the start is now at 3 s.
  session.player.write(6000, 16_000, 8000);
  clock.advance(3000);
  t.equal(titlesOf('heard').length, 1);
  clock.advance(200);
  t.equal(titlesOf('heard').length, 2);
});

t.test('titles are never published before they are written, and never twice', async (t) => {
  const { sessions, clock, lines } = setUp();
  const session = sessions.open({ metaid: 'm', channel: 'demo', mount: '/x' });
  session.player.begin(0);
  session.begin(0, null, 0);
  const marks = [A, B, C];
  for (let second = 1; second <= 30; second++) {
    const mark = marks[Math.floor((second - 1) / 10)]!;
    session.player.write(second * 1000, 16_000, clock.now());
    if (second % 10 === 1) session.written(mark, second * 1000, clock.now());
    clock.advance(1000);
  }
  const order = lines.map((line) => `${line.what} ${line.title}`);
  t.same(order, ['written A', 'heard A', 'written B', 'heard B', 'written C', 'heard C']);
});

t.test('nothing is published after the stream has ended, and the session is kept for a while', async (t) => {
  const { sessions, clock, titlesOf } = setUp({ keepMs: 2000, max: 3 });
  const session = sessions.open({ metaid: 'm', channel: 'demo', mount: '/x' });
  session.player.begin(0);
  session.begin(0, A, 0);
  session.written(B, 5000, 0);
  clock.advance(20);
  sessions.close(session);
  t.equal(sessions.playing('m'), undefined);
  clock.advance(1960);
  t.equal(titlesOf('heard').length, 1, 'B was never heard');
  t.equal(sessions.get('m')?.lastHeard?.view.title, 'A');
  clock.advance(60);
  sessions.purge();
  t.equal(sessions.get('m'), undefined);
});

t.test('of gone sessions at most `max` are kept', async (t) => {
  const { sessions } = setUp({ keepMs: 60_000, max: 3 });
  for (const metaid of ['a', 'b', 'c', 'd']) sessions.close(sessions.open({ metaid, channel: 'demo', mount: '/x' }));
  t.equal(sessions.get('a'), undefined);
  for (const metaid of ['b', 'c', 'd']) t.ok(sessions.get(metaid));
});

t.test('of several connections with one metaid the newest still playing is current', async (t) => {
  const { sessions, clock, lines } = setUp();
  const old = sessions.open({ metaid: 'm', channel: 'demo', mount: '/old' });
  old.player.begin(0);
  old.begin(0, A, 0);
  const young = sessions.open({ metaid: 'm', channel: 'demo', mount: '/young' });
  young.player.begin(0);
  young.begin(0, B, 0);
  t.equal(sessions.get('m'), young);
  t.same([...sessions.onChannel('demo')], [young]);
  lines.length = 0;
  old.player.write(2000, 16_000, clock.now());
  old.written(C, 2000, clock.now());
  clock.advance(3000);
  t.same(lines, [], 'the older one is silent');
  sessions.close(young);
  t.same(
    lines.map((line) => [line.what, line.title, line.session]),
    [
      ['written', 'C', old.id],
      ['heard', 'C', old.id],
    ],
    'and speaks again when the younger has gone',
  );
  t.equal(sessions.get('m'), old);
  sessions.close(old);
  t.equal(sessions.count, 0);
  t.same([...sessions.onChannel('demo')], []);
});

t.test('a switch back repeats no record that was published last', async (t) => {
  const { sessions, lines, began } = setUp();
  const old = sessions.open({ metaid: 'm', channel: 'demo', mount: '/old' });
  old.player.begin(0);
  old.begin(0, A, 0);
  const young = sessions.open({ metaid: 'm', channel: 'demo', mount: '/young' });
  young.player.begin(0);
  young.begin(0, A, 0);
  t.same(began, ['/old', '/young'], 'each beginning is reported');
  lines.length = 0;
  sessions.close(young);
  t.same(lines, [], 'the older one says nothing new');
});

t.test('a switch back to another channel begins anew, for its following track', async (t) => {
  const { sessions, began } = setUp();
  const old = sessions.open({ metaid: 'm', channel: 'demo', mount: '/old' });
  const young = sessions.open({ metaid: 'm', channel: 'other', mount: '/young' });
  sessions.close(young);
  t.same(began, ['/old', '/young', '/old']);
  t.same([[...sessions.onChannel('demo')], [...sessions.onChannel('other')]], [[old], []]);
});
