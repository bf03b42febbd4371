/**
 * Common to all acceptors of encoders: the port to the channels, the verdict on an encoder for log and metrics, and common refusals. HTTP expresses
 * a refusal by its status (encoder-acceptor.ts), SHOUTcast by the same line for all (shoutcast.ts).
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

/** An encoder with credentials other than the channel's own, for the hook. */
export interface AskedEncoder {
  /** The mount, in the spelling of configured mounts. */
  readonly mount: string;
  readonly user: string;
  readonly password: string;
  /** The client's. */
  readonly address: string;
  readonly agent: string;
  /** Whether it sends a title, not audio. */
  readonly isTitle: boolean;
  readonly socket: Pick<Socket, 'localAddress' | 'localPort'>;
}

/** Asks the operator's program whether an encoder may feed the channel; null: no answer. Never rejects. */
export type EncoderHook = (encoder: AskedEncoder) => Promise<boolean | null>;

/** Options of the acceptors, which check secrets. */
export interface IngestOptions extends HeadLimits, Judges {
  readonly pace: RefusalPace;
  /** The channel that takes encoders at this path; undefined: none. @param path as requested, still encoded */
  mountAt(path: string): EncoderMount | undefined;
  /** The hook of a channel; null: only its own passwords open it. */
  hookOf(channel: string): EncoderHook | null;
  /** An encoder with the right secret, which the process of its channel then admits or refuses. */
  onProven(encoder: ProvenEncoder): void;
  /** Every verdict, for the log and the metrics; never with credentials. */
  onVerdict(verdict: EncoderVerdict): void;
}

/** Common options of EncoderAdmission and ShoutcastAdmission. */
export interface AdmissionParts extends HeadLimits {
  readonly pace: RefusalPace;
  /** From now on the connection belongs to the channel. */
  onAdmitted(socket: Socket): void;
  /** See IngestOptions. */
  onVerdict(verdict: EncoderVerdict): void;
}

/** The one of these channels whose hook is asked about a login; null: no password, or not exactly one of them has a hook. */
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
  /** The HTTP status; verdicts on SHOUTcast have the equivalent one. */
  readonly status: number;
  /** The client's. */
  readonly address: string;
  /** The path as requested, a mount or not; "": none. */
  readonly path: string;
  /** As its password determines; undefined: at most its path names one. */
  readonly channel?: string | undefined;
  readonly agent: string;
  /** Its id. */
  readonly connection?: string | undefined;
  /** The key of the channel that takes it, or why none does. */
  readonly why: string;
}

export interface EncoderRefusal {
  readonly status: number;
  /** The reason for the log, and for the client if there is no `text`. */
  readonly why: string;
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The challenge for audio and titles alike. */
export const BASIC_CHALLENGE = 'Basic realm="airsplice"';

/** 401 is also Icecast's answer to a wrong secret. After a 403 BUTT retries five times a second forever, and does not show why. */
const SECRET_STATUS: Readonly<Record<Exclude<SecretVerdict, 'right'>, number>> = {
  wrong: 401,
  'too-many': 429,
  unknown: 503,
};
/** Retry-After if the hook does not answer. */
const UNKNOWN_SECONDS = 10;

/** Why a secret is refused, for audio and titles alike; null: it is right. @param challenge the headers of a 401 */
export function secretRefusal(
  { verdict, retrySeconds }: Judged,
  challenge: Readonly<Record<string, string>>,
): Required<EncoderRefusal> | null {
  if (verdict === 'right') return null;
  const refusal = { status: SECRET_STATUS[verdict], why: SECRET_REASONS[verdict] };
  if (verdict === 'unknown') {
    const text = 'encoders cannot be authorized at the moment';
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
