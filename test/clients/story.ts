/**
 * What each generated client does with a server: make a push token, push with it, read, revoke it, and be refused. The types of the
 * members are the generated ones' to fulfil; `@ts-expect-error` in the clients shows that these are not just `any`.
 */

export interface Story {
  readonly user: { readonly name: string; readonly rights: readonly ('read' | 'titles' | 'operate')[] };
  readonly sources: readonly ('encoder' | 'pull' | 'file')[];
  readonly pushed: { readonly artist: string; readonly song: string; readonly duration: number };
  readonly now: { readonly rawdata: string; readonly type: 'now' | 'next' };
  readonly text: string;
  readonly station: readonly string[];
  readonly channels: readonly { readonly channelkey: string; readonly listenurls: readonly string[] }[];
  /** Statuses of acts that answer nothing else. */
  readonly revoked: number;
  readonly refused: readonly { readonly status: number; readonly type: string; readonly detail: string }[];
}

/** The user that may do all, and the token of one that may only look (test/kit/admin-client.ts). */
export interface Credentials {
  readonly password: string;
  readonly readerToken: string;
}

/** @throws Error where there is none: an answer was a refusal */
export function there<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`no ${what}`);
  return value;
}
