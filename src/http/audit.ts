/** The line that every act of an operator leaves in the log: who, from where, what, what became of it. Never with secrets. */

import type { Log } from '../base/log.js';

/** Who acts. */
export interface Actor {
  readonly name: string;
  /** Of the client. */
  readonly address: string;
}

const TEXT_CHARACTERS = 64;

export function auditDone(log: Log, { name, address }: Actor, act: string, what: object): void {
  log.info({ user: name, address, act, ...what, outcome: 'done' }, 'admin act');
}

/** @param asked what the client sent: as far as a log needs it */
export function auditRefused(log: Log, { name, address }: Actor, act: string, asked: object, outcome: object): void {
  const printable = Object.entries(asked).map(([name, value]) => [name, String(value).slice(0, TEXT_CHARACTERS)]);
  log.warn({ user: name, address, act, asked: Object.fromEntries(printable), ...outcome }, 'admin act refused');
}
