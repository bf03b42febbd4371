/** Exchanges the sessions of a worker with those of the others, by way of the hub. Outlives the hub, as WorkerLink does. */

import { Requests } from '../../base/requests.js';
import type { HeardReports, ReportVerdict } from '../../listener/sessions/heard-reports.js';
import type { HeardTitle, Session } from '../../listener/sessions/session.js';
import type { SessionTimes } from '../../listener/sessions/session-location.js';
import { isPlayerKey, type SharedPlayers } from '../../listener/sessions/shared-players.js';
import type { SessionLink, SharedSessions } from '../../listener/sessions/shared-sessions.js';
import { LinkLost } from '../question-errors.js';
import type { LinkConnection, MessageHandler } from '../wire/link-connection.js';
import { readAll } from '../wire/members.js';
import {
  ASK,
  FIRST_SESSION_TYPE,
  FOLLOW,
  HEARD,
  LAST_SESSION_TYPE,
  LOCATION,
  REPORT,
  STATE,
  TITLE,
  VERDICT,
} from '../wire/message-types.js';
import { type MessageReader, WireError } from '../wire/wire.js';
import {
  REPORT_MEMBERS,
  readFollow,
  readHeard,
  readSince,
  readState,
  readTimes,
  readTitle,
  readTo,
  readVerdict,
  SessionWriter,
  VERDICT_MS,
  writeState,
  writeTimes,
  writeTitle,
} from './session-messages.js';

/** Receives the sessions of the others. */
export interface SessionTarget {
  readonly shared: SharedSessions;
  readonly players: SharedPlayers;
  readonly reports: Pick<HeardReports, 'judge'>;
}

export class WorkerSessions implements SessionLink, MessageHandler {
  readonly #reports = new Requests();
  readonly #target: () => SessionTarget | null;
  #writer: SessionWriter | null = null;
  #isReady = false;

  /** @param target called once there is a link; null: this process has no sessions */
  constructor(target: () => SessionTarget | null) {
    this.#target = target;
  }

  get isOpen(): boolean {
    return this.#isReady;
  }

  /** A new connection to the hub. */
  connect(connection: LinkConnection): void {
    this.#writer = new SessionWriter(connection);
    connection.handle(FIRST_SESSION_TYPE, LAST_SESSION_TYPE, this);
  }

  /** The hub knows this worker. */
  onReady(): void {
    this.#isReady = true;
    const target = this.#target();
    target?.shared.onLinked();
    target?.players.onLinked();
  }

  reportFirst(metaid: string, session: SessionTimes | null): void {
    if (!this.#isReady) return;
    const message = this.#writer!.begin(LOCATION, 0, metaid);
    writeTimes(message, session);
    message.end();
  }

  follow(metaid: string, isFollowed: boolean): void {
    if (!this.#isReady) return;
    this.#writer!.begin(FOLLOW, 0, metaid)
      .byte(isFollowed ? 1 : 0)
      .end();
  }

  ask(metaid: string): void {
    if (this.#isReady) this.#writer!.begin(ASK, 0, metaid).end();
  }

  state(session: Session, isNew: boolean, to: number): void {
    if (!this.#isReady) return;
    const message = this.#writer!.begin(STATE, to, session.metaid).number(session.sinceMs);
    writeState(message, session, isNew);
    message.end();
  }

  written(session: Session, title: HeardTitle): void {
    if (!this.#isReady) return;
    const message = this.#writer!.begin(TITLE, 0, session.metaid).number(session.sinceMs);
    writeTitle(message, session, title);
    message.end();
  }

  heard({ metaid, sinceMs }: Session, { order }: HeardTitle): void {
    if (this.#isReady) this.#writer!.begin(HEARD, 0, metaid).number(sinceMs).number(order).end();
  }

  async report(metaid: string, bytes: Buffer): Promise<ReportVerdict> {
    if (!this.#isReady) return 'not-playing';
    const send = (id: number) => this.#writer!.begin(REPORT, 0, metaid).whole(id).bytes(bytes).end();
    return await this.#reports.ask<ReportVerdict>(send, { timeoutMs: VERDICT_MS }).catch(() => 'not-playing');
  }

  onMessage(type: number, message: MessageReader): void {
    const { worker, metaid } = readTo(message, type);
    if (type === VERDICT) {
      const { id, verdict } = readVerdict(message);
      this.#reports.answer(id, verdict);
      return;
    }
    const target = this.#target();
    if (target === null) return;
    if (isPlayerKey(metaid)) {
      this.#onPlayer(target.players, type, worker, metaid, message);
      return;
    }
    const { shared, reports } = target;
    switch (type) {
      case LOCATION: {
        const times = readTimes(message);
        shared.onFirst(metaid, times && { worker, ...times });
        break;
      }
      case FOLLOW:
        shared.onFollow(metaid, readFollow(message));
        break;
      case ASK:
        message.end();
        shared.onAsk(metaid, worker);
        break;
      case STATE:
        shared.onState(metaid, worker, readSince(message), readState(message));
        break;
      case TITLE:
        shared.onTitle(metaid, worker, readSince(message), readTitle(message));
        break;
      case HEARD:
        shared.onHeardTitle(metaid, worker, readSince(message), readHeard(message));
        break;
      case REPORT: {
        const { id, bytes } = readAll(message, REPORT_MEMBERS);
        this.#answer(worker, id, reports.judge(metaid, bytes));
        break;
      }
      default:
        throw new WireError(`unexpected message type ${type}`);
    }
  }

  onDrain(): void {}

  onClosed(): void {
    this.#isReady = false;
    this.#writer = null;
    const target = this.#target();
    target?.shared.onLost();
    target?.players.onLost();
    this.#reports.lose(new LinkLost());
  }

  /** Of a private listener of HLS: where it is, and that it has asked another process. */
  #onPlayer(players: SharedPlayers, type: number, worker: number, key: string, message: MessageReader): void {
    if (type === LOCATION) {
      const times = readTimes(message);
      players.onFirst(key, times && { worker, ...times });
    } else if (type === REPORT) {
      const { id, bytes } = readAll(message, REPORT_MEMBERS);
      this.#answer(worker, id, players.onAsked(key, bytes) ? 'taken' : 'not-playing');
    } else throw new WireError(`unexpected message type ${type} about an HLS player`);
  }

  #answer(worker: number, id: number, verdict: ReportVerdict): void {
    this.#writer?.begin(VERDICT, worker, '').whole(id).text(verdict).end();
  }
}
