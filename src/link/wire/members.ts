/**
 * Tables of the members of messages, in the order in which they are read, each member with its limits: the other end may be faulty or hostile. Each
 * type of message has one (tape-messages.ts, segment-message.ts, session-messages.ts).
 */

import { MAX_NAME_BYTES, MAX_NUMBER, MAX_WHOLE, type MessageReader, WireError } from './wire.js';

/** One member of a message. `read` throws WireError where the value is outside its limits. */
export interface Member<T> {
  readonly kind: 'byte' | 'whole' | 'signed' | 'number' | 'text' | 'blob' | 'rest' | 'group' | 'list';
  /** Limits of a number, or of the length of bytes and lists. */
  readonly least: number;
  readonly most: number;
  /** Of a group, or of each element of a list. */
  readonly members?: Readonly<Record<string, Member<unknown>>>;
  read(message: MessageReader): T;
}

/** Members by name. */
export type MemberTable<T> = { readonly [K in keyof T]-?: Member<T[K]> };

/** @throws WireError that names the member */
export function readMembers<T extends object>(message: MessageReader, members: MemberTable<T>): T {
  const read: Partial<T> = {};
  let name = '';
  try {
    for (name in members) read[name as keyof T] = members[name as keyof T].read(message);
  } catch (error) {
    throw error instanceof WireError ? new WireError(`${name}: ${error.message}`) : error;
  }
  return read as T;
}

/** Reads a whole message. @throws WireError also if bytes are left */
export function readAll<T extends object>(message: MessageReader, members: MemberTable<T>): T {
  const read = readMembers(message, members);
  message.end();
  return read;
}

export function byte(most = 255): Member<number> {
  return { kind: 'byte', least: 0, most, read: (message) => message.byte(most) };
}

export function whole(most = MAX_WHOLE, least = 0): Member<number> {
  return { kind: 'whole', least, most, read: (message) => message.whole(most, least) };
}

export function signed(least: number, most: number): Member<number> {
  return { kind: 'signed', least, most, read: (message) => message.signed(least, most) };
}

export function number(least = -MAX_NUMBER, most = MAX_NUMBER): Member<number> {
  return { kind: 'number', least, most, read: (message) => message.number(least, most) };
}

export function text(most = MAX_NAME_BYTES): Member<string> {
  return { kind: 'text', least: 0, most, read: (message) => message.text(most) };
}

export function blob(most: number): Member<Buffer> {
  return { kind: 'blob', least: 0, most, read: (message) => message.blob(most) };
}

export function rest(most: number): Member<Buffer> {
  return { kind: 'rest', least: 0, most, read: (message) => message.rest(most) };
}

export function group<T extends object>(members: MemberTable<T>): Member<T> {
  const read = (message: MessageReader) => readMembers(message, members);
  return { kind: 'group', least: 0, most: 0, members: members as Readonly<Record<string, Member<unknown>>>, read };
}

/** A count, then as many groups. */
export function list<T extends object>(members: MemberTable<T>, most: number): Member<readonly T[]> {
  const read = (message: MessageReader) => {
    const all: T[] = [];
    for (let left = message.whole(most); left > 0; left--) all.push(readMembers(message, members));
    return all;
  };
  return { kind: 'list', least: 0, most, members: members as Readonly<Record<string, Member<unknown>>>, read };
}
