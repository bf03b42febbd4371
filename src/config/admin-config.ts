/**
 * Users of `/admin` and their rights (http/admin/README.md). Without users there is no admin interface. Passwords and tokens are kept as digests
 * (secret.ts).
 */

import * as z from 'zod';
import { choice, list, section, whole } from './field.js';
import { type Secret, secretSchema } from './secret.js';

/** read: see everything. titles: push, correct, withdraw. operate: connections, sources, blocks, reload, revoking push tokens. */
export const RIGHTS = ['read', 'titles', 'operate'] as const;
export type Right = (typeof RIGHTS)[number];
/** Needed to make a push token, which is valid only while its maker has both rights. */
export const TOKEN_RIGHTS: readonly Right[] = ['titles', 'operate'];

export interface AdminUserConfig {
  readonly password?: Secret | undefined;
  /** Bearer tokens. Two, so that a new one can be used before the old one is removed. */
  readonly tokens: readonly Secret[];
  readonly rights: readonly Right[];
}

export type AdminUsers = Readonly<Record<string, AdminUserConfig>>;

/** Whether this user exists and may make push tokens. */
export function mayMakeTokens(users: AdminUsers, name: string): boolean {
  return Object.hasOwn(users, name) && TOKEN_RIGHTS.every((right) => users[name]!.rights.includes(right));
}

const NAME_ERROR = "a user's name is 1 to 64 of the characters A-Z a-z 0-9 . _ @ -";

export function adminSchema(env: NodeJS.ProcessEnv) {
  const user = section({
    password: secretSchema(env).optional(),
    tokens: list(secretSchema(env), 0, 2).default([]),
    rights: list(choice(RIGHTS), 1, RIGHTS.length).default(['read']),
  }).refine((user) => user.password !== undefined || user.tokens.length > 0, {
    error: 'must have a password or tokens',
  });
  const users = z.record(z.string().regex(/^[A-Za-z0-9._@-]{1,64}$/, { error: NAME_ERROR }), user, {
    error: 'must be a map from user names to options',
  });
  return section({
    users: users.refine((all) => Object.keys(all).length <= 100, { error: 'must be at most 100 users' }).default({}),
    // Number of refusals, and of log lines, that are kept.
    refusals: whole(1, 10_000).default(200),
    logLines: whole(1, 10_000).default(500),
    // Maximum number of live streams (events, log).
    streams: whole(1, 1000).default(20),
    blocks: whole(1, 100_000).default(1000),
    // Lifetime of a login to the operator page.
    loginHours: whole(1, 720).default(12),
  }).prefault({});
}
