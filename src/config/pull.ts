/**
 * A pulled stream in the configuration: its URLs, its credentials, and its timeouts.
 * The credentials here are sent to others, so unlike all other secrets they are kept in the clear; they can be had by a call only,
 * so that nothing that prints the configuration prints them.
 */

import { z } from 'zod';
import { CONTROL, flag, list, onAnyMap, readableFile, seconds, section, text } from './field.js';

/** The name of an environment variable that holds a password. */
const FROM_ENVIRONMENT = /^env:([A-Za-z_][A-Za-z0-9_]*)$/;

/** For how long an upstream may send nothing; more than the longest piece (checks.ts). */
export const STALL_SECONDS = 15;

const URL_ERROR =
  'must be an http:// or https:// URL of at most 4096 characters (% in its user or password as %25), or a list of 1 to 8 such';

/** A password as it will be sent. */
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
    retrySeconds: section({
      min: seconds(0.05, 3600).default(1),
      max: seconds(0.05, 3600).default(30),
    })
      .refine((retry) => !(retry.min > retry.max), {
        path: ['max'],
        error: 'must not be less than min',
        when: onAnyMap,
      })
      .prefault({}),
  });
}

/** An http or https URL that may hold a user and password. */
function streamUrl() {
  return z.string({ error: URL_ERROR }).refine(isStreamUrl, { error: URL_ERROR });
}

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

function passwordSchema(env: NodeJS.ProcessEnv) {
  const error = 'must be env: and the name of an environment variable that is set';
  return z.string({ error }).transform((value, context): Password => {
    const name = FROM_ENVIRONMENT.exec(value)?.[1];
    const plain = name === undefined ? undefined : env[name];
    if (plain !== undefined && plain !== '' && !CONTROL.test(plain)) return { reveal: () => plain };
    context.addIssue({ code: 'custom', message: error });
    return z.NEVER;
  });
}
