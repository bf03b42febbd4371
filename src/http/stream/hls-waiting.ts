/**
 * Requests for HLS that wait: for a first segment, so that no playlist is empty, or for a segment that is cut in another process. Each is answered or
 * refused once: when the segment arrives, when it can no longer arrive, at its time-out, or when the server stops. Owned by hls-routes.ts.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { shuttingDown } from '../../base/refusal.js';
import type { Mount } from '../../channel/mount.js';
import type { ChannelHls } from '../../hls/channel-hls.js';
import type { HlsChannels } from '../../hls/hls-channels.js';
import type { HlsWindow } from '../../hls/window.js';
import type { WaitingRequest, WaitingRequests } from '../waiting-requests.js';
import { noHls, noSegment, notHereYet, RETRY_SECONDS } from './hls-refusals.js';

/** How long a request waits; for a first segment, the duration of a segment is added. */
const WAIT_MORE_MS = 2000;

export class HlsWaiting {
  readonly #channels: HlsChannels;
  readonly #requests: WaitingRequests;
  readonly #refuse: (response: ServerResponse, error: unknown) => void;

  constructor(
    channels: HlsChannels,
    requests: WaitingRequests,
    refuse: (response: ServerResponse, error: unknown) => void,
  ) {
    this.#channels = channels;
    this.#requests = requests;
    this.#refuse = refuse;
  }

  /**
   * Calls `onListed` when there is a segment to list: at once, or after a wait.
   * @param onRefused called after a wait in vain; default: answers the request @throws Refusal if none can come, or too many requests wait
   */
  untilListed(
    mount: Mount,
    { method }: IncomingMessage,
    response: ServerResponse,
    onListed: (window: HlsWindow, channel: ChannelHls) => void,
    onRefused = (error: unknown) => this.#refuse(response, error),
  ): void {
    // A reload may have ended its HLS while the hook was asked.
    const channel = this.#channels.ask(mount);
    if (channel === null) throw noHls();
    const { window } = channel;
    const isListed = () => channel.isWhole && !window.isEmpty;
    if (isListed()) {
      onListed(window, channel);
      return;
    }
    const mayCome = () => !channel.isWhole || (method !== 'HEAD' && (mount.hasAudio || mount.hopeful));
    if (!mayCome()) throw noSegment();
    let isOver = false;
    const held = this.#hold(response, mount.hls!.segmentSeconds * 1000 + WAIT_MORE_MS, () => {
      isOver = true;
      window.leave(reader);
      if (isListed() && !response.destroyed) onListed(window, channel);
      else onRefused(this.#refusal(noSegment));
    });
    const look = () => {
      if (isListed() || !mayCome()) held.end();
      else if (!channel.isWhole && !isOver) void channel.comes().then(look);
    };
    const reader = { onListed: look };
    window.await(reader);
    look();
  }

  /** @param found never rejects @throws Refusal if too many requests wait */
  untilFound<T>(found: Promise<T>, response: ServerResponse, onFound: (what: T) => void): void {
    let answer: (() => void) | null = null;
    const held = this.#hold(response, WAIT_MORE_MS, () => {
      if (response.destroyed) return;
      try {
        if (answer === null) throw this.#refusal(notHereYet);
        answer();
      } catch (error) {
        this.#refuse(response, error);
      }
    });
    void found.then((what) => {
      answer = () => onFound(what);
      held.end();
    });
  }

  /** @param onEnd called once */
  #hold(response: ServerResponse, waitMs: number, onEnd: () => void): WaitingRequest {
    const held = this.#requests.hold(response, waitMs, onEnd);
    if (held === null) throw this.#refusal(noSegment);
    return held;
  }

  #refusal(inTime: () => Error): Error {
    return this.#requests.isClosed ? shuttingDown(RETRY_SECONDS) : inTime();
  }
}
