/** Writes each act of an operator to the log: who, from where, what, and the outcome. Never with secrets. */

import type { Log } from '../base/log.js';

/** Who acts. */
export interface Actor {
  readonly name: string;
  /** Of the client. */
  readonly address: string;
  /** The id of its connection. */
  readonly connection?: string | undefined;
}

/** The longest text of a client that is logged. */
const TEXT_CHARACTERS = 64;
/** The longest text of what was done: titles, names, changes. */
const DONE_CHARACTERS = 500;
/** The most members of a list. */
const MAX_MEMBERS = 20;

export function auditDone(log: Log, actor: Actor, act: string, what: object): void {
  log.info({ ...lineOf(actor, act), ...cut(what, DONE_CHARACTERS), outcome: 'done' }, 'admin act');
}

/** @param asked what the client sent, as much as the log needs */
export function auditRefused(log: Log, actor: Actor, act: string, asked: object, outcome: object): void {
  const texts = Object.fromEntries(Object.entries(asked).map(([name, value]) => [name, String(value)]));
  log.warn({ ...lineOf(actor, act), asked: cut(texts, TEXT_CHARACTERS), ...outcome }, 'admin act refused');
}

function lineOf({ name, address, connection }: Actor, act: string): object {
  return { user: name, address, ...(connection !== undefined && { connection }), act };
}

/** Cuts its texts to this many characters, and its lists to their first members. */
function cut(what: object, characters: number): object {
  const textOf = (value: unknown) => (typeof value === 'string' ? value.slice(0, characters) : value);
  const members = Object.entries(what).map(([name, value]) => [
    name,
    Array.isArray(value) ? listOf(value.map(textOf)) : textOf(value),
  ]);
  return Object.fromEntries(members);
}

function listOf(values: readonly unknown[]): readonly unknown[] {
  if (values.length <= MAX_MEMBERS) return values;
  return [...values.slice(0, MAX_MEMBERS), `and ${values.length - MAX_MEMBERS} more`];
}
