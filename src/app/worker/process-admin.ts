/**
 * The operator's view and actions in one process that clients reach: its listeners, sessions and watchers, its refusals and log. State that all
 * processes share (blocks, made tokens, fallbacks) arrives here and is passed to the parts that apply it. Runs only on request.
 */

import { masked, NO_ADMIN_STATE } from '../../admin/admin-queries.js';
import type { AdminState, ListenerFilter, ProcessQuestion, ProcessQuestions } from '../../admin/admin-schema.js';
import type { CrowdReport, ListenerReport, RefusalReport, SessionReport, WatcherReport } from '../../admin/rows.js';
import { AddressList } from '../../base/ip.js';
import type { KeptLog } from '../../base/kept-log.js';
import type { RefusalLog } from '../../base/refusal-log.js';
import type { AdminLogins } from '../../http/admin/admin-logins.js';
import type { Fallbacks } from '../../http/stream/fallbacks.js';
import type { Watchers } from '../../http/watch/watchers.js';
import { sharedMs } from '../../link/facts/shared-time.js';
import type { Audience } from '../../listener/cursor/audience.js';
import type { Listener } from '../../listener/cursor/listener.js';
import type { Playback } from '../../listener/cursor/playback.js';
import type { HlsListener } from '../../listener/hls/hls-listener.js';
import type { HlsListeners } from '../../listener/hls/hls-listeners.js';
import type { HeardTitle } from '../../listener/sessions/session.js';
import type { Sessions } from '../../listener/sessions/sessions.js';
import type { Blocks } from '../../net/limits/blocks.js';
import type { MadeTokens } from '../../titles/made-tokens.js';
import type { Core } from '../core.js';

/** Who is further behind counts as this. */
const MAX_SECONDS_BEHIND = 300;

export interface ProcessAdminParts {
  readonly audience: Audience;
  readonly sessions: Sessions;
  readonly watchers: Watchers;
  readonly blocks: Blocks;
  readonly logins: Pick<AdminLogins, 'set'>;
  readonly madeTokens: MadeTokens;
  readonly streams: { readonly fallbacks: Fallbacks; readonly hlsListeners: Pick<HlsListeners, 'all'> };
  /** The private ones. */
}

/** Of a stream, or of HLS. */
type AnyListener = Listener | HlsListener;

type ProcessAnswers = {
  readonly [Q in ProcessQuestion]: (ask: ProcessQuestions[Q]['ask']) => ProcessQuestions[Q]['answer'];
};

export class ProcessAdmin {
  readonly #core: Core;
  readonly #parts: ProcessAdminParts;
  readonly #answers: ProcessAnswers;
  #state = NO_ADMIN_STATE;

  constructor(core: Core, parts: ProcessAdminParts) {
    this.#core = core;
    this.#parts = parts;
    this.#answers = {
      ages: (ask) => this.#ages(ask),
      listeners: (ask) => this.#listeners(ask),
      end: (filter) => this.#end(filter),
      move: ({ filter, to }) => this.#move(filter, to),
      sessions: ({ channel, most }) => this.#sessions(channel, most),
      watchers: ({ most }) => this.#watchers(most),
      crowd: ({ channel }) => this.#crowd(channel),
      refusals: () => lastRefusals(core.refusals),
      log: ({ afterMs }) => linesOf(core.lines, afterMs, core.process),
      used: () => parts.madeTokens.used,
    };
  }

  /** What every process knows of blocks, tokens and fallbacks. */
  get state(): AdminState {
    return this.#state;
  }

  set(state: AdminState): void {
    this.#state = state;
    this.#parts.blocks.set(state.blocks);
    this.#parts.madeTokens.set(state.tokens);
    this.#parts.streams.fallbacks.set(state.fallbacks);
    this.#parts.logins.set(state.logins);
  }

  answer<Q extends ProcessQuestion>(question: Q, ask: ProcessQuestions[Q]['ask']): ProcessQuestions[Q]['answer'] {
    return this.#answers[question](ask);
  }

  #ages({ most, ...filter }: ProcessQuestions['ages']['ask']): ProcessQuestions['ages']['answer'] {
    const { clock, process } = this.#core;
    const found = this.#byAge(filter);
    const fromMs = sharedMs(clock, 0);
    return { process, total: found.length, startedMs: found.slice(0, most).map((each) => fromMs + each.startedMs) };
  }

  #listeners({ ranges, ...filter }: ProcessQuestions['listeners']['ask']): ListenerReport[] {
    const range = ranges[this.#core.process];
    if (range === undefined) return [];
    const found = this.#byAge(filter).slice(range.from, range.from + range.count);
    return found.map((listener) => this.#report(listener));
  }

  #byAge(filter: ListenerFilter): AnyListener[] {
    return this.#found(filter).sort((a, b) => a.startedMs - b.startedMs || a.id - b.id);
  }

  #end(filter: ListenerFilter): number {
    const found = this.#found(filter);
    for (const listener of found) listener.end('operator');
    return found.length;
  }

  #move(filter: ListenerFilter, to: string): { moved: number; refused: number } {
    let [moved, refused] = [0, 0];
    for (const listener of this.#found(filter)) {
      if (listener.move(`/${to}`)) moved++;
      else refused++;
    }
    return { moved, refused };
  }

  #found({ ids, channel, address, agent }: ListenerFilter): AnyListener[] {
    const wanted = ids && new Set(ids);
    const network = address === undefined ? null : new AddressList([address]);
    const part = agent?.toLowerCase();
    const found: AnyListener[] = [];
    for (const listener of this.#all()) {
      if (channel !== undefined && listener.channel !== channel) continue;
      if (wanted !== undefined && !wanted.has(this.#idOf(listener))) continue;
      if (network !== null && !network.has(listener.client?.address ?? '')) continue;
      if (part !== undefined && !(listener.client?.agent ?? '').toLowerCase().includes(part)) continue;
      found.push(listener);
    }
    return found;
  }

  *#all(): Iterable<AnyListener> {
    yield* this.#parts.audience.all();
    yield* this.#parts.streams.hlsListeners.all();
  }

  #idOf({ id }: AnyListener): string {
    return `${this.#core.process}-${id}`;
  }

  #report(listener: AnyListener): ListenerReport {
    const { clock, secrets } = this.#core;
    const { channel, client, startedMs, bytes, icy, session } = listener;
    return {
      id: this.#idOf(listener),
      channel,
      mount: client?.mount ?? '',
      address: client?.address ?? '',
      agent: secrets.mask(client?.agent ?? ''),
      referer: secrets.mask(client?.referer ?? ''),
      sinceMs: Math.round(clock.wallMs() - (clock.now() - startedMs)),
      lagMs: Math.round(lagOf(listener, clock.now())),
      bytes,
      title: listener.lastMark?.view.title ?? '',
      hears: playbackOf(listener).heardMark(clock.now())?.view.title ?? '',
      icy,
      hls: 'token' in listener,
      metaid: session === null ? null : masked(session.metaid),
    };
  }

  #crowd(channel: string): CrowdReport {
    const nowMs = this.#core.clock.now();
    const bySecondsBehind: number[] = [];
    for (const listener of this.#all()) {
      if (listener.channel !== channel) continue;
      const second = Math.min(MAX_SECONDS_BEHIND, Math.max(0, Math.floor(lagOf(listener, nowMs) / 1000)));
      while (bySecondsBehind.length <= second) bySecondsBehind.push(0);
      bySecondsBehind[second]!++;
    }
    return { endings: this.#parts.audience.endingsOf(channel), bySecondsBehind };
  }

  #sessions(channel: string | undefined, most: number): SessionReport[] {
    const found: SessionReport[] = [];
    for (const session of channel === undefined
      ? this.#parts.sessions.live()
      : this.#parts.sessions.onChannel(channel)) {
      if (found.length === most) break;
      const { metaid, mount, lastWritten, lastHeard } = session;
      const lines = { written: lineOf(lastWritten), heard: lineOf(lastHeard) };
      found.push({ metaid: masked(metaid), channel: session.channel, mount, ...lines });
    }
    return found;
  }

  #watchers(most: number): WatcherReport[] {
    const found: WatcherReport[] = [];
    for (const { topic, address, sinceMs } of this.#parts.watchers.all()) {
      if (found.length === most) break;
      const scope = topic?.scope ?? 'nes';
      const id = topic === null ? '' : topic.scope === 'listener' ? masked(topic.id) : topic.id;
      found.push({ scope, id, address, sinceMs });
    }
    return found;
  }
}

/** How far what it hears is behind the live edge; before it hears anything: what it is sent. */
function lagOf(listener: AnyListener, nowMs: number): number {
  const playback = playbackOf(listener);
  return playback.joinMs < 0 ? listener.lagMs : playback.heardLagMs(nowMs);
}

function playbackOf(listener: AnyListener): Playback | HlsListener {
  return 'playback' in listener ? listener.playback : listener;
}

/** Of one process, also of one that clients do not reach. */
export function lastRefusals(refusals: RefusalLog): RefusalReport[] {
  return refusals.last().map(({ atMs, address, what, reason, channel, mount, status }) => {
    return { atMs, address, what, why: reason, channel: channel ?? null, mount: mount ?? null, status };
  });
}

export function linesOf(lines: KeptLog, afterMs: number, process: number) {
  return lines.after(afterMs).map(({ atMs, line }) => ({ atMs, process, line }));
}

function lineOf(title: HeardTitle | null): string {
  return title?.view.title ?? '';
}
