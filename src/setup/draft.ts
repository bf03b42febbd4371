/**
 * A configuration before it is a file: its options as plain data, what explains them, and what its maker has to know beside it. Made from
 * answers (answers.ts) or from another program's file (icecast-draft.ts, liquidsoap.ts); draft-text.ts writes it.
 */

import { networkInterfaces } from 'node:os';

/** Plain data: what YAML holds. */
export type Option = string | number | boolean | readonly Option[] | { readonly [name: string]: Option };
export type DraftOptions = { [name: string]: Option };

export interface Comment {
  /** Of the member that it stands above. */
  readonly path: readonly (string | number)[];
  /** Lines, without their `#`. */
  readonly text: string;
}

/** What is shown once of a channel, to connect with. */
export interface ChannelLogin {
  readonly key: string;
  /** A path. */
  readonly mount: string;
  /** Null: nothing can be pushed. */
  readonly token: string | null;
  /** Null: no encoder feeds it. A password that is null is known to its owner: it was in the other program's file. */
  readonly encoder: { readonly user: string; readonly password: string | null } | null;
}

export interface Draft {
  readonly options: DraftOptions;
  readonly comments: readonly Comment[];
  /** What the other program did and this file does not say: a sentence each. */
  readonly lost: readonly string[];
  readonly logins: readonly ChannelLogin[];
  /** The port of the first address, as clients reach it. */
  readonly port: number;
  /** Where players reach it, without a slash at its end; '': at that port. */
  readonly publicUrl: string;
}

/** The variables of a configuration begin so, and nothing makes it plain text (config/document.ts). */
export const VARIABLE_START = '${';

/** All networks. Where there is no IPv6 at all, `::` cannot be had. */
export function everyNetwork(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return addresses.some(({ family }) => family === 'IPv6') ? '::' : '0.0.0.0';
}
