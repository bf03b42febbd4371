/** The messages of HLS windows, described in ../README.md. Each begins with the number of the subscription. */

import {
  type ListState,
  listSchema,
  MAX_SEGMENT_BYTES,
  MAX_SEQUENCE,
  readSegment,
  titleSchema,
} from '../../hls/hls-schema.js';
import type { HlsTitle } from '../../hls/hls-title.js';
import type { HlsSegment } from '../../hls/playlist.js';
import { decode, encode, parse } from '../../metadata/codec.js';
import type { LinkConnection } from '../wire/link-connection.js';
import { byte, type MemberTable, number, readAll, rest, text } from '../wire/members.js';
import { HLS_LIST, HLS_SEGMENT, HLS_SUBSCRIBE, HLS_TITLE } from '../wire/message-types.js';
import type { MessageReader } from '../wire/wire.js';

/** Maximum size of plain data: each text of a title has up to 300 characters. */
const MAX_PLAIN_BYTES = 16 * 1024;
const [CHANNEL_BYTES, NAME_BYTES] = [128, 64];

/** What a worker has of a channel's window when it asks for it. */
export interface HlsSubscribe {
  readonly channel: string;
  /** Whether a playlist is requested: then segments are cut from now on. */
  readonly isAsked: boolean;
  /** Its last segment; 0 and "": it has none. */
  readonly last: number;
  readonly name: string;
}

const HLS_SUBSCRIBE_MEMBERS: MemberTable<Omit<HlsSubscribe, 'isAsked'> & { readonly flags: number }> = {
  channel: text(CHANNEL_BYTES),
  flags: byte(1),
  last: number(0, MAX_SEQUENCE),
  name: text(NAME_BYTES),
};
const HLS_LIST_MEMBERS: MemberTable<{ readonly flags: number; readonly list: string }> = {
  flags: byte(1),
  list: text(MAX_PLAIN_BYTES),
};
const HLS_TITLE_MEMBERS: MemberTable<{ readonly title: string }> = { title: text(MAX_PLAIN_BYTES) };
const HLS_SEGMENT_MEMBERS: MemberTable<{ readonly facts: string; readonly bytes: Buffer }> = {
  facts: text(MAX_PLAIN_BYTES),
  bytes: rest(MAX_SEGMENT_BYTES),
};

export function writeHlsSubscribe(connection: LinkConnection, id: number, subscribe: HlsSubscribe): void {
  const { channel, isAsked, last, name } = subscribe;
  const message = connection.begin(HLS_SUBSCRIBE).whole(id).text(channel);
  message
    .byte(isAsked ? 1 : 0)
    .number(last)
    .text(name)
    .end();
}

export function readHlsSubscribe(message: MessageReader): HlsSubscribe {
  const { flags, ...subscribe } = readAll(message, HLS_SUBSCRIBE_MEMBERS);
  return { ...subscribe, isAsked: flags === 1 };
}

/** @param isFresh whether the worker drops what it has */
export function writeHlsList(connection: LinkConnection, id: number, isFresh: boolean, list: ListState): void {
  connection
    .begin(HLS_LIST)
    .whole(id)
    .byte(isFresh ? 1 : 0)
    .text(encode(list))
    .end();
}

export function readHlsList(message: MessageReader): { readonly isFresh: boolean; readonly list: ListState } {
  const { flags, list } = readAll(message, HLS_LIST_MEMBERS);
  return { isFresh: flags === 1, list: decode(listSchema, list) };
}

export function writeHlsTitle(connection: LinkConnection, id: number, title: HlsTitle): void {
  connection.begin(HLS_TITLE).whole(id).text(encode(title)).end();
}

export function readHlsTitle(message: MessageReader): HlsTitle {
  return decode<HlsTitle>(titleSchema, readAll(message, HLS_TITLE_MEMBERS).title);
}

/** Called between `cork` and `uncork`. */
export function writeHlsSegment(connection: LinkConnection, id: number, { bytes, ...facts }: HlsSegment): void {
  connection.begin(HLS_SEGMENT).whole(id).text(encode(facts));
  connection.endWith(bytes);
}

export function readHlsSegment(message: MessageReader): HlsSegment {
  const { facts, bytes } = readAll(message, HLS_SEGMENT_MEMBERS);
  return { ...readSegment(parse(facts)), bytes };
}
