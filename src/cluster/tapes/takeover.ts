/**
 * Continues a channel's tape at this node: handed over by the former owner with its open segment and its delay line; or, if that owner is lost, taken
 * from the node that has most of it, this one or another.
 */

import type { Duplex } from 'node:stream';
import type { ChannelAudio } from '../../audio/channel-audio.js';
import type { PlayableAudio } from '../../audio/playable-audio.js';
import { numberMarksFrom } from '../../audio/tape/mark.js';
import type { Clock } from '../../base/clock.js';
import type { LinkedAudio } from '../../link/tapes/linked-audio.js';
import { canGoOn, forkedAt, type TapeName, type TapeNames } from '../../link/tapes/tape-names.js';
import { type ReturnedTape, TapeReturns } from '../../link/tapes/tape-returns.js';
import { machineOf } from '../../link/wire/left-alone.js';
import type { Machine } from './tape-client.js';
import type { Purpose } from './tape-server.js';

export interface TakeoverParts {
  readonly clock: Clock;
  readonly names: TapeNames;
  ask(machine: Machine, channel: string, purpose: Purpose, epoch?: number): Promise<Duplex>;
  others(): Promise<readonly Machine[]>;
  /** Maximum length of the part of a tape that is kept. */
  maxLagMs?(): number;
  onError(error: unknown): void;
}

/** The former owner; its URL is '' if there was none. */
export interface FormerOwner extends Machine {
  /** Epoch of this node's lease. */
  readonly epoch: number;
  /** It seems to be unreachable. */
  readonly isLost: boolean;
  /** It has the tape that others play, and is asked again if it does not answer. */
  readonly isThere: boolean;
}

/** Time-out for nodes that may have the tape. */
const OFFERS_MS = 700;
/** Time-out for an owner that seems to be lost. */
const LOST_MS = 200;
/** An owner that has the tape is asked again after RETRY_MS, RETRIES times, for THERE_MS in all. */
const RETRY_MS = 150;
const RETRIES = 8;
const THERE_MS = 3000;
/** Allowance for marks of the former owner that no node has received. */
const MARKS_UNSEEN = 1000;

/**
 * Puts the tape onto the channel's audio here, if any node has one. Never rejects.
 * @param audio that is not fed now @param here the part of the tape at this node @param former null: only that part is used
 */
export async function continueTape(
  audio: ChannelAudio,
  here: LinkedAudio,
  former: FormerOwner | null,
  parts: TakeoverParts,
): Promise<void> {
  const { clock, names, maxLagMs, onError } = parts;
  const make = () =>
    new TapeReturns({
      clock,
      has: (channel) => channel === audio.key,
      isFar: true,
      onError,
      ...(maxLagMs && { maxLagMs }),
    });
  const [whole, most] = [make(), make()];
  try {
    const there = former === null ? undefined : await thereOf(audio.key, former, whole, most, parts);
    const own = ownOf(audio, here, names);
    const isMore = there !== undefined && (there.fed !== null || own === undefined || isBetter(there, own));
    numberMarksFrom(Math.max(whole.lastMark, most.lastMark, here.lastMark) + MARKS_UNSEEN);
    if (isMore) {
      if (audio.tape !== undefined) audio.leave();
      const tape = audio.adopt(there.audio, there.fed?.open);
      names.set(tape, there.fed === null ? forkedAt(there.name, tape.head) : there.name);
      if (there.fed?.delayed != null) audio.adoptDelayed(there.fed.delayed);
    } else if (own !== undefined) {
      if (own.audio !== audio && audio.tape !== undefined) audio.leave();
      names.set(own.audio === audio ? audio.tape! : audio.adopt(here), forkedAt(own.name, own.head));
    }
  } catch (error) {
    onError(error);
  } finally {
    whole.close();
    most.close();
  }
}

/** The tape from another node: whole from the former owner, else from the node that has most of it. */
async function thereOf(
  channel: string,
  former: FormerOwner,
  whole: TapeReturns,
  most: TapeReturns,
  parts: TakeoverParts,
): Promise<ReturnedTape | undefined> {
  const { url, isLost } = former;
  const handing = url === '' ? undefined : handedOver(channel, whole, former, parts);
  const maxMs = isLost ? LOST_MS : THERE_MS;
  return (await Promise.race([handing, pause(maxMs)])) ?? (await mostOf(channel, most, isLost ? url : '', parts));
}

/** The part of the tape at this node. */
interface OwnTape {
  readonly audio: PlayableAudio;
  readonly name: TapeName;
  readonly head: number;
}

/** The part taken from the lost owner; or the part that a new hub has got back from its workers. */
function ownOf(audio: ChannelAudio, here: LinkedAudio, names: TapeNames): OwnTape | undefined {
  const [there, own] = [here, audio].map((one): OwnTape | undefined => {
    const { tape } = one;
    const isThere = tape !== undefined && tape.head > tape.tail;
    return isThere ? { audio: one, name: names.nameOf(tape), head: tape.head } : undefined;
  });
  // The lingering part is older than what was fed here since.
  const isLess =
    there !== undefined && own !== undefined && canGoOn(own.name, there.name, there.head) && there.head <= own.head;
  return isLess ? own : (there ?? own);
}

/** Of one tape the longer part; of two tapes the one here, if it is played here. */
function isBetter({ audio, name }: ReturnedTape, own: OwnTape): boolean {
  const { head } = audio.tape!;
  if (canGoOn(name, own.name, Math.min(head, own.head))) return head > own.head;
  return own.audio.listeners === 0;
}

/** Undefined: the node cannot be reached, or has no tape. */
async function handedOver(
  channel: string,
  returns: TapeReturns,
  former: FormerOwner,
  { ask }: TakeoverParts,
): Promise<ReturnedTape | undefined> {
  const retries = former.isThere ? RETRIES : 0;
  const askOnce = () => ask(former, channel, 'take', former.epoch).catch(() => null);
  let stream = await askOnce();
  // The network to it may recover later than that to Redis.
  for (let i = 0; stream === null && i < retries; i++) stream = (await pause(RETRY_MS)) ?? (await askOnce());
  if (stream === null) return undefined;
  returns.take(stream, machineOf(former.node, stream));
  return (await returns.collect(1)).get(channel);
}

/** Undefined: no other node has any of it. @param lostUrl of a node that is not asked */
async function mostOf(
  channel: string,
  returns: TapeReturns,
  lostUrl: string,
  { ask, others }: TakeoverParts,
): Promise<ReturnedTape | undefined> {
  const machines = (await others().catch(() => [])).filter(({ url }) => url !== lostUrl);
  const streams = await Promise.all(
    machines.map(async (machine) => {
      const asked = ask(machine, channel, 'offer').catch(() => null);
      const stream = await Promise.race([asked, pause(OFFERS_MS)]);
      // It came too late.
      if (stream === null) void asked.then((late) => late?.destroy());
      return stream;
    }),
  );
  const there = streams.filter((stream) => stream !== null);
  for (const [i, stream] of streams.entries())
    if (stream !== null) returns.take(stream, machineOf(machines[i]!.node, stream));
  return there.length === 0 ? undefined : (await returns.collect(there.length)).get(channel);
}

function pause(ms: number): Promise<null> {
  return new Promise((resolve) => setTimeout(() => resolve(null), ms).unref());
}
