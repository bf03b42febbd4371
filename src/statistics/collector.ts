/**
 * Counts the listeners of one process, when a connection begins and ends; the figures are taken once a minute. Nothing happens in between.
 *
 *   join ─► crowds: channel, station, country, player, page; and the title's ─► take() each minute ─► rows
 *
 * Invariants: besides its crowds only a digest of a connection is kept, and nothing once it has ended. A crowd without a connection is dropped when
 * figures are taken, and the number of values of a dimension is bounded (crowds.ts), whatever clients send.
 */

import { setImmediate as breath } from 'node:timers/promises';
import type { Clock } from '../base/clock.js';
import { originOf } from '../base/ip.js';
import type { ListenerRequest } from '../listener/listener-stats.js';
import { playId, type TrackRecord } from '../metadata/record.js';
import { MAX_ENDED } from '../now-playing/state.js';
import type { Countries } from './countries.js';
import { Crowd, type CrowdFigures } from './crowd.js';
import { Crowds } from './crowds.js';
import {
  channelScope,
  DIMENSIONS,
  type Dimension,
  type FigureRow,
  type MinuteFigures,
  startOf,
  stationScope,
  type TitleRow,
} from './figures.js';
import { MinuteTime } from './minute-time.js';
import { pageHost } from './page-host.js';
import { PlayerFamilies } from './player-family.js';
import { type DaySalt, digestOf, saltedToken } from './salts.js';

/** A connection that plays: returned by `join`, passed to `leave`. */
export interface CountedConnection {
  readonly channel: CountedChannel;
  readonly crowds: readonly Crowd[];
  /** Counts the connections of its channel, from 1. */
  readonly number: number;
  readonly digest: string;
  /** The digest with the salt of `dayMs`; -1: none yet. */
  token: number;
  dayMs: number;
}

interface CountedChannel {
  readonly key: string;
  readonly station: string;
  readonly total: Crowd;
  readonly dimensions: Readonly<Record<Dimension, Crowds>>;
  title: { readonly atMs: number; readonly id: string; readonly crowd: Crowd } | null;
  /** The number of the last connection. */
  joined: number;
  /** Previous titles, newest first; they may return. */
  before: readonly BeforeTitle[];
}

/** A previous title: connections up to number `joined` have heard it, later ones are newcomers. */
interface BeforeTitle {
  readonly atMs: number;
  readonly id: string;
  readonly joined: number;
  newcomers: number;
}

/** A clock set back by less than this keeps the present minute. */
const BACK_MS = 120_000;
/** As many titles as may return (MAX_ENDED), with a fallback title before each. */
const MAX_BEFORE = 2 * MAX_ENDED;
/** Connections visited in one go: a millisecond at most. */
const STEP = 500;
/** User agents are compared up to this length, as in listener/listener-stats.ts. */
const AGENT_CHARACTERS = 200;

export class Collector {
  readonly #clock: Clock;
  readonly #countries: Pick<Countries, 'of'>;
  readonly #rows: () => number;
  readonly #players = new PlayerFamilies();
  readonly #channels = new Map<string, CountedChannel>();
  readonly #stations = new Map<string, Crowd>();
  readonly #connections = new Set<CountedConnection>();
  #salts: readonly DaySalt[] = [];
  readonly #time: MinuteTime;
  #minuteMs: number;
  /** Titles that have ended in this minute. */
  #titles: TitleRow[] = [];
  /** Raised to end a walk over all connections. */
  #walk = 0;

  /** @param rows maximum number of values of a dimension */
  constructor(clock: Clock, countries: Pick<Countries, 'of'>, rows: () => number) {
    this.#clock = clock;
    this.#countries = countries;
    this.#rows = rows;
    this.#time = new MinuteTime(clock);
    this.#minuteMs = startOf('minute', clock.wallMs());
  }

  /** The number of connections, for tests. */
  get size(): number {
    return this.#connections.size;
  }

  setSalts(salts: readonly DaySalt[]): void {
    this.#salts = salts;
    void this.#addAll();
  }

  join(channelKey: string, station: string, request: ListenerRequest): CountedConnection {
    const nowMs = this.#clock.now();
    const channel = this.#channelOf(channelKey, station, nowMs);
    const agent = request.header('user-agent') ?? '';
    const values: Readonly<Record<Dimension, string>> = {
      country: this.#countries.of(request.address),
      player: this.#players.of(agent),
      page: pageHost(request.header('referer') ?? request.header('origin') ?? ''),
    };
    const rows = this.#rows();
    const crowds = DIMENSIONS.map((dimension) => channel.dimensions[dimension].of(values[dimension], rows, nowMs));
    const connection: CountedConnection = {
      channel,
      crowds: [channel.total, this.#stationOf(station, nowMs), ...crowds],
      number: ++channel.joined,
      digest: digestOf(`${originOf(request.address)} ${agent.slice(0, AGENT_CHARACTERS)}`),
      token: -1,
      dayMs: 0,
    };
    this.#connections.add(connection);
    for (const crowd of connection.crowds) crowd.join(nowMs);
    channel.title?.crowd.join(nowMs);
    for (const before of channel.before) before.newcomers++;
    this.#addToSketches(connection);
    return connection;
  }

  /** Balances `join`. @param lastedMs since its first audio */
  leave(connection: CountedConnection, lastedMs: number): void {
    if (!this.#connections.delete(connection)) return;
    const nowMs = this.#clock.now();
    // `#addAll` may not have reached it yet.
    this.#addToSketches(connection);
    for (const crowd of connection.crowds) crowd.leave(nowMs, lastedMs);
    const { title, before } = connection.channel;
    title?.crowd.leave(nowMs, lastedMs);
    for (const each of before) if (connection.number > each.joined) each.newcomers--;
  }

  /** Another title is on air, or none: all connections begin to hear it, except those that heard it before. A correction is the same title. */
  onTitle(channelKey: string, station: string, record: TrackRecord | null): void {
    const nowMs = this.#clock.now();
    const channel = this.#channelOf(channelKey, station, nowMs);
    if (isOf(channel.title, record)) return;
    this.#endTitle(channel, nowMs);
    if (record === null) return;
    const { before, total } = channel;
    const begun = before.find((each) => isOf(each, record))?.newcomers ?? total.count;
    const crowd = new Crowd(nowMs, total.count, begun);
    channel.title = { atMs: record.effectAtMs, id: playId(record), crowd };
  }

  /** Called each second. @returns the figures of the minute that has ended; null: it has not */
  takeEnded(): MinuteFigures | null {
    const minuteMs = startOf('minute', this.#time.ms());
    const laterMs = minuteMs - this.#minuteMs;
    if (laterMs === 0 || (laterMs < 0 && laterMs > -BACK_MS)) return null;
    return this.take(minuteMs);
  }

  /** The figures since the last call. @param nextMs the minute that begins */
  take(nextMs = this.#minuteMs): MinuteFigures {
    const nowMs = this.#clock.now();
    const rows: FigureRow[] = [];
    for (const [station, crowd] of this.#stations) {
      rows.push(rowOf(stationScope(station), 'total', '', crowd.take(nowMs)));
    }
    for (const channel of this.#channels.values()) {
      const scope = channelScope(channel.key);
      const total = channel.total.take(nowMs);
      rows.push(rowOf(scope, 'total', '', total));
      for (const dimension of DIMENSIONS) {
        const taken = channel.dimensions[dimension].take(this.#rows(), total.peak, nowMs);
        for (const [value, figures] of taken) rows.push(rowOf(scope, dimension, value, figures));
      }
      this.#takeTitle(channel, nowMs);
    }
    const titles = this.#titles;
    const saltDayMs = this.#salt?.[0] ?? null;
    const figures = { minuteMs: this.#minuteMs, saltDayMs, rows: rows.filter(isSomething), titles };
    this.#titles = [];
    this.#minuteMs = nextMs;
    void this.#addAll();
    return figures;
  }

  get #salt(): DaySalt | undefined {
    const dayMs = startOf('day', this.#minuteMs);
    return this.#salts.find(([day]) => day === dayMs);
  }

  /** Counts it among this minute's listeners. */
  #addToSketches(connection: CountedConnection): void {
    const salt = this.#salt;
    if (salt === undefined) return;
    if (connection.token < 0 || connection.dayMs !== salt[0]) {
      connection.dayMs = salt[0];
      connection.token = saltedToken(salt[1], connection.digest);
    }
    for (const crowd of connection.crowds) crowd.sketch.add(connection.token);
  }

  /** Counts all connections among the listeners of the minute that has begun, a few at a time; `leave` covers those that end meanwhile. */
  async #addAll(): Promise<void> {
    const walk = ++this.#walk;
    let left = STEP;
    for (const connection of this.#connections) {
      this.#addToSketches(connection);
      if (--left > 0) continue;
      left = STEP;
      await breath();
      if (walk !== this.#walk) return;
    }
  }

  #endTitle(channel: CountedChannel, nowMs: number): void {
    this.#takeTitle(channel, nowMs);
    const { title, joined } = channel;
    if (title === null) return;
    const { atMs, id } = title;
    const others = channel.before.filter((each) => each.atMs !== atMs || each.id !== id);
    channel.before = [{ atMs, id, joined, newcomers: 0 }, ...others].slice(0, MAX_BEFORE);
    channel.title = null;
  }

  #takeTitle({ key, title }: CountedChannel, nowMs: number): void {
    if (title === null) return;
    const { begun, listenedMs } = title.crowd.take(nowMs);
    if (begun > 0 || listenedMs > 0) this.#titles.push([key, title.atMs, begun, Math.round(listenedMs)]);
  }

  #channelOf(key: string, station: string, nowMs: number): CountedChannel {
    let channel = this.#channels.get(key);
    if (channel === undefined) {
      const dimensions = { country: new Crowds(), player: new Crowds(), page: new Crowds() };
      channel = { key, station, total: new Crowd(nowMs), dimensions, title: null, joined: 0, before: [] };
      this.#channels.set(key, channel);
    }
    return channel;
  }

  #stationOf(station: string, nowMs: number): Crowd {
    let crowd = this.#stations.get(station);
    if (crowd === undefined) this.#stations.set(station, (crowd = new Crowd(nowMs)));
    return crowd;
  }
}

/** Whether it is the play of this record. */
function isOf(title: { readonly atMs: number; readonly id: string } | null, record: TrackRecord | null): boolean {
  return title !== null && record !== null && title.id === playId(record) && title.atMs === record.effectAtMs;
}

function rowOf(scope: string, dimension: FigureRow[1], value: string, figures: CrowdFigures): FigureRow {
  const { begun, ended, endedMs, listenedMs, peak, sketch } = figures;
  const times = [Math.round(endedMs), Math.round(listenedMs)] as const;
  return [scope, dimension, value, begun, ended, ...times, peak, peak === 0 ? '' : sketch.text];
}

/** Whether there was any connection. */
function isSomething([, , , , , , , peak]: FigureRow): boolean {
  return peak > 0;
}
