/**
 * Runs a scene: all its channels, encoders and listeners at the same time, for a while; then compares shown titles with recorded sound. It stops
 * everything that it started, even after a failure.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { ChannelPlan, Scene } from './cases.js';
import { type Change, findChanges } from './changes.js';
import { startChannels } from './channels.js';
import { ChromiumPlayer, type DisplayedTitle, REFERENCE_BAND, type Seen } from './chromium.js';
import { compare, type Goal, type HeardChange, type Mistake, median, numberChanges } from './figures.js';
import { IcyListener } from './icy.js';
import { Link } from './link.js';
import { type NativePlayer, type PlayerName, startPlayer } from './players.js';
import { nowMs, SAMPLE_RATE, Sound, type SoundRecording } from './sound.js';
import { numberOf, type ToneEncoder } from './tone-encoder.js';

/** Before the first listener, encoders run for the longest burst and this time. */
const WARM_SECONDS = 3;
/** Interval of joins, so that they are at different places between two blocks. */
const JOIN_MS = 170;
const ICY_JOINS = 3;
/** Time from a join to the first disturbance, and after a disturbance until playback is steady. */
const STEADY_MS = 6000;
const SETTLE_MS = 1000;
/** The player's lag at a moment is the median within this time. */
const NEAR_MS = 6000;
/** Goal of a title's `position` in the feed, without a player. */
const POSITION: Goal = { medianMs: 20, p95Ms: 60 };
const CHROMIUM_SINK = 'chromium';

export interface CaseResult {
  readonly name: string;
  readonly goal: Goal | undefined;
  readonly mistakes: readonly Mistake[];
  /** The errors minus the player's own lag; null: the lag is unknown. */
  readonly withoutLag: readonly number[] | null;
  /** Whether the server is a peer, which has no goals. */
  readonly isPeer?: true;
  /** Number of titles that were heard but never shown. */
  readonly missing: number;
  /** Number of titles shown again, or after a newer one. */
  readonly repeated: number;
}

export interface SceneResult {
  readonly cases: readonly CaseResult[];
  /** Delays from `currentTime` to the sound; empty without a browser. */
  readonly lagMs: readonly number[];
  readonly faults: readonly string[];
  readonly titles: number;
  /** Number of titles that do not count, since the machine was too busy at their moments. */
  readonly disturbed: number;
}

/** From, to: unix milliseconds. */
type Span = readonly [number, number];

export async function runScene(
  scene: Scene,
  options: { readonly folder: string; readonly seconds: number },
): Promise<SceneResult> {
  const stops: (() => Promise<void> | void)[] = [];
  try {
    return await carryOut(scene, options, stops);
  } finally {
    // A failure must not prevent the other stops.
    for (const stop of stops.reverse()) await Promise.resolve(stop()).catch(() => undefined);
  }
}

async function carryOut(
  { channels }: Scene,
  { folder, seconds }: { readonly folder: string; readonly seconds: number },
  stops: (() => Promise<void> | void)[],
): Promise<SceneResult> {
  const warmSeconds = WARM_SECONDS + Math.max(...channels.map(({ burstSeconds }) => burstSeconds));
  const inAll = warmSeconds + seconds + 20;
  const running = await startChannels(channels, { folder, seconds: inAll, quietSeconds: warmSeconds }, stops);
  const sinkOf = (plan: ChannelPlan, name: PlayerName) => `${name}-${channels.indexOf(plan)}`;
  const playerSinks = channels.flatMap((plan) => (plan.players ?? []).map(({ name }) => sinkOf(plan, name)));
  const hasBrowser = channels.some(({ browser, hls }) => browser !== undefined || hls !== undefined);
  const sinks = [...(hasBrowser ? [CHROMIUM_SINK] : []), ...playerSinks];
  const startMs = nowMs();
  const sound = sinks.length > 0 ? await Sound.start(folder, sinks) : undefined;
  if (sound !== undefined) stops.push(() => sound.stop());
  const recordings = new Map(sinks.map((sink) => [sink, sound!.record(sink)]));
  const chromium = hasBrowser ? await ChromiumPlayer.start(sound!, CHROMIUM_SINK, inAll) : undefined;
  if (chromium !== undefined) stops.push(() => chromium.close());
  await sleep(Math.max(0, warmSeconds * 1000 - (nowMs() - startMs)));

  const troubles = new Map<ChannelPlan, Span[]>();
  const players: { plan: ChannelPlan; name: PlayerName; goal: Goal | undefined; player: NativePlayer }[] = [];
  const icy: { plan: ChannelPlan; listener: IcyListener }[] = [];
  const endMs = nowMs() + seconds * 1000;
  const troubled: Promise<void>[] = [];
  for (const plan of channels) {
    const { key, port, path } = running.get(plan)!;
    for (const { name, goal } of plan.players ?? []) {
      const player = await startPlayer(name, sound!, sinkOf(plan, name), `http://127.0.0.1:${port}${path}`);
      stops.push(() => player.stop());
      players.push({ plan, name, goal, player });
    }
    if (plan.browser !== undefined) {
      const { trouble, linkKbits } = plan.browser;
      const needsLink = trouble?.kind === 'stall' || linkKbits !== undefined;
      const link = needsLink ? await Link.start(port, linkKbits) : undefined;
      if (link !== undefined) stops.push(() => link.stop());
      await chromium!.play({
        name: plan.name,
        port: link?.port ?? port,
        feedPort: port,
        path,
        ...(plan.browser.channelFeed && { channel: key }),
      });
      const spans: Span[] = [];
      troubles.set(plan, spans);
      const doing = makeTrouble(plan, chromium!, link, spans, endMs);
      // Awaited later, when all have joined.
      doing.catch(() => undefined);
      troubled.push(doing);
      await sleep(JOIN_MS);
    }
    if (plan.hls !== undefined) {
      await chromium!.play({ name: plan.name, port, feedPort: port, path, isHls: true });
      await sleep(JOIN_MS);
    }
    for (let i = 0; plan.icy !== undefined && i < ICY_JOINS; i++) {
      icy.push({ plan, listener: new IcyListener({ port, path, hasFeed: plan.isIcecast !== true }) });
      await sleep(JOIN_MS);
    }
  }
  await Promise.all(troubled);
  await sleep(Math.max(0, endMs - nowMs()));
  const seen = await chromium?.end();
  for (const { listener } of icy) listener.close();
  for (const { player } of players) await player.stop();
  for (const { encoder } of running.values()) encoder.stop();
  for (const recording of recordings.values()) await recording.stop();

  const lag = seen === undefined ? [] : lagOf(recordings.get(CHROMIUM_SINK)!, seen);
  const cases: CaseResult[] = [];
  for (const plan of channels) {
    const { encoder } = running.get(plan)!;
    if (plan.browser !== undefined)
      cases.push(...browserCases(plan, encoder, recordings.get(CHROMIUM_SINK)!, seen!, lag, troubles.get(plan)!));
    if (plan.hls !== undefined) cases.push(...hlsCases(plan, encoder, recordings.get(CHROMIUM_SINK)!, seen!, lag));
    for (const { name, goal, player } of players.filter((each) => each.plan === plan))
      cases.push({
        name: plan.isIcecast ? `${name} on Icecast` : name,
        ...(plan.isIcecast && { isPeer: true }),
        goal,
        withoutLag: null,
        ...against(player.displayed, recordings.get(sinkOf(plan, name))!, encoder),
      });
  }
  return {
    cases: [...cases, ...(await icyCases(icy, running))],
    lagMs: lag.map(({ errorMs }) => errorMs),
    titles: sum([...running.values()].map(({ encoder }) => encoder.enteredMs.length)),
    disturbed: sum([...running.values()].map(({ encoder }) => encoder.disturbed.size)),
    faults: [...running.values()].flatMap(({ encoder }) => encoder.faults),
  };
}

async function makeTrouble(
  { name, browser }: ChannelPlan,
  chromium: ChromiumPlayer,
  link: Link | undefined,
  spans: Span[],
  endMs: number,
): Promise<void> {
  const trouble = browser?.trouble;
  if (trouble === undefined) return;
  const { kind, everyMs, forMs } = trouble;
  for (let waitMs = STEADY_MS; nowMs() + waitMs + forMs + SETTLE_MS < endMs; waitMs = everyMs - forMs) {
    await sleep(waitMs);
    const fromMs = nowMs();
    if (kind === 'stall') link!.stall();
    else await chromium.pause(name);
    await sleep(forMs);
    if (kind === 'stall') link!.go();
    else await chromium.resume(name);
    spans.push([fromMs, nowMs() + SETTLE_MS]);
  }
}

function soundOf(recording: SoundRecording, band: number): (Change & { readonly ms: number })[] {
  return findChanges(recording.pcm, SAMPLE_RATE, band).map((one) => ({ ...one, ms: recording.momentOf(one.at) }));
}

function against(displayed: readonly DisplayedTitle[], recording: SoundRecording, encoder: ToneEncoder) {
  return compare(displayed, numberChanges(soundOf(recording, encoder.file.band), encoder.enteredMs), encoder.disturbed);
}

/** The player's lag from the reference: when `currentTime` passed a change, minus when it was heard. */
function lagOf(recording: SoundRecording, { passed }: Seen): Mistake[] {
  const heard = numberChanges(soundOf(recording, REFERENCE_BAND), [passed[0]!, ...passed]);
  return heard.flatMap(({ number, ms }) => (number === 0 ? [] : [{ number, ms, errorMs: passed[number - 1]! - ms }]));
}

function browserCases(
  plan: ChannelPlan,
  encoder: ToneEncoder,
  recording: SoundRecording,
  seen: Seen,
  lag: readonly Mistake[],
  spans: readonly Span[],
): CaseResult[] {
  const { wire, audio, channel } = seen.listeners.find(({ name }) => name === plan.name)!;
  const heard = numberChanges(soundOf(recording, encoder.file.band), encoder.enteredMs);
  const result = browserResult(plan, encoder, lag);
  // `sync=audio` promises nothing while a player is stalled or paused, since it is not in real time.
  const steady = heard.filter(({ ms }) => !spans.some(([from, to]) => ms >= from && ms <= to));
  return [
    ...(plan.browser!.wire === undefined ? [] : [result('wire + clock', plan.browser!.wire, wire, heard)]),
    ...(plan.browser!.audio === undefined ? [] : [result('sync=audio', plan.browser!.audio, audio, steady)]),
    ...(plan.browser!.channelFeed ? [result('channel feed', undefined, channel, heard)] : []),
  ];
}

/** Compares the titles of a listener in the browser with its sound. */
function browserResult({ name }: ChannelPlan, encoder: ToneEncoder, lag: readonly Mistake[]) {
  const lagAt = (ms: number) =>
    median(lag.filter((each) => Math.abs(each.ms - ms) < NEAR_MS).map(({ errorMs }) => errorMs));
  return (
    how: string,
    goal: Goal | undefined,
    displayed: readonly DisplayedTitle[],
    sounds: readonly HeardChange[],
  ): CaseResult => {
    const { mistakes, missing, repeated } = compare(displayed, sounds, encoder.disturbed);
    const withoutLag = mistakes.map(({ ms, errorMs }) => errorMs - lagAt(ms));
    return { name: `${name}: ${how}`, goal, mistakes, withoutLag, missing, repeated };
  };
}

function hlsCases(
  plan: ChannelPlan,
  encoder: ToneEncoder,
  recording: SoundRecording,
  seen: Seen,
  lag: readonly Mistake[],
): CaseResult[] {
  const { date, cue } = seen.listeners.find(({ name }) => name === plan.name)!;
  const heard = numberChanges(soundOf(recording, encoder.file.band), encoder.enteredMs);
  const result = browserResult(plan, encoder, lag);
  const { untilDisplayed, ...goals } = plan.hls!;
  const behind = date.flatMap(({ song, ms }) => {
    const enteredMs = encoder.enteredMs[numberOf(song)];
    const isDisturbed = enteredMs === undefined || encoder.disturbed.has(numberOf(song));
    return isDisturbed ? [] : [{ number: numberOf(song), ms, errorMs: ms - enteredMs }];
  });
  // The listener joined in the middle of the first title.
  const pushed = { mistakes: behind.slice(1), withoutLag: null, missing: 0, repeated: 0 };
  return [
    result('title by date', goals.date, date, heard),
    ...(goals.cue === undefined ? [] : [result('ID3', goals.cue, cue, heard)]),
    ...(untilDisplayed === undefined
      ? []
      : [{ name: `${plan.name}: push to display`, goal: untilDisplayed, ...pushed }]),
  ];
}

async function icyCases(
  listeners: readonly { readonly plan: ChannelPlan; readonly listener: IcyListener }[],
  running: ReadonlyMap<ChannelPlan, { readonly encoder: ToneEncoder }>,
): Promise<CaseResult[]> {
  const groups = new Map<
    string,
    Pick<ChannelPlan, 'isIcecast'> & { goal: Goal | undefined; blocks: Mistake[]; positions: Mistake[] }
  >();
  for (const { plan, listener } of listeners) {
    const { group, goal } = plan.icy!;
    if (!groups.has(group)) groups.set(group, { ...plan, goal, blocks: [], positions: [] });
    const { encoder } = running.get(plan)!;
    const { blocks, positions } = await listener.mistakes(encoder);
    groups.get(group)!.blocks.push(...blocks);
    groups.get(group)!.positions.push(...positions);
  }
  return [...groups].flatMap(([name, { goal, blocks, positions, isIcecast }]) => [
    {
      name,
      ...(isIcecast && { isPeer: isIcecast }),
      goal,
      mistakes: blocks,
      withoutLag: null,
      missing: 0,
      repeated: 0,
    },
    ...(positions.length === 0
      ? []
      : [
          {
            name: name.replace('ICY', 'position'),
            goal: POSITION,
            mistakes: positions,
            withoutLag: null,
            missing: 0,
            repeated: 0,
          },
        ]),
  ]);
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}
