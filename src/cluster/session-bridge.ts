/**
 * Connects the session registries of two machines (link/sessions/session-registry.ts): to each the other is one more worker, which has the first
 * session of all its workers, follows the metaids that any of them follows, and asks and reports for them. Also carries numbers of listeners
 * (cluster-counts.ts) and settings (titles/channel-settings.ts).
 *
 *   worker 1 ─ LOCATION ─► registry a ─► bridge ═══ LOCATION ═══ bridge ─► registry b ─ LOCATION ─► worker 2, which watches
 *
 * Times are of each machine's own clock, and are converted by way of the cluster time as both know it when the bridge begins. Owned by
 * session-bridges.ts.
 */

import type { Duplex } from 'node:stream';
import * as z from 'zod';
import type { Clock } from '../base/clock.js';
import { KEY } from '../base/key.js';
import { Requests } from '../base/requests.js';
import { Control } from '../link/control-messages.js';
import { systemMs } from '../link/facts/shared-time.js';
import { LinkLost } from '../link/question-errors.js';
import { passOn, registryPort } from '../link/sessions/hub-sessions.js';
import { MAX_CLOCK_MS, SessionWriter, VERDICT_MS } from '../link/sessions/session-messages.js';
import type { RegistryPort, SessionRegistry } from '../link/sessions/session-registry.js';
import { LIMITS } from '../link/tapes/tape-messages.js';
import { machineOf } from '../link/wire/left-alone.js';
import { LinkConnection, type MessageHandler } from '../link/wire/link-connection.js';
import { FIRST_SESSION_TYPE, LAST_SESSION_TYPE, REPORT } from '../link/wire/message-types.js';
import { type MessageReader, WireError } from '../link/wire/wire.js';
import { must, type Plain } from '../metadata/record-schema.js';
import type { ClusterCounts, OtherCounts } from './cluster-counts.js';
import { type ClusterSettings, type OtherSettings, settingsSchema } from './titles/channel-settings.js';

/** In one message. */
const MAX_CHANNELS = 100_000;

const clockMs = z.number().min(-MAX_CLOCK_MS).max(MAX_CLOCK_MS);
const channel = z.string().regex(KEY);
/** The messages between two machines beside those of sessions. */
const saidSchema = z.discriminatedUnion('type', [
  /** The first message: the present time of the sender's own clock, and the cluster time. */
  z.looseObject({ type: z.literal('clocks'), ownMs: clockMs, clusterMs: clockMs }),
  /** Numbers of listeners there, by channel. */
  z.looseObject({
    type: z.literal('listeners'),
    counts: z.array(z.tuple([channel, z.int().min(0).max(LIMITS.listeners)])).max(MAX_CHANNELS),
  }),
  z.looseObject({
    type: z.literal('settings'),
    settings: z.array(z.tuple([channel, settingsSchema])).max(MAX_CHANNELS),
  }),
]);
type Said = Plain<z.output<typeof saidSchema>>;

export interface SessionBridgeParts {
  readonly registry: SessionRegistry;
  /** The name of the other machine, and its number in the registry. */
  readonly node: string;
  readonly number: number;
  readonly counts: ClusterCounts;
  readonly settings: ClusterSettings;
  /** Whether this machine has the channel. */
  has(channel: string): boolean;
  /** Its wall clock is the cluster time. */
  readonly clock: Clock;
  onClosed(): void;
  onError(error: unknown): void;
}

export class SessionBridge implements MessageHandler {
  readonly #parts: SessionBridgeParts;
  readonly #connection: LinkConnection;
  readonly #control: Control<Said, Said>;
  readonly #writer: SessionWriter;
  readonly #port: RegistryPort;
  readonly #there: OtherCounts;
  readonly #otherSettings: OtherSettings;
  /** Reports that wait for their verdict. The worker of a report has a time-out of its own. */
  readonly #reports = new Requests();
  /** Added to a time of the other machine to convert it, milliseconds; null: unknown yet. */
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
    this.#control = new Control(
      this.#connection,
      { onControl: (said) => this.#onSaid(said), onClosed: () => undefined },
      (value) => must<Said>(saidSchema, value),
    );
    this.#control.send({ type: 'clocks', ownMs: systemMs(), clusterMs: parts.clock.wallMs() });
  }

  /** Sends the numbers of listeners and the settings that have changed. Called a few times a second. */
  say(): void {
    if (this.#connection.isFull) return;
    const counts = this.#parts.counts.news(this.#there);
    if (counts.length > 0) this.#control.send({ type: 'listeners', counts });
    const settings = this.#parts.settings.news(this.#otherSettings);
    if (settings.length > 0) this.#control.send({ type: 'settings', settings });
  }

  close(): void {
    this.#connection.close();
  }

  onMessage(type: number, message: MessageReader): void {
    const { registry, number } = this.#parts;
    if (this.#laterMs === null) throw new WireError('the clocks are not yet known');
    passOn(registry, number, type, message, {
      laterMs: this.#laterMs,
      onVerdict: (id, verdict) => this.#reports.answer(id, verdict),
    });
  }

  onDrain(): void {}

  onClosed(): void {
    this.#parts.registry.remove(this.#parts.number, this.#port);
    this.#reports.lose(new LinkLost());
    this.#parts.counts.leave(this.#there);
    this.#parts.onClosed();
  }

  #onSaid(said: Said): void {
    const { registry, number, clock, counts, settings, has } = this.#parts;
    if (said.type === 'clocks') {
      if (this.#laterMs !== null) throw new WireError('a second time');
      this.#laterMs = systemMs() - clock.wallMs() - (said.ownMs - said.clusterMs);
      registry.add(number, this.#port);
    } else if (said.type === 'settings') settings.hear(this.#otherSettings, said.settings);
    else
      counts.hear(
        this.#there,
        said.counts.filter(([channel]) => has(channel)),
      );
  }

  /** The other machine chooses the worker, and answers reports by a number of its own. */
  #makePort(): RegistryPort {
    const writer = this.#writer;
    return {
      ...registryPort(writer, () => 0),
      report: (metaid, worker, id, bytes) => {
        const send = (there: number) => writer.begin(REPORT, 0, metaid).whole(there).bytes(bytes).end();
        this.#reports.ask<string>(send, { timeoutMs: VERDICT_MS }).then(
          (verdict) => this.#parts.registry.verdict(worker, id, verdict),
          () => undefined,
        );
      },
    };
  }
}
