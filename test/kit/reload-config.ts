/** A configuration as plain data for tests to change. It is written as JSON, which is valid YAML. */

import { createHash } from 'node:crypto';
import type { StampedCodec } from './stamped.js';

export type Options = { [name: string]: unknown };
export type SourceState = Options & { readonly type: 'encoder' | 'file' | 'pull' };
export type ChannelState = Options & {
  name: string;
  mounts: string[];
  access: 'open' | 'hook' | 'signed';
  pushTokens: string[];
  sources: SourceState[];
};
export interface StationState {
  name: string;
  timezone: string;
  channels: Record<string, ChannelState>;
}
export interface ConfigState {
  addresses: Options[];
  stations: Record<string, StationState>;
  /** Top-level sections. */
  readonly top: Record<string, Options>;
}

/** The codec of a present or future channel: every fourth plays AAC. */
export function codecOf(key: string): StampedCodec {
  return Number(key.slice(1)) % 4 === 3 ? 'aac' : 'mp3';
}

export const hashed = (secret: string) => `sha256:${createHash('sha256').update(secret).digest('hex')}`;

/** A source's name in tests and plans: `encoder`, `file PATH`, `pull URL`. */
export function nameOf(source: SourceState): string {
  if (source.type === 'encoder') return 'encoder';
  return source.type === 'file' ? `file ${source['path']}` : `pull ${source['url']}`;
}

export function channelsOf({ stations }: ConfigState): Map<string, ChannelState> {
  return new Map(Object.values(stations).flatMap(({ channels }) => Object.entries(channels)));
}
