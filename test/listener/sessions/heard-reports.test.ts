/** Reports of players and the sessions that they correct, by a clock that the test moves. By POST: test/http/heard-route.test.ts. */

import t from 'tap';
import { Mark } from '../../../src/audio/tape/mark.js';
import { HeardReports } from '../../../src/listener/sessions/heard-reports.js';
import { Sessions } from '../../../src/listener/sessions/sessions.js';
import { FakeClock } from '../../kit/clock.js';
import { viewOf } from '../../kit/record.js';

/** A session that was sent 30 s, with titles A at 0, B at 10 s, C at 20 s. */
function setUp() {
  const clock = new FakeClock(0);
  const heard: [string, number][] = [];
  const sessions = new Sessions(
    clock,
    {
      onBegan: () => undefined,
      onWritten: () => undefined,
      onHeard: (_, { view }) => heard.push([view.title, clock.now()]),
    },
    { keepMs: 60_000, max: 3 },
  );
  const open = () => {
    const session = sessions.open({ metaid: 'm', channel: 'demo', mount: '/x' });
    session.player.begin(clock.now());
    session.player.write(30_000, 480_000, clock.now());
    session.begin(0, new Mark(viewOf('A', { version: 1 })), clock.now());
    session.written(new Mark(viewOf('B', { version: 2 })), 10_000, clock.now());
    session.written(new Mark(viewOf('C', { version: 3 })), 20_000, clock.now());
    return session;
  };
  const reports = new HeardReports(sessions, clock, () => 1000);
  const take = (report: unknown, metaid = 'm') => reports.take(metaid, Buffer.from(JSON.stringify(report)));
  return { clock, heard, sessions, open, reports, take };
}

t.test('forwards, what is due goes out at once, in order', async (t) => {
  const { open, take, heard } = setUp();
  open();
  t.equal(take({ heardMs: 25_000 }), 'taken');
  t.same(heard, [
    ['A', 0],
    ['B', 0],
    ['C', 0],
  ]);
});

t.test('backwards, what waits does so longer, and what was sent is not repeated', async (t) => {
  const { open, take, heard, clock } = setUp();
  open();
  clock.advance(10_400);
  t.same(heard.at(-1), ['B', 10_000]);
  for (let seconds = 0; seconds < 30; seconds++) {
    t.equal(take({ heardMs: 9000 }), 'taken', 'it pauses');
    clock.advance(1000);
  }
  t.equal(heard.length, 2);
  t.equal(take({ heardMs: 19_000 }), 'taken');
  clock.advance(960);
  t.equal(heard.length, 2);
  clock.advance(80);
  t.same(
    heard.slice(2).map(([title]) => title),
    ['C'],
  );
});

t.test('two at once, then one a second; one that is not taken counts too', async (t) => {
  const { open, take, clock, reports } = setUp();
  open();
  t.same([take({ heardMs: 0 }), take({}), take({ heardMs: 0 })], ['taken', 'malformed', 'too-often']);
  clock.advance(999);
  t.equal(take({ heardMs: 0 }), 'too-often');
  clock.advance(1);
  t.equal(take({ heardMs: 0 }), 'taken');
  t.equal(take({ heardMs: 0 }), 'too-often');
  clock.advance(60_000);
  t.same([take({ heardMs: 0 }), take({ heardMs: 0 }), take({ heardMs: 0 })], ['taken', 'taken', 'too-often']);
  t.match(reports.counts, { taken: 4, malformed: 1, 'too-often': 4 });
});

t.test('it is about the session that plays, or the one that it names', async (t) => {
  const { open, take, sessions, heard } = setUp();
  t.equal(take({ heardMs: 0 }), 'not-playing');
  const former = open();
  const session = open();
  t.equal(take({ heardMs: 25_000, session: former.id }), 'former');
  t.equal(take({ heardMs: 25_000, session: session.id }), 'taken');
  t.equal(former.player.positionAt(0), 0, 'its other connections go on as before');
  t.same(
    heard.map(([title]) => title),
    ['A', 'A', 'B', 'C'],
  );
  sessions.close(session);
  t.equal(take({ heardMs: 1, session: session.id }), 'former');
  sessions.close(former);
  t.equal(take({ heardMs: 1 }), 'not-playing');
});

t.test('by date: of HLS only, within what was listed; one place in a report, and a date that is one', async (t) => {
  const { open, take, heard, sessions, clock } = setUp();
  open();
  const zeroMs = Date.UTC(2026, 10, 27, 1, 12, 30);
  const at = (ms: number) => new Date(zeroMs + ms).toISOString();
  t.equal(take({ heardAt: at(1000) }), 'impossible', 'a stream has no dates');
  const dated = sessions.open({ metaid: 'hls', channel: 'demo', mount: '/x', isDated: true });
  dated.player.begin(clock.now());
  const takeDated = (heardAt: unknown, more = {}) => {
    clock.advance(1000);
    return take({ heardAt, ...more }, 'hls');
  };
  t.equal(takeDated(at(0)), 'impossible', 'it was sent no titles yet');
  dated.player.write(12_000, 1, clock.now());
  dated.begin(zeroMs, new Mark(viewOf('A', { version: 4 })), clock.now());
  dated.written(new Mark(viewOf('B', { version: 5 })), zeroMs + 5000, clock.now());
  heard.length = 0;
  t.equal(takeDated(at(5000)), 'taken');
  t.match(heard, [['B', clock.now()]]);
  t.equal(takeDated(at(-30_000)), 'taken', 'before its first place');
  t.equal(dated.player.positionAt(clock.now()), 0);
  for (const heardAt of [at(12_001), at(-1_200_001), '1970-01-01T00:00:00Z', '9999-12-31T23:59:59Z'])
    t.equal(takeDated(heardAt), 'impossible', heardAt);
  t.equal(takeDated('2026-11-27T02:12:31+01:00'), 'taken', 'in another zone');
  t.equal(dated.player.positionAt(clock.now()), 1000);
  const wrong = [
    0,
    null,
    '',
    'yesterday',
    '2026-11-27',
    '2026-13-27T01:12:30Z',
    '2026-11-27T01:12:30',
    `${at(0)} `,
    {},
  ];
  for (const heardAt of wrong) t.equal(takeDated(heardAt), 'malformed', JSON.stringify(heardAt));
  t.equal(takeDated(at(1000), { heardMs: 1000 }), 'malformed', 'two places');
  t.equal(takeDated(at(1000), { session: dated.id }), 'taken');
  t.equal(takeDated(at(1000), { session: 'x' }), 'former');
  clock.advance(1000);
  t.equal(take({ heardMs: 2000 }, 'hls'), 'taken', 'from its first place on');
});

t.test('a title that comes late on the tape is none of who goes by dates', async (t) => {
  const { sessions, clock, heard } = setUp();
  const dated = sessions.open({ metaid: 'hls', channel: 'demo', mount: '/x', isDated: true });
  const first = new Mark(viewOf('A', { version: 6 }));
  dated.player.begin(clock.now());
  dated.player.write(12_000, 1, clock.now());
  dated.begin(1_795_000_000_000, first, clock.now());
  sessions.late('demo', { before: first, mark: new Mark(viewOf('late', { version: 7 })), atMs: 10 });
  t.strictSame(
    heard.map(([title]) => title),
    ['A'],
  );
});
