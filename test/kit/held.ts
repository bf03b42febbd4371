/** Resources of this process without clients, which must be the same before and after a test. */

import { ChannelAudio } from '../../src/audio/channel-audio.js';
import { Channel } from '../../src/channel/channel.js';
import { Listener } from '../../src/listener/cursor/listener.js';
import { Front } from '../../src/net/front/front.js';
import { alive } from './heap.js';

/** Tolerance of sockets and timers, for upstreams that are about to close. */
const SPARE = 8;
/** Tolerance of fronts: the next reload of its address releases the previous one. */
const SPARE_FRONTS = 2;

export interface Held {
  readonly sockets: number;
  readonly servers: number;
  readonly timers: number;
  readonly channels: number;
  /** Number of channel audios; each has a tape of about a megabyte. */
  readonly audios: number;
  readonly listeners: number;
  readonly fronts: number;
}

/** Sockets and timers of this process, and the server's objects in its heap. */
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

/** Whether nothing is left of what happened between. */
export function isAsBefore(before: Held, after: Held): boolean {
  const most: Held = {
    ...before,
    sockets: before.sockets + SPARE,
    timers: before.timers + SPARE,
    fronts: before.fronts + SPARE_FRONTS,
  };
  return (Object.keys(most) as (keyof Held)[]).every((what) => after[what] <= most[what]);
}
