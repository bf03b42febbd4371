/**
 * Who may see and do what at `/admin` (http/admin/README.md). Without users there is no admin interface. What is kept of a password or token is its
 * digest, as of every secret (secret.ts).
 */

import { z } from 'zod';
import { choice, list, section, whole } from './field.js';
import { type Secret, secretSchema } from './secret.js';

/** read: everything that is shown. titles: push, correct, withdraw. operate: connections, sources, blocks, reload, to revoke push tokens. */
export const RIGHTS = ['read', 'titles', 'operate'] as const;
export type Right = (typeof RIGHTS)[number];
/** What it takes to make a push token: it pushes titles, so its maker needs that right too. It ends when its maker loses either of them. */
export const TOKEN_RIGHTS: readonly Right[] = ['titles', 'operate'];

export interface AdminUserConfig {
  readonly password?: Secret | undefined;
  /** Sent as a bearer. Two, so that a new one can be in use before the old one goes. */
  readonly tokens: readonly Secret[];
  readonly rights: readonly Right[];
}

export type AdminUsers = Readonly<Record<string, AdminUserConfig>>;

/** Whether there is such a user now, with the rights that a maker of push tokens needs. */
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
    error: 'must be a map from names of users to options',
  });
  return section({
    users: users.refine((all) => Object.keys(all).length <= 100, { error: 'must be at most 100 users' }).default({}),
    // Refusals and lines of the log that are kept to be shown.
    refusals: whole(1, 10_000).default(200),
    logLines: whole(1, 10_000).default(500),
    // Of live streams (events, log) at a time: all together.
    streams: whole(1, 1000).default(20),
    blocks: whole(1, 100_000).default(1000),
  }).prefault({});
}
