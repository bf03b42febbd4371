/** A configuration as plain data, as tests change it: written as JSON, which YAML reads. */

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
  /** Sections at the top. */
  readonly top: Record<string, Options>;
}

/** Of a channel that is there or may come: every fourth plays AAC. */
export function codecOf(key: string): StampedCodec {
  return Number(key.slice(1)) % 4 === 3 ? 'aac' : 'mp3';
}

export const hashed = (secret: string) => `sha256:${createHash('sha256').update(secret).digest('hex')}`;

/** By the name by which tests and plans know sources: `encoder`, `file PATH`, `pull URL`. */
export function nameOf(source: SourceState): string {
  if (source.type === 'encoder') return 'encoder';
  return source.type === 'file' ? `file ${source['path']}` : `pull ${source['url']}`;
}

export function channelsOf({ stations }: ConfigState): Map<string, ChannelState> {
  return new Map(Object.values(stations).flatMap(({ channels }) => Object.entries(channels)));
}
