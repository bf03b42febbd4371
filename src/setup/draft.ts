/**
 * A configuration before it is a file: its options as plain data, the comments, and what the operator must know besides. Made from answers
 * (answers.ts) or from another program's file (import.ts); draft-text.ts writes it.
 */

import { networkInterfaces } from 'node:os';

/** Plain data that YAML can express. */
export type Option = string | number | boolean | readonly Option[] | { readonly [name: string]: Option };
export type DraftOptions = { [name: string]: Option };

export interface Comment {
  /** Path of the member below the comment. */
  readonly path: readonly (string | number)[];
  /** Lines, without their `#`. */
  readonly text: string;
}

/** The logins of a channel, shown once. */
export interface ChannelLogin {
  readonly key: string;
  /** The mount's path. */
  readonly mount: string;
  /** The push token; null: none. */
  readonly token: string | null;
  /** Null: no encoder feeds it. A null password was in the other program's file, so its owner knows it. */
  readonly encoder: { readonly user: string; readonly password: string | null } | null;
}

export interface Draft {
  readonly options: DraftOptions;
  readonly comments: readonly Comment[];
  /** What the other program's file had and this one lacks: a sentence each. */
  readonly lost: readonly string[];
  readonly logins: readonly ChannelLogin[];
  /** The port of the first address. */
  readonly port: number;
  /** The server's URL for players, without a trailing slash; '': unknown. */
  readonly publicUrl: string;
}

/** The start of a variable in a configuration, which cannot be escaped (config/document.ts). */
export const VARIABLE_START = '${';

/** The host that means all interfaces: `::`, or, on a machine without IPv6, `0.0.0.0`. */
export function everyNetwork(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return addresses.some(({ family }) => family === 'IPv6') ? '::' : '0.0.0.0';
}
