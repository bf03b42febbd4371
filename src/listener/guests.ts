/**
 * What is kept of each listener beside its cursor, from its first audio to its ending: whom it counts as (census.ts), and what its
 * line in the access log will say. Nothing here is touched while it plays. Made by app/app.ts; the stream brings guests in, the
 * audience tells of their endings.
 */

import type { Clock } from '../base/clock.js';
import { anonymized } from '../base/ip.js';
import type { Output } from '../base/output.js';
import type { SecretMask } from '../base/secret-mask.js';
import { quoted, stamp } from './access-line.js';
import type { Census, Group } from './census.js';

/** A request for a stream, as it came. */
export interface ListenerRequest {
  readonly method: string;
  /** Path and query as requested. */
  readonly url: string;
  /** Of the player, whatever stands between. */
  readonly address: string;
  head(name: string): string | undefined;
}

/** The parts of an access line that are known from the beginning. */
interface AccessEntry {
  readonly address: string;
  readonly request: string;
  readonly from: string;
}

export interface Guest {
  readonly group: Group;
  /** Null: no access log is written. */
  readonly entry: AccessEntry | null;
}

export interface GuestOptions {
  /** Whether addresses are shortened in the access log. */
  readonly anonymize: boolean;
  /** What is kept of a URL, a referer and a user agent, each. */
  readonly textCharacters: number;
  /** Takes secrets out of the three. */
  readonly secrets: SecretMask;
}

export class Guests {
  readonly census: Census;
  readonly #log: Output | null;
  readonly #clock: Clock;
  readonly #options: GuestOptions;

  constructor(census: Census, log: Output | null, clock: Clock, options: GuestOptions) {
    this.census = census;
    this.#log = log;
    this.#clock = clock;
    this.#options = options;
  }

  /** Lines of the access log that were not written. */
  get lostLines(): number {
    return this.#log?.lost ?? 0;
  }

  /** It begins to play. Balance with `leave`. @param metaid a well-formed one */
  arrive(channel: string, request: ListenerRequest, metaid: string | null): Guest {
    const { address } = request;
    const agent = request.head('user-agent') ?? '';
    const playbackSession = request.head('x-playback-session-id');
    const group = this.census.join(channel, { address, agent, metaid, playbackSession });
    return { group, entry: this.#log === null ? null : this.#entry(request, agent) };
  }

  /** @param bytes given to its connection, without the head @param lastedMs since its first audio */
  leave({ group, entry }: Guest, bytes: number, lastedMs: number): void {
    this.census.leave(group);
    if (entry === null) return;
    const { address, request, from } = entry;
    const time = stamp(this.#clock.wallMs());
    this.#log!.write(`${address} - - ${time} ${request} 200 ${bytes} ${from} ${Math.round(lastedMs / 1000)}`);
  }

  /** The stream is answered in HTTP/1.0 whatever was asked in, so the line says that. */
  #entry(request: ListenerRequest, agent: string): AccessEntry {
    const { anonymize, textCharacters, secrets } = this.#options;
    // An empty secret is written as one character more.
    const field = (text: string) => secrets.mask(text, textCharacters).slice(0, textCharacters);
    const line = `${request.method} ${field(request.url)} HTTP/1.0`;
    const referer = request.head('referer') ?? '';
    const address = request.address.replace(/^::ffff:(?=\d+\.)/i, '');
    return {
      address: anonymize ? anonymized(address) : address || '-',
      request: quoted(line),
      from: `${quoted(field(referer))} ${quoted(field(agent))}`,
    };
  }
}
