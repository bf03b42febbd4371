/**
 * The sessions of two machines, and how many listen on each (cluster-counts.ts): to the registry of each (link/sessions/session-registry.ts) the
 * other is one more worker, which has the first session of all its workers, follows what any of them follows, and asks and reports for them.
 *
 *   worker 1 ─ PLACE ─► registry a ─► bridge ═══ PLACE ═══ bridge ─► registry b ─ PLACE ─► worker 2, which watches
 *
 * Moments are of each machine's own clock: they are moved by what both know of the clock of the cluster when the bridge begins. Owned by
 * session-bridges.ts.
 */

import type { Duplex } from 'node:stream';
import type { Clock } from '../base/clock.js';
import { Requests } from '../base/requests.js';
import { systemMs } from '../link/facts/shared-time.js';
import { LinkLost } from '../link/questions.js';
import {
  CLOCKS_MEMBERS,
  LISTENERS_MEMBERS,
  REPORT_MEMBERS,
  type RelayedType,
  readFollow,
  readRelayed,
  readTimes,
  readTo,
  readVerdict,
  SETTINGS_MEMBERS,
  SessionWriter,
  VERDICT_MS,
  writeTimes,
} from '../link/sessions/session-messages.js';
import type { RegistryPort, SessionRegistry } from '../link/sessions/session-registry.js';
import { LinkConnection, type MessageHandler } from '../link/wire/connection.js';
import { machineOf } from '../link/wire/left-alone.js';
import { readAll } from '../link/wire/members.js';
import {
  ASK,
  CLOCKS,
  FIRST_SESSION_TYPE,
  FOLLOW,
  HEARD,
  LAST_SESSION_TYPE,
  LISTENERS,
  PLACE,
  REPORT,
  SETTINGS,
  STATE,
  TITLE,
  VERDICT,
} from '../link/wire/message-types.js';
import { type MessageReader, WireError } from '../link/wire/wire.js';
import type { SessionTimes } from '../listener/sessions/session-place.js';
import type { ClusterCounts, OtherCounts } from './cluster-counts.js';
import type { ClusterSettings, OtherSettings } from './titles/channel-settings.js';

export interface SessionBridgeParts {
  readonly registry: SessionRegistry;
  /** The other machine, and its number in the registry. */
  readonly node: string;
  readonly number: number;
  readonly counts: ClusterCounts;
  readonly settings: ClusterSettings;
  /** Whether there is such a channel here. */
  has(channel: string): boolean;
  /** Whose wall clock is the cluster's. */
  readonly clock: Clock;
  onClosed(): void;
  onError(error: unknown): void;
}

export class SessionBridge implements MessageHandler {
  readonly #parts: SessionBridgeParts;
  readonly #connection: LinkConnection;
  readonly #writer: SessionWriter;
  readonly #port: RegistryPort;
  readonly #there: OtherCounts;
  readonly #otherSettings: OtherSettings;
  /** Reports that wait for their verdict. One that gets none is given up by its worker itself. */
  readonly #reports = new Requests();
  /** Of a moment there to one here, milliseconds; null: not known yet. */
  #laterMs: number | null = null;

  constructor(stream: Duplex, parts: SessionBridgeParts) {
    this.#parts = parts;
    const { node, clock, onError } = parts;
    this.#connection = new LinkConnection(stream, onError, { peer: machineOf(node, stream), clock });
    this.#writer = new SessionWriter(this.#connection);
    this.#port = this.#makePort();
    this.#there = parts.counts.enter();
    this.#otherSettings = parts.settings.enter(parts.node);
    this.#connection.handle(FIRST_SESSION_TYPE, LAST_SESSION_TYPE, this);
    this.#writer.begin(CLOCKS, 0, '').number(systemMs()).number(parts.clock.wallMs()).end();
  }

  /** Sends the numbers of listeners here, and the settings of channels, that have changed. Called a few times a second. */
  say(): void {
    if (this.#connection.isFull) return;
    for (const [channel, count] of this.#parts.counts.news(this.#there)) {
      this.#writer.begin(LISTENERS, 0, channel).whole(count).end();
    }
    for (const [channel, text] of this.#parts.settings.news(this.#otherSettings)) {
      this.#writer.begin(SETTINGS, 0, channel).text(text).end();
    }
  }

  close(): void {
    this.#connection.close();
  }

  onMessage(type: number, message: MessageReader): void {
    const { registry, number, counts } = this.#parts;
    const { metaid } = readTo(message);
    if (type === CLOCKS) {
      if (this.#laterMs !== null) throw new WireError('a second CLOCKS');
      const { ownMs, clusterMs } = readAll(message, CLOCKS_MEMBERS);
      this.#laterMs = systemMs() - this.#parts.clock.wallMs() - (ownMs - clusterMs);
      registry.add(number, this.#port);
      return;
    }
    if (this.#laterMs === null) throw new WireError('the clocks are not known yet');
    switch (type) {
      case PLACE:
        registry.place(number, metaid, this.#moved(readTimes(message)));
        break;
      case FOLLOW:
        registry.follow(number, metaid, readFollow(message));
        break;
      case ASK:
        message.end();
        registry.ask(number, metaid);
        break;
      case STATE:
      case TITLE:
      case HEARD: {
        // To all here that follow: those that ask do.
        const { sinceMs, rest } = readRelayed(type, message);
        registry.relay(type, number, metaid, 0, sinceMs + this.#laterMs, rest);
        break;
      }
      case REPORT: {
        const { id, bytes } = readAll(message, REPORT_MEMBERS);
        registry.report(number, metaid, id, bytes);
        break;
      }
      case LISTENERS: {
        // The name of what is counted stands in the place of a metaid.
        const { count } = readAll(message, LISTENERS_MEMBERS);
        if (this.#parts.has(metaid)) counts.hear(this.#there, metaid, count);
        break;
      }
      case SETTINGS: {
        const { settings } = readAll(message, SETTINGS_MEMBERS);
        this.#onSettings(metaid, settings);
        break;
      }
      case VERDICT: {
        const { id, verdict } = readVerdict(message);
        this.#reports.answer(id, verdict);
        break;
      }
      default:
        throw new WireError(`a message of type ${type}`);
    }
  }

  onDrain(): void {}

  onClosed(): void {
    this.#parts.registry.remove(this.#parts.number, this.#port);
    this.#reports.lose(new LinkLost());
    this.#parts.counts.leave(this.#there);
    this.#parts.onClosed();
  }

  #onSettings(channel: string, text: string): void {
    try {
      this.#parts.settings.hear(this.#otherSettings, channel, text);
    } catch (error) {
      throw new WireError(`the settings of a channel: ${(error as Error).message}`);
    }
  }

  #moved(times: SessionTimes | null): SessionTimes | null {
    return times && { sinceMs: times.sinceMs + this.#laterMs!, endedMs: times.endedMs + this.#laterMs! };
  }

  #makePort(): RegistryPort {
    const writer = this.#writer;
    return {
      place: (metaid, place) => {
        const message = writer.begin(PLACE, 0, metaid);
        writeTimes(message, place);
        message.end();
      },
      follow: (metaid, isFollowed) =>
        writer
          .begin(FOLLOW, 0, metaid)
          .byte(isFollowed ? 1 : 0)
          .end(),
      ask: (metaid) => writer.begin(ASK, 0, metaid).end(),
      relay: (type: RelayedType, _worker, metaid, sinceMs, rest) =>
        writer.begin(type, 0, metaid).number(sinceMs).bytes(rest).end(),
      report: (metaid, worker, id, bytes) => {
        const send = (there: number) => writer.begin(REPORT, 0, metaid).whole(there).bytes(bytes).end();
        this.#reports.ask<string>(send, { timeoutMs: VERDICT_MS }).then(
          (verdict) => this.#parts.registry.verdict(worker, id, verdict),
          () => undefined,
        );
      },
      verdict: (id, verdict) => writer.begin(VERDICT, 0, '').whole(id).text(verdict).end(),
    };
  }
}
