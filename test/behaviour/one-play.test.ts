/**
 * A play that is one has one id, one row and one line in the report, in whatever order the messages about it come: pushed ahead and at its start, with
 * and without id and time, by playout and encoder, by clocks before and behind ours, with a cover that comes late, as `next` before and after, again
 * after it is over. Two plays on each of many channels of one server, their messages in an order by the seed: all channels end up with the same.
 */

import t, { type Test } from 'tap';
import { Events } from '../kit/events.js';
import { isLong } from '../kit/long.js';
import { pause } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { Random } from '../kit/random.js';
import { DEMO_AUDIO, NODES, startServer, type TestServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { Watching } from '../kit/wire.js';

process.env['ONE_PLAY_PASSWORD'] = 'let me count';
const ADMIN = { Authorization: `Basic ${Buffer.from('ann:let me count').toString('base64')}` };
const ENCODER = { Authorization: `Basic ${Buffer.from('source:demo-source').toString('base64')}` };
const CHANNELS = NODES > 0 ? 6 : isLong ? 40 : 12;
const ROUNDS = isLong ? 25 : 1;
const KEYS = Array.from({ length: CHANNELS }, (_, i) => `c${i}`);
const channelOf = (key: string) =>
  `      ${key}: { bitrateKbps: 128, pushTokens: [demo-token], sources: [{ type: encoder, password: demo-source, titlesWhileAway: true }, { type: file, path: ${DEMO_AUDIO} }] }`;
const YAML = `
addresses: [{ host: 127.0.0.1, port: 0 }]
admin: { users: { ann: { password: 'env:ONE_PLAY_PASSWORD' } } }
stations:
  house:
    channels:
${KEYS.map(channelOf).join('\n')}
`;

/** Between the starts of the two plays, and how long before the first is pushed ahead. */
const [APART_SECONDS, AHEAD_SECONDS] = NODES > 0 ? [6, 4] : [3, 2];
/** A play begins so long after its time at most. */
const LATE_MS = 1500;
/** Within which the messages of one phase are sent. */
const PHASE_MS = 1000;

/** A play, as it is meant. */
interface Play {
  readonly artist: string;
  readonly song: string;
  readonly id: string;
  readonly cover: string;
  readonly isrc: string;
  /** Unix seconds. */
  readonly time: number;
}

type Fields = Record<string, string | number>;
/** A message about a play: the fields of a push, or null for the title of an encoder. */
type Message = readonly [name: string, fields: (play: Play) => Fields | null];

const now = (name: string, fields: (play: Play) => Fields = () => ({})): Message => [name, fields];
const next = (name: string, fields: (play: Play) => Fields = () => ({})): Message => [
  `next ${name}`,
  (play) => ({ ...fields(play), tracktype: 'next' }),
];
const bare = now('bare');
const named = now('with its id', ({ id }) => ({ id }));
const timed = now('with its time', ({ time }) => ({ time }));
const whole = now('with id and time', ({ id, time }) => ({ id, time, duration: 100 }));
const encoded: Message = ['by the encoder', () => null];
/** Before its start. */
const AHEAD = [whole, timed, now('with cover', ({ id, time, cover }) => ({ id, time, cover, duration: 100 }))];
const NEXT_AHEAD = [
  next('bare'),
  next('with its id', ({ id }) => ({ id })),
  next('with its time', ({ time }) => ({ time })),
];
/** It begins with one of them where it was not pushed ahead. */
const FIRST = [bare, named, timed, whole];
/** While it is on air. */
const MEANWHILE = [
  ...[bare, bare, named, timed, whole, whole, encoded, ...NEXT_AHEAD],
  now('30 ms ahead of our clock', () => ({ time: (Date.now() + 30) / 1000 })),
  now('30 ms behind it', () => ({ time: (Date.now() - 30) / 1000 })),
  now('by a clock seconds before ours', ({ id }) => ({ id, time: Date.now() / 1000 + 4 })),
  now('by a clock seconds behind ours', ({ time }) => ({ time: time - 4 })),
];
/** Also when it is over. */
const LATE = [
  now('a late cover', ({ id, time, cover }) => ({ id, time, cover, duration: 100 })),
  now('a late number', ({ time, isrc }) => ({ time, isrc })),
  now('a late duration', ({ id, time }) => ({ id, time, duration: 100 })),
  now('retried', ({ id, time }) => ({ id, time })),
  next('with its time', ({ time }) => ({ time })),
];

async function send({ base }: TestServer, key: string, play: Play, [name, fieldsOf]: Message): Promise<void> {
  const { artist, song } = play;
  const fields = fieldsOf(play);
  const push = `${base}/metapush/${key}/demo-token`;
  const pushed = { artist, song, ...fields };
  const text = (words: object) =>
    new URLSearchParams(Object.entries(words).map(([field, value]): [string, string] => [field, `${value}`]));
  let sent: Promise<Response>;
  if (fields === null) {
    const update = { mount: `/${key}`, mode: 'updinfo', song: `${artist} - ${song}` };
    sent = fetch(`${base}/admin/metadata?${text(update)}`, { headers: ENCODER });
  } else if ('duration' in fields) {
    const headers = { 'Content-Type': 'application/json' };
    sent = fetch(push, { method: 'POST', headers, body: JSON.stringify(pushed) });
  } else sent = fetch(`${push}?${text(pushed)}`);
  const { status } = await sent;
  if (status !== 200) throw new Error(`${name}: ${status}`);
}

function shuffled<T>(random: Random, list: readonly T[]): T[] {
  const left = [...list];
  return list.map(() => left.splice(random.int(0, left.length - 1), 1)[0]!);
}

/** What was sent to a channel, for a failure. */
class Sent {
  readonly names: string[] = [];
  /** The machine stood still: a message came after the start of what was to come behind it. */
  isLate = false;
  readonly #server: TestServer;
  readonly #key: string;
  readonly #random: Random;

  constructor(server: TestServer, key: string, random: Random) {
    this.#server = server;
    this.#key = key;
    this.#random = random;
  }

  /** One after the other, now and then two at once. @param byMs unix milliseconds */
  async all(messages: readonly (readonly [Play, Message])[], byMs: number): Promise<void> {
    const random = this.#random;
    for (let i = 0; i < messages.length; ) {
      const batch = messages.slice(i, (i += random.chance(0.25) ? 2 : 1));
      this.names.push(batch.map(([{ song }, [name]]) => `${song} ${name}`).join(' beside '));
      await Promise.all(batch.map(([play, message]) => send(this.#server, this.#key, play, message)));
      await pause(random.int(0, PHASE_MS / messages.length / 2));
    }
    if (Date.now() > byMs) this.isLate = true;
  }
}

/** Two plays of a channel. */
async function tell(sent: Sent, one: Play, two: Play, random: Random): Promise<void> {
  const some = (messages: readonly Message[], atLeast: number) => {
    const chosen = shuffled(random, messages);
    return chosen.slice(0, random.int(atLeast, chosen.length));
  };
  const of = (play: Play, messages: readonly Message[]) => messages.map((message) => [play, message] as const);
  const [oneMs, twoMs] = [one.time * 1000, two.time * 1000];
  const isOneAhead = random.chance(0.6);
  const twoAheadIn = random.chance(0.3) ? null : random.int(0, 1);
  const twoAhead = of(two, [...some(AHEAD, 1), ...some(NEXT_AHEAD, 0)]);
  // What the play is: each of them comes at some time.
  const [early, late] = [random.chance(0.5) ? LATE : LATE.slice(3), LATE];

  const before = [
    ...of(one, [...(isOneAhead ? some(AHEAD, 1) : []), ...some(NEXT_AHEAD, 0)]),
    ...(twoAheadIn === 0 ? twoAhead : []),
  ];
  await sent.all(shuffled(random, before), oneMs - 100);
  await pause(oneMs - 150 - Date.now());
  // A little before its time, where it was announced.
  const starter = isOneAhead ? [bare, named, encoded][random.int(0, 2)]! : FIRST[random.int(0, FIRST.length - 1)]!;
  if (!isOneAhead) await pause(oneMs + 50 - Date.now());
  if (!isOneAhead || random.chance(0.5)) await sent.all(of(one, [starter]), oneMs + LATE_MS);
  await pause(oneMs + 200 - Date.now());
  const meanwhile = [...of(one, [...some(MEANWHILE, 0), ...early]), ...(twoAheadIn === 1 ? twoAhead : [])];
  await sent.all(shuffled(random, meanwhile), twoMs - 200);

  await pause(twoMs + (twoAheadIn === null ? 50 : random.int(-150, 150)) - Date.now());
  await sent.all(of(two, [twoAheadIn === null ? FIRST[random.int(0, FIRST.length - 1)]! : bare]), twoMs + LATE_MS);
  await pause(twoMs + 200 - Date.now());
  await sent.all(shuffled(random, [...of(two, [...some(MEANWHILE, 0), ...LATE]), ...of(one, late)]), twoMs + 20_000);
}

/** One way in which readers and reports see a channel: the two plays, as they must be at the end whatever came when. */
function described({ artist, song, id, cover, isrc }: Play) {
  return { artist, song, id, cover, isrc, duration: 100, source: 'metapush' };
}
function read(record: Record<string, unknown>) {
  const { artist, song, id, cover, isrc, duration, source } = record;
  return { artist, song, id, cover, isrc, duration, source };
}

/** All that clients read of a channel. */
class Readers {
  readonly watching: Watching;
  readonly events: Events;
  readonly player: Player;
  readonly #base: string;
  readonly #key: string;

  constructor(t: Test, { ws, port, base }: TestServer, key: string) {
    this.#base = base;
    this.#key = key;
    this.watching = new Watching(t, `${ws}/metadata/channel/${key}`);
    this.events = new Events(t, port, `channel/${key}`);
    this.player = new Player(port, `/${key}`);
    t.teardown(() => this.player.socket.destroy());
  }

  async opened(): Promise<void> {
    await Promise.all([
      this.watching.opened(),
      this.events.opened(),
      this.player.until((one) => one.audioBytes > 0, 10_000),
    ]);
  }

  /** Null: they have what is meant. */
  async fault(one: Play, two: Play): Promise<string | null> {
    const got: [string, unknown, unknown][] = [];
    const json = async (path: string) => {
      const answer = await fetch(`${this.#base}/metadata/channel/${this.#key}${path}`);
      return answer.status === 204 ? null : ((await answer.json()) as Record<string, unknown>);
    };
    const wanted = [described(one), described(two)];
    const [polled, following, history] = [
      await json('.json'),
      await json('.json?type=next'),
      await json('/history.json?limit=50'),
    ];
    got.push(['poll', polled && read(polled), wanted[1]], ['next', following, null]);
    const rows = (history as unknown as Record<string, string>[])
      .filter(({ song }) => [one.song, two.song].includes(song!))
      .toReversed();
    got.push(['history', rows.map(read), wanted]);
    const [first, second] = rows;
    if (first !== undefined && second !== undefined) {
      got.push(['the first ends', first['to'], second['from']], ['the second is on air', second['to'], null]);
      for (const [row, { time }] of [
        [first, one],
        [second, two],
      ] as const) {
        const lateMs = Date.parse(row['from']!) - time * 1000;
        if (lateMs < -500 || lateMs > LATE_MS) got.push([`${row['song']} from`, lateMs, 'its time']);
      }
    }
    for (const [name, records] of [
      ['watching', this.watching.records],
      ['events', this.events.seen.map(({ record }) => record)],
    ] as const) {
      const nows = records.filter(({ type, song }) => type === 'now' && [one.song, two.song].includes(song));
      const turns = nows.filter(({ song }, i) => song !== nows[i - 1]?.song);
      got.push([`${name}: turns`, turns.map(({ song }) => song), [one.song, two.song]]);
      got.push([`${name}: at the end`, turns.length === 2 && read(nows.at(-1)), wanted[1]]);
      // Nothing is said twice.
      const texts = nows.map((record) => JSON.stringify(record));
      got.push([`${name}: messages`, new Set(texts).size, texts.length]);
      const unnamed = nows.filter(
        ({ song, id }, i) => song === nows[i - 1]?.song && id !== nows[i - 1].id && ![one.id, two.id].includes(id),
      );
      got.push([`${name}: another id`, unnamed.length, 0]);
    }
    const titles = this.player.titles
      .map(({ title }) => title)
      .filter((title) => title.includes(one.song) || title.includes(two.song))
      // A title that came when its segment was closed may stand in two blocks.
      .filter((title, i, all) => title !== all[i - 1]);
    got.push(['ICY', titles, [`${one.artist} - ${one.song}`, `${two.artist} - ${two.song}`]]);
    const wrong = got.filter(([, is, be]) => JSON.stringify(is) !== JSON.stringify(be));
    return wrong.length === 0
      ? null
      : wrong.map(([name, is, be]) => `${name}: ${JSON.stringify(is)}, not ${JSON.stringify(be)}`).join('\n');
  }
}

async function reportFault({ base }: TestServer, key: string, plays: readonly Play[]): Promise<string | null> {
  const month = new Date(plays[0]!.time * 1000).toISOString().slice(0, 7);
  const answer = await fetch(`${base}/admin/api/statistics/royalty?station=house&channel=${key}&month=${month}`, {
    headers: ADMIN,
  });
  const { plays: all } = (await answer.json()) as { plays: Record<string, string>[] };
  const found = all.filter(({ title }) => plays.some(({ song }) => song === title));
  const is = found.map(({ artist, title, isrc, source }) => [artist, title, isrc, source].join());
  const be = plays.map(({ artist, song, isrc }) => [artist, song, isrc, 'metapush'].join());
  return is.join('\n') === be.join('\n') ? null : `report: ${is.join('; ')}, not ${be.join('; ')}`;
}

t.test('whatever comes when, two plays are two plays', { timeout: 0 }, async (t) => {
  const random = new Random();
  const server = await startServer(t, YAML);
  const readers = KEYS.map((key) => new Readers(t, server, key));
  await Promise.all(readers.map((each) => each.opened()));
  let judged = 0;
  for (let round = 0; round < ROUNDS || (judged === 0 && round < ROUNDS + 3); round++) {
    const time = Math.ceil(Date.now() / 1000) + AHEAD_SECONDS;
    const playsOf = (key: string) => {
      const song = (n: number) => `${key} round ${round} ${n === 1 ? 'one' : 'two'}`;
      const play = (n: number): Play => ({
        artist: n === 1 ? 'Ann' : 'Ben',
        song: song(n),
        id: `${key}-${round}-${n}`,
        cover: `https://x/${n}`,
        isrc: `GBAYE680001${n}`,
        time: time + (n - 1) * APART_SECONDS,
      });
      return [play(1), play(2)] as const;
    };
    const sents = KEYS.map((key) => new Sent(server, key, random));
    await Promise.all(KEYS.map((key, i) => tell(sents[i]!, ...playsOf(key), random)));
    for (const [i, key] of KEYS.entries()) {
      const sent = sents[i]!;
      if (sent.isLate) continue;
      judged++;
      const plays = playsOf(key);
      let fault: string | null = 'not read';
      const isIt = async () => {
        fault = (await readers[i]!.fault(...plays)) ?? (await reportFault(server.one, key, plays));
        return fault === null;
      };
      await until(isIt, 3000, () => `seed ${random.seed}, channel ${key}: ${fault}\nafter\n${sent.names.join('\n')}`);
    }
  }
  t.ok(judged > 0, `${judged} of ${ROUNDS * CHANNELS} channels, seed ${random.seed}`);
});
