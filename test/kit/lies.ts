/**
 * Well-formed but false messages of a link: each member of each message at every boundary, from the table of its members
 * (src/link/wire/members.ts), and plain data with each of its members replaced.
 */

import type { Member, MemberTable } from '../../src/link/wire/members.js';

type AnyMember = Member<unknown>;
type AnyMembers = Readonly<Record<string, AnyMember>>;
type Values = Readonly<Record<string, unknown>>;

export interface Lie {
  /** The false member and its value. */
  readonly what: string;
  /** The bytes after the common start of its kind of message. */
  readonly payload: Buffer;
}

const WHOLES = [0, 1, 2, 2 ** 30, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 2, 2 ** 32 - 1];
const NUMBERS = [
  0,
  -0,
  -1,
  0.5,
  1,
  2 ** 31,
  2 ** 32 - 1,
  2 ** 52,
  2 ** 53,
  1e15,
  1e300,
  -1e300,
  NaN,
  Infinity,
  -Infinity,
];
const BROKEN_TEXT = Buffer.from([0xff, 0xfe, 0xc0, 0x80]);
/** Maximum length of bytes whose limit is larger. */
const MAX_BYTES = 2 * 1024 * 1024;

/** The valid message. */
export function honest<T extends object>(members: MemberTable<T>, values: T): Buffer {
  return encoded(members as unknown as AnyMembers, values as Values);
}

/** Variants of the message, each with one member at one of its boundaries. */
export function* lies<T extends object>(members: MemberTable<T>, values: T): Iterable<Lie> {
  yield* liesOf(members as unknown as AnyMembers, values as Values, '');
}

function* liesOf(members: AnyMembers, values: Values, path: string): Iterable<Lie> {
  const whole = encoded(members, values);
  for (const [name, member] of Object.entries(members)) {
    const at = `${path}${name}`;
    const replaced = (what: string, bytes: Buffer): Lie => {
      const parts = Object.entries(members).map(([each, one]) =>
        each === name ? bytes : encodedAs(one, values[each]),
      );
      return { what: `${at} ${what}`, payload: Buffer.concat(parts) };
    };
    for (const [what, bytes] of boundaries(member)) yield replaced(what, bytes);
    if (member.kind === 'group') {
      for (const lie of liesOf(member.members!, values[name] as Values, `${at}.`)) {
        yield { what: lie.what, payload: replaced('', lie.payload).payload };
      }
    }
    if (member.kind !== 'list') continue;
    const [first, ...others] = (values[name] as readonly Values[]) ?? [];
    if (first === undefined) continue;
    for (const lie of liesOf(member.members!, first, `${at}.`)) {
      const rest = others.map((each) => encoded(member.members!, each));
      yield {
        what: lie.what,
        payload: replaced('', Buffer.concat([uint32(1 + others.length), lie.payload, ...rest])).payload,
      };
    }
  }
  for (const length of [0, 1, whole.length - 1])
    yield { what: `${path}cut at ${length}`, payload: whole.subarray(0, length) };
  yield { what: `${path}too long`, payload: Buffer.concat([whole, Buffer.alloc(3, 1)]) };
}

function* boundaries({ kind, least, most }: AnyMember): Iterable<readonly [what: string, bytes: Buffer]> {
  if (kind === 'byte')
    for (const value of new Set([0, most, Math.min(255, most + 1), 255])) yield [`${value}`, Buffer.of(value)];
  if (kind === 'whole') {
    for (const value of new Set([...WHOLES, least, Math.max(0, least - 1), most, most + 1]))
      yield [`${value}`, uint32(value)];
  }
  if (kind === 'signed') {
    for (const value of new Set([0, -1, least, least - 1, most, most + 1, 2 ** 31 - 1, -(2 ** 31)])) {
      if (value >= -(2 ** 31) && value < 2 ** 31) yield [`${value}`, uint32(value >>> 0)];
    }
  }
  if (kind === 'number') {
    for (const value of new Set([...NUMBERS, least, least - 1, most, most + 1])) yield [`${value}`, double(value)];
  }
  if (kind === 'text' || kind === 'blob') {
    for (const length of new Set([0, 1, most, most + 1])) {
      if (length <= MAX_BYTES) yield [`of ${length} bytes`, Buffer.concat([uint32(length), Buffer.alloc(length, 'x')])];
    }
    yield ['longer than it is', Buffer.concat([uint32(2 ** 32 - 1), Buffer.from('x')])];
    yield ['no UTF-8', Buffer.concat([uint32(BROKEN_TEXT.length), BROKEN_TEXT])];
    yield ['control characters', Buffer.concat([uint32(5), Buffer.from('a\r\n\0b')])];
  }
  if (kind === 'rest') {
    for (const length of new Set([0, 1, 1000, most, most + 1])) {
      if (length <= MAX_BYTES) yield [`of ${length} bytes`, Buffer.alloc(length, 0xff)];
    }
  }
  if (kind === 'list') for (const count of [most + 1, 2 ** 31, 2 ** 32 - 1]) yield [`of ${count}`, uint32(count)];
}

function encoded(members: AnyMembers, values: Values): Buffer {
  return Buffer.concat(Object.entries(members).map(([name, member]) => encodedAs(member, values[name])));
}

function encodedAs({ kind, members }: AnyMember, value: unknown): Buffer {
  if (kind === 'byte') return Buffer.of(value as number);
  if (kind === 'whole') return uint32(value as number);
  if (kind === 'signed') return uint32((value as number) >>> 0);
  if (kind === 'number') return double(value as number);
  if (kind === 'rest') return value as Buffer;
  if (kind === 'group') return encoded(members!, value as Values);
  if (kind === 'list') {
    const all = value as readonly Values[];
    return Buffer.concat([uint32(all.length), ...all.map((each) => encoded(members!, each))]);
  }
  const bytes = Buffer.from(value as string);
  return Buffer.concat([uint32(bytes.length), bytes]);
}

/** A message on the wire. */
export function framed(type: number, payload: Buffer): Buffer {
  return Buffer.concat([uint32(payload.length), Buffer.of(type), payload]);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(Math.min(value, 2 ** 32 - 1));
  return bytes;
}

function double(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes;
}

/** Replacements for members of plain data. */
const OTHERS: readonly unknown[] = [
  ...[undefined, null, true, 0, -1, 0.5, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 53, 4e9, 1e300, -1e300],
  ...['', 'x', 'No/Where', '\r\n\0', '\ud800', 'x'.repeat(200_000), [], {}, [null], { x: { x: {} } }],
];

/** Variants of plain data, each with one member replaced by a wrong value. */
export function* plainLies(value: unknown, path = ''): Iterable<{ readonly what: string; readonly value: unknown }> {
  for (const other of OTHERS)
    yield { what: `${path || 'all'}: ${String(JSON.stringify(other)).slice(0, 30)}`, value: other };
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    for (const lie of plainLies(member, path === '' ? name : `${path}.${name}`)) {
      const made = Array.isArray(value) ? value.with(Number(name), lie.value) : { ...value, [name]: lie.value };
      yield { what: lie.what, value: made };
    }
  }
}
