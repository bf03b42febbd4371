/** Connects one worker's messages of sessions to the registry, in both directions. Owned by its HubLink. */

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
  type RelayedType,
  readFollow,
  readRelayed,
  readTimes,
  readTo,
  readVerdict,
  SessionWriter,
  writeTimes,
} from './session-messages.js';
import type { RegistryPort, SessionRegistry } from './session-registry.js';

export class HubSessions implements MessageHandler {
  readonly #registry: SessionRegistry;
  readonly #port: RegistryPort;
  /** Its number; 0: its `hello` has not arrived yet. */
  #worker = 0;

  constructor(connection: LinkConnection, registry: SessionRegistry) {
    this.#registry = registry;
    this.#port = registryPort(new SessionWriter(connection));
    connection.handle(FIRST_SESSION_TYPE, LAST_SESSION_TYPE, this);
  }

  /** The worker is known: it is sent the sessions of the others. */
  begin(worker: number): void {
    this.#worker = worker;
    this.#registry.add(worker, this.#port);
  }

  onMessage(type: number, message: MessageReader): void {
    if (this.#worker === 0) throw new WireError('the first message of a worker must identify it');
    passOn(this.#registry, this.#worker, type, message);
  }

  onDrain(): void {}

  onClosed(): void {
    if (this.#worker !== 0) this.#registry.remove(this.#worker, this.#port);
  }
}

/** Another machine, whose events go to all followers here. */
interface OtherMachine {
  /** Added to its times, milliseconds. */
  readonly laterMs: number;
  /** It answers reports by a number of their own. */
  onVerdict(id: number, verdict: string): void;
}

/** Passes a message of the other end on to the registry. @param from its number there @param machine null: it is a worker here @throws WireError */
export function passOn(
  registry: SessionRegistry,
  from: number,
  type: number,
  message: MessageReader,
  machine: OtherMachine | null = null,
): void {
  const { worker, metaid } = readTo(message, type);
  const laterMs = machine?.laterMs ?? 0;
  switch (type) {
    case LOCATION: {
      const times = readTimes(message);
      const moved = times && { sinceMs: times.sinceMs + laterMs, endedMs: times.endedMs + laterMs };
      registry.setFirst(from, metaid, moved);
      break;
    }
    case FOLLOW:
      registry.follow(from, metaid, readFollow(message));
      break;
    case ASK:
      message.end();
      registry.ask(from, metaid);
      break;
    case STATE:
    case TITLE:
    case HEARD: {
      const { sinceMs, rest } = readRelayed(type, message);
      registry.relay(type, from, metaid, machine === null ? worker : 0, sinceMs + laterMs, rest);
      break;
    }
    case REPORT: {
      const { id, bytes } = readAll(message, REPORT_MEMBERS);
      registry.report(from, metaid, id, bytes);
      break;
    }
    case VERDICT: {
      const { id, verdict } = readVerdict(message);
      if (machine === null) registry.verdict(worker, id, verdict);
      else machine.onVerdict(id, verdict);
      break;
    }
    default:
      throw new WireError(`unexpected message type ${type}`);
  }
}

/** Writes what the registry sends to one end of a link. @param to as which worker a worker is named there */
export function registryPort(writer: SessionWriter, to = (worker: number) => worker): RegistryPort {
  return {
    notifyFirst: (metaid, location) => {
      const message = writer.begin(LOCATION, to(location?.worker ?? 0), metaid);
      writeTimes(message, location);
      message.end();
    },
    follow: (metaid, isFollowed) =>
      writer
        .begin(FOLLOW, 0, metaid)
        .byte(isFollowed ? 1 : 0)
        .end(),
    ask: (metaid, worker) => writer.begin(ASK, to(worker), metaid).end(),
    relay: (type: RelayedType, worker, metaid, sinceMs, rest) =>
      writer.begin(type, to(worker), metaid).number(sinceMs).bytes(rest).end(),
    report: (metaid, worker, id, bytes) => writer.begin(REPORT, to(worker), metaid).whole(id).bytes(bytes).end(),
    verdict: (id, verdict) => writer.begin(VERDICT, 0, '').whole(id).text(verdict).end(),
  };
}
