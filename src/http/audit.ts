/** Logs each act of an operator: who, from where, what, and the outcome. Never with secrets. */

import type { Log } from '../base/log.js';

export interface Actor {
  readonly name: string;
  /** The client's. */
  readonly address: string;
  /** Its id. */
  readonly connection?: string | undefined;
}

/** Logged texts that a client sent are cut to this length. */
const TEXT_CHARACTERS = 64;
/** Texts of a completed act (titles, names, changes) are cut to this length. */
const DONE_CHARACTERS = 500;
/** Lists are cut to this length. */
const MAX_MEMBERS = 20;

export function auditDone(log: Log, actor: Actor, act: string, what: object): void {
  log.info({ ...lineOf(actor, act), ...cut(what, DONE_CHARACTERS), outcome: 'done' }, 'admin act');
}

/** @param asked the part of the client's input that the log needs */
export function auditRefused(log: Log, actor: Actor, act: string, asked: object, outcome: object): void {
  const texts = Object.fromEntries(Object.entries(asked).map(([name, value]) => [name, String(value)]));
  log.warn({ ...lineOf(actor, act), asked: cut(texts, TEXT_CHARACTERS), ...outcome }, 'admin act refused');
}

function lineOf({ name, address, connection }: Actor, act: string): object {
  return { user: name, address, ...(connection !== undefined && { connection }), act };
}

/** Cuts texts to this many characters, and lists to MAX_MEMBERS. */
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
