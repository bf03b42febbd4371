/**
 * What the acceptors of encoders share: the port to the channels, the verdict on an encoder as log and metrics get it, and the refusals that
 * they have in common. HTTP says a refusal by its status (encoder-acceptor.ts), SHOUTcast by one line for all (shoutcast.ts).
 */

import type { Socket } from 'node:net';
import { guessHeaders } from '../../base/refusal.js';
import type { EncoderMount } from '../../channel/mount.js';
import type { HeadLimits } from '../../net/front/head-reader.js';
import type { Judged, Judges } from '../../net/limits/judge.js';
import { SECRET_REASONS } from '../../net/limits/secret-gate.js';
import type { SecretVerdict } from '../../net/limits/secret-queue.js';
import type { ProvenEncoder } from './proven.js';
import type { RefusalPace } from './refusal-pace.js';

/** An encoder with other credentials than the channel's own. */
export interface AskedEncoder {
  /** The mount, as it is configured. */
  readonly mount: string;
  readonly user: string;
  readonly password: string;
  /** Of the client. */
  readonly address: string;
  readonly agent: string;
  /** It sends a title, and no audio. */
  readonly isTitle: boolean;
  readonly socket: Pick<Socket, 'localAddress' | 'localPort'>;
}

/** Whether it may feed the channel, as a program of the operator's says; null: that does not answer. Never rejects. */
export type EncoderHook = (encoder: AskedEncoder) => Promise<boolean | null>;

/** Of the acceptors, which judge secrets. */
export interface IngestOptions extends HeadLimits, Judges {
  readonly pace: RefusalPace;
  /** The channel behind a path that takes an encoder; undefined: none does. @param path as it was asked for, still encoded */
  mountAt(path: string): EncoderMount | undefined;
  /** Of a channel; null: its own password alone opens it. */
  hookOf(channel: string): EncoderHook | null;
  /** Its secret is right: from here on it is admitted, or refused, where its channel is. */
  onProven(encoder: ProvenEncoder): void;
  /** Every verdict, for the log and the metrics; never with credentials. */
  onVerdict(verdict: EncoderVerdict): void;
}

/** Of what lets proven encoders onto their channels. */
export interface AdmissionParts extends HeadLimits {
  readonly pace: RefusalPace;
  /** It is let in, and is the channel's from here on. */
  onAdmitted(socket: Socket): void;
  /** As IngestOptions has it. */
  onVerdict(verdict: EncoderVerdict): void;
}

/** The one of these channels whose hook is asked about a login; null: none has a hook, or several have and none was named. */
export function askedOf<T extends { readonly user: string; readonly password: string }>(
  mounts: readonly EncoderMount[],
  login: T | null,
  { hookOf }: Pick<IngestOptions, 'hookOf'>,
): { readonly mount: EncoderMount; readonly hook: EncoderHook; readonly login: T } | null {
  if (login === null || login.password === '') return null;
  const asked = mounts.flatMap((mount) => {
    const hook = hookOf(mount.channelKey);
    return hook === null ? [] : [{ mount, hook, login }];
  });
  return asked.length === 1 ? asked[0]! : null;
}

export interface EncoderVerdict {
  /** Of HTTP; SHOUTcast's verdicts have the one that says the same. */
  readonly status: number;
  /** Of the client. */
  readonly address: string;
  /** As it was asked for, a mount or not; "" where none was named. */
  readonly path: string;
  /** Where its password names it; undefined: at most its path does. */
  readonly channel?: string | undefined;
  readonly agent: string;
  /** The id of its connection. */
  readonly connection?: string | undefined;
  /** The channel that takes it, or why none does. */
  readonly why: string;
}

export interface EncoderRefusal {
  readonly status: number;
  /** For the log; for the client too, where there is no `text`. */
  readonly why: string;
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The one way to log in, for audio and titles alike. */
export const BASIC_CHALLENGE = 'Basic realm="airsplice"';

/** Icecast's answer to a wrong secret too. On a 403 BUTT tries five times a second for ever, and does not say why. */
const SECRET_STATUS: Readonly<Record<Exclude<SecretVerdict, 'right'>, number>> = {
  wrong: 401,
  'too-many': 429,
  unknown: 503,
};
/** When an encoder may ask again whose hook does not answer. */
const UNKNOWN_SECONDS = 10;

/** Why a secret is refused, for audio and titles alike; null: it is right. @param challenge the headers of a 401 */
export function secretRefusal(
  { verdict, retrySeconds }: Judged,
  challenge: Readonly<Record<string, string>>,
): Required<EncoderRefusal> | null {
  if (verdict === 'right') return null;
  const refusal = { status: SECRET_STATUS[verdict], why: SECRET_REASONS[verdict] };
  if (verdict === 'unknown') {
    const text = 'it cannot be found out now who may send';
    return { ...refusal, text, headers: { 'Retry-After': String(UNKNOWN_SECONDS) } };
  }
  return verdict === 'wrong'
    ? { ...refusal, text: 'wrong user or password', headers: challenge }
    : {
        ...refusal,
        text: 'too many wrong passwords from this address',
        headers: guessHeaders(retrySeconds),
      };
}
