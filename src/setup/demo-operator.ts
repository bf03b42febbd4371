/**
 * The operator of the demo: who starts the server without a configuration may use `/admin` at once. The password is made once for each start, printed
 * with what to paste, and kept nowhere; the configuration has its digest, as that of any user.
 */

import { type MadeSecret, makePassword } from './made-secret.js';

export const DEMO_OPERATOR = 'operator';

let made: MadeSecret | undefined;

/** The same at each call: a reload changes nothing. */
export function demoPassword(): string {
  made ??= makePassword();
  return made.plain;
}

/** The text of the demo's configuration with its operator. */
export function withOperator(text: string): string {
  demoPassword();
  return `${text}\nadmin: { users: { ${DEMO_OPERATOR}: { password: '${made!.option}', rights: [read, titles, operate] } } }\n`;
}
