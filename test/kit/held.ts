/** What this process holds while nobody is connected: the same before and after. */

import { ChannelAudio } from '../../src/audio/channel-audio.js';
import { Channel } from '../../src/channel/channel.js';
import { Listener } from '../../src/listener/cursor/listener.js';
import { Front } from '../../src/net/front/front.js';
import { alive } from './heap.js';

/** Of sockets and timers: what upstreams that are about to close have at any moment. */
const SPARE = 8;
/** Of fronts: the one of before is let go with the next reload of its address. */
const SPARE_FRONTS = 2;

export interface Held {
  readonly sockets: number;
  readonly servers: number;
  readonly timers: number;
  readonly channels: number;
  /** Each has a tape, about a megabyte. */
  readonly audios: number;
  readonly listeners: number;
  readonly fronts: number;
}

/** Sockets and timers of this process, and what of the server's objects its heap still has. */
export function heldNow(): Held {
  const resources = process.getActiveResourcesInfo();
  const count = (kind: string) => resources.filter((each) => each === kind).length;
  return {
    sockets: count('TCPSocketWrap'),
    servers: count('TCPServerWrap'),
    timers: count('Timeout'),
    channels: alive(Channel),
    audios: alive(ChannelAudio),
    listeners: alive(Listener),
    fronts: alive(Front),
  };
}

/** Whether nothing of what came between is left. */
export function isAsBefore(before: Held, after: Held): boolean {
  const most: Held = {
    ...before,
    sockets: before.sockets + SPARE,
    timers: before.timers + SPARE,
    fronts: before.fronts + SPARE_FRONTS,
  };
  return (Object.keys(most) as (keyof Held)[]).every((what) => after[what] <= most[what]);
}
