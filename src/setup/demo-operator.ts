/**
 * The operator of the demo: with it, a user who starts the server without a configuration can use `/admin` at once. Each start makes a new
 * password and prints it; only its digest is kept, in the configuration.
 */

import { type MadeSecret, makePassword } from './made-secret.js';

export const DEMO_OPERATOR = 'operator';

let made: MadeSecret | undefined;

/** The same at each call, so that a reload does not change it. */
export function demoPassword(): string {
  made ??= makePassword();
  return made.plain;
}

/** The text of the demo's configuration with its operator. */
export function withOperator(text: string): string {
  demoPassword();
  return `${text}\nadmin: { users: { ${DEMO_OPERATOR}: { password: '${made!.option}', rights: [read, titles, operate] } } }\n`;
}
