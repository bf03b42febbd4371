// @ts-check
/** The present state of the channels, by server-sent events, and whether the server answers. */

import { heardMs, noteHeard, urlOf } from './api.js';
import { Events } from './events.js';
import { serverNow } from './time.js';

/** @typedef {import('./api.js').ChannelReport} ChannelReport */
/** @typedef {import('./events.js').LiveState} LiveState */

/** After this time without an event or answer, a request checks whether the server is there: a connection may be lost without notice. */
const QUIET_MS = 8000;
const PROBE_MS = 4000;
const LOOK_MS = 2000;

/** Keeps the channels, in the server's order, and reports changes. */
export class Live {
  channels = /** @type {ChannelReport[]} */ ([]);
  /** The time of its data, once disconnected, unix milliseconds; 0: none yet. */
  asOfMs = 0;
  state = /** @type {LiveState} */ ('connecting');
  #events;
  #onChange;
  #onState;

  /** @param {() => void} onChange @param {(state: LiveState) => void} onState */
  constructor(onChange, onState) {
    this.#onChange = onChange;
    this.#onState = onState;
    const handlers = {
      snapshot: (/** @type {{ channels: ChannelReport[] }} */ { channels }) => {
        this.channels = channels;
        this.#set('live');
        this.#onChange();
      },
      change: (/** @type {{ channels: ChannelReport[], gone: string[] }} */ change) => this.#change(change),
    };
    this.#events = new Events('admin/api/events', handlers, (state) => state === 'live' || this.#set(state));
    setInterval(() => document.hidden || void this.#probe(), LOOK_MS);
  }

  /** @param {LiveState} state */
  #set(state) {
    if (state === 'live') noteHeard();
    else if (this.state === 'live') this.asOfMs = serverNow() - (Date.now() - heardMs());
    this.state = state;
    this.#onState(state);
  }

  /** @param {{ channels: ChannelReport[], gone: string[] }} change */
  #change({ channels, gone }) {
    noteHeard();
    const changed = new Map(channels.map((each) => [each.channel, each]));
    const known = this.channels.filter(({ channel }) => !gone.includes(channel));
    this.channels = known.map((each) => changed.get(each.channel) ?? each);
    const keys = new Set(known.map(({ channel }) => channel));
    for (const each of changed.values()) if (!keys.has(each.channel)) this.channels.push(each);
    this.#onChange();
  }

  /** Reconnects if the server has been silent and does not answer. */
  async #probe() {
    if (this.state !== 'live' || Date.now() - heardMs() < QUIET_MS) return;
    const isThere = await fetch(urlOf('admin/api/self'), { signal: AbortSignal.timeout(PROBE_MS) }).then(
      ({ status }) => status < 500,
      () => false,
    );
    if (isThere) noteHeard();
    else if (this.state === 'live') this.#events.drop();
  }
}
