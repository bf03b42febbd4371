/**
 * Options of a pulled stream: URLs, credentials, timeouts. The credentials are sent to others, so unlike other secrets they are kept in
 * the clear, but behind a call, so that printing the configuration does not print them.
 */

import * as z from 'zod';
import {
  CONTROL,
  checked,
  flag,
  fromEnvironment,
  list,
  parsed,
  readableFile,
  retrySeconds,
  seconds,
  section,
  text,
  whole,
} from '../field.js';

/** Default of the longest piece in which audio may arrive. */
export const PIECE_SECONDS = 10;
/** Default of how long an encoder may send nothing; more than the longest piece (checks.ts). */
export const BODY_TIMEOUT_SECONDS = 15;

/** Default of how long an upstream may send nothing; more than the longest piece (checks.ts). */
export const STALL_SECONDS = 15;

/** Options for all sources. */
export const sourcesSchema = section({
  stallMs: whole(50, 60_000).default(1500),
  pieceSeconds: seconds(0.1, 60).default(PIECE_SECONDS),
  stallsPerMinute: whole(1, 1000).default(3),
  soundSeconds: seconds(0, 600).default(20),
  bodyTimeoutSeconds: seconds(0.1, 600).default(BODY_TIMEOUT_SECONDS),
  aheadSeconds: seconds(0, 60).default(10),
  framelessBytes: whole(1024, 16_777_216).default(65_536),
  silentSeconds: seconds(1, 3600).default(20),
  restSeconds: seconds(1, 86_400).default(30),
}).prefault({});

const URL_ERROR =
  'must be an http:// or https:// URL of at most 4096 characters (% in its user or password as %25), or a list of 1 to 8 of them';

/** A password to be sent. */
export interface Password {
  reveal(): string;
}

export function pullSchema({ env, folder }: { readonly env: NodeJS.ProcessEnv; readonly folder: string }) {
  return section({
    type: z.literal('pull'),
    url: z.union([streamUrl(), list(streamUrl(), 1, 8)], { error: URL_ERROR }),
    user: text(0, 255).default(''),
    password: passwordSchema(env).optional(),
    caFile: readableFile(folder).optional(),
    allowPrivate: flag().default(false),
    onDemand: flag().default(false),
    lingerSeconds: seconds(0, 86_400).default(10),
    connectTimeoutSeconds: seconds(0.1, 300).default(10),
    stallSeconds: seconds(0.1, 600).default(STALL_SECONDS),
    returnSeconds: seconds(0.1, 86_400).default(60),
    retrySeconds: retrySeconds(30),
  });
}

/** An http or https URL that may hold a user and password. */
const streamUrl = () => checked(URL_ERROR, isStreamUrl);

function isStreamUrl(value: string): boolean {
  if (value.length > 4096 || CONTROL.test(value) || !URL.canParse(value)) return false;
  const { protocol, username, password } = new URL(value);
  try {
    decodeURIComponent(username + password);
  } catch {
    return false;
  }
  return protocol === 'http:' || protocol === 'https:';
}

export function passwordSchema(env: NodeJS.ProcessEnv) {
  const error = 'must be env: and the name of an environment variable that is set';
  return parsed(error, (text): Password | undefined => {
    const plain = fromEnvironment(text, env) ?? '';
    return plain !== '' && !CONTROL.test(plain) ? { reveal: () => plain } : undefined;
  });
}
