/**
 * HLS: the cost of cutting channels; an origin without a cache, with listeners at the same time; a crowd behind the shipped cache. Compared with
 * Liquidsoap's `output.file.hls` behind nginx.
 */

import { type Airsplice, startAirsplice } from '../airsplice.js';
import type { Context, Scenario, Subject } from '../context.js';
import { HlsPlayers } from '../hls-players.js';
import {
  HlsCache,
  type HlsOrigin,
  missingLiquidsoap,
  missingNginx,
  SEGMENT_SECONDS,
  startLiquidsoapHls,
} from '../hls-servers.js';
import { coresOver, judge, loopDelayMs, measure } from '../measure.js';
import { pace } from '../pace.js';
import { stopAll, usage } from '../process.js';
import { Requests } from '../requests.js';
import { Figures } from '../result.js';
import { percentiles, shares } from '../statistics.js';

const [LISTS_PER_SECOND, SEGMENTS_PER_SECOND] = [2000, 500];
const CONNECTIONS = 32;
const ANSWER_SECONDS = 20;
/** Time until a window is full. */
const SETTLED_SECONDS = 50;

export const hls: Scenario = {
  name: 'hls',
  summary:
    '100 channels cut; 2,000 lists and 500 segments a second without a cache, with listeners beside; 1,000 players behind nginx',
  minutes: 12,
  takesUrl: false,
  async run(context: Context) {
    const figures = new Figures();
    const gone = missingNginx();
    if (gone) figures.notes.push(`without the cache: ${gone}`);
    const isPeerHere = context.hasPeer('nginx') && !missingLiquidsoap();
    if (!isPeerHere) figures.notes.push(`without Liquidsoap: ${missingLiquidsoap() || 'not asked for'}`);
    for (const round of context.rounds) {
      for (const subject of context.subjects) {
        context.say(`  round ${round}: ${subject.name}`);
        await cutting(context, figures, subject);
        const server = await origin(context, subject);
        await serving(context, figures, server);
        await beside(context, figures, server);
        if (!gone) await crowd(context, figures, await HlsCache.start(context.folder(), server));
        await stopAll();
      }
      if (!isPeerHere) continue;
      context.say(`  round ${round}: Liquidsoap + nginx`);
      const peer = await startLiquidsoapHls(context.folder());
      await serving(context, figures, peer);
      await crowd(context, figures, peer);
      await stopAll();
    }
    return figures.result(this.name, this.summary);
  },
};

const HLS = { streams: { hls: { enabled: true, segmentSeconds: SEGMENT_SECONDS } } };
type Served = Airsplice & HlsOrigin;

async function origin(context: Context, subject: Subject): Promise<Served> {
  const server = await startAirsplice(subject, { folder: context.folder(), playing: ['bench'], options: HLS });
  await server.server.ready(`http://127.0.0.1:${server.port}/bench/hls/live.m3u8`);
  return { ...server, listPath: '/bench/hls/live.m3u8' };
}

/** The cost of channels whose playlists are requested, minus their cost without requests. */
async function cutting(context: Context, figures: Figures, subject: Subject): Promise<void> {
  const count = context.either(100, 5);
  const keys = Array.from({ length: count }, (_, i) => `c${i}`);
  const server = await startAirsplice(subject, { folder: context.folder(), playing: keys, options: HLS });
  const seconds = context.seconds(20);
  const without = await coresOver(server.pids, seconds);
  const requests = new Requests(server.port, 4);
  // After one request, the channel is cut for ten minutes.
  for (const key of keys) await requests.ask(`GET /${key}/hls/live.m3u8`);
  await coresOver(server.pids, context.either(SETTLED_SECONDS, 2));
  const cut = await coresOver(server.pids, seconds);
  figures.checkedBytes += requests.bytes;
  requests.close();
  const add = (name: string, unit: string, digits: number, value: number) =>
    figures.add({ name, unit, digits, isCompared: false }, subject.name, value);
  add(`${count} channels cut: CPU`, 'cores', 4, cut.cores - without.cores);
  add(`${count} channels cut: memory`, 'MiB', 0, (cut.bytes - without.bytes) / 2 ** 20);
  await stopAll();
}

/** Requests playlists and segments at fixed rates, and compares each answer with the first one of its name. */
async function serving(context: Context, figures: Figures, server: HlsOrigin): Promise<void> {
  const seconds = context.seconds(10);
  const share = context.either(1, 0.05);
  const [lists, segments] = [new Requests(server.port, CONNECTIONS), new Requests(server.port, CONNECTIONS)];
  const folder = server.listPath.slice(0, server.listPath.lastIndexOf('/') + 1);
  const list = await lists.ask(`GET ${server.listPath}`);
  // It stays available during the measurement.
  const name = list.body.trim().split('\n').at(-1)!.trim();
  const segment = await segments.ask(`GET ${folder}${name}`);
  const before = usage(...server.pids).cpuSeconds;
  const began = performance.now();
  await Promise.all([
    pace(LISTS_PER_SECOND * share, LISTS_PER_SECOND * share * seconds, (_, dueAt) =>
      lists.send(`GET ${server.listPath}`, dueAt, ({ status, body }) => status === 200 && body.startsWith('#EXTM3U')),
    ),
    pace(SEGMENTS_PER_SECOND * share, SEGMENTS_PER_SECOND * share * seconds, (_, dueAt) =>
      segments.send(`GET ${folder}${name}`, dueAt, ({ status, body }) => status === 200 && body === segment.body),
    ),
  ]);
  await Promise.all([lists.idle(ANSWER_SECONDS), segments.idle(ANSWER_SECONDS)]);
  const cores = (usage(...server.pids).cpuSeconds - before) / ((performance.now() - began) / 1000);
  const rates = `${LISTS_PER_SECOND * share} lists, ${SEGMENTS_PER_SECOND * share} segments a second`;
  figures.add({ name: `${rates}: CPU`, unit: 'cores', digits: 3 }, server.name, cores);
  for (const [what, requests] of [
    ['list', lists],
    ['segment', segments],
  ] as const) {
    for (const [percent, value] of shares(percentiles(requests.ms)))
      figures.add(
        { name: `${rates}: ${what}, due to answer, ${percent} %`, unit: 'ms', digits: 2 },
        server.name,
        value,
      );
    check(figures, server.name, requests);
    requests.close();
  }
}

/** Listeners of the stream during requests for playlists and segments: checks them, and measures the loop delay. */
async function beside(context: Context, figures: Figures, server: Served): Promise<void> {
  const size = context.either(500, 20);
  for (const isAsked of [false, true]) {
    const stopped = new AbortController();
    const requests = new Requests(server.port, CONNECTIONS);
    const isRight = ({ status }: { status: number }) => status === 200;
    const load = isAsked
      ? pace(
          context.either(LISTS_PER_SECOND, 50),
          1e9,
          (_, dueAt) => requests.send(`GET ${server.listPath}`, dueAt, isRight),
          stopped.signal,
        )
      : Promise.resolve();
    // The metric covers the last minute.
    const plan = { listeners: size, seconds: context.seconds(60), warmSeconds: context.warmSeconds };
    const { crowd: listeners } = await measure(server, plan);
    stopped.abort();
    await load;
    await requests.idle(ANSWER_SECONDS);
    judge(figures, server.name, listeners);
    check(figures, server.name, requests);
    requests.close();
    const delay = (await loopDelayMs(server.metricsUrl)).get('0.99') ?? Number.NaN;
    const what = isAsked ? `${LISTS_PER_SECOND} lists a second beside ${size} listeners` : `${size} listeners alone`;
    figures.add({ name: `${what}: loop delay, 99 %`, unit: 'ms', digits: 1, isCompared: false }, server.name, delay);
  }
}

async function crowd(context: Context, figures: Figures, server: HlsOrigin): Promise<void> {
  const size = context.either(1000, 20);
  const players = new HlsPlayers(server, size);
  const seconds = context.seconds(60);
  if (server instanceof HlsCache) server.asked();
  const before = usage(...server.pids).cpuSeconds;
  const began = performance.now();
  await players.play(seconds, SEGMENT_SECONDS);
  const tookSeconds = (performance.now() - began) / 1000;
  const cores = (usage(...server.pids).cpuSeconds - before) / tookSeconds;
  figures.faults.push(...players.faults.map((fault) => `${server.name}: ${fault}`));
  figures.checkedBytes += players.requests.bytes;
  players.close();
  const add = (name: string, unit: string, digits: number, value: number, isCompared = false) =>
    figures.add({ name, unit, digits, isCompared }, server.name, value);
  add(`${size} players: CPU of cache and origin`, 'cores', 4, cores, true);
  add(`${size} players: requests a second`, '1/s', 0, (players.lists + players.segments) / tookSeconds);
  if (!(server instanceof HlsCache)) return;
  const asked = server.asked();
  const segments = asked.filter((uri) => !uri.endsWith('.m3u8'));
  add('of them lists that the origin was asked for', '1/s', 2, (asked.length - segments.length) / tookSeconds);
  add('segments that it was asked for more than once', '', 0, segments.length - new Set(segments).size);
  add('segments that it was asked for', '', 0, segments.length);
}

function check(figures: Figures, name: string, requests: Requests): void {
  figures.checkedBytes += requests.bytes;
  if (requests.wrong > 0) figures.faults.push(`${name}: ${requests.wrong} wrong: ${requests.firstFault}`);
}
