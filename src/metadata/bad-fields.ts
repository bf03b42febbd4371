/** The bad fields of a push, all named in one refusal, so that the sender can correct them at once. */

import { type FieldError, Refusal } from '../base/refusal.js';
import { isTooLarge, type PushIssues } from './push-schema.js';

export interface BadField extends FieldError {
  readonly kind: 'bad-request' | 'too-large' | 'invalid';
}

/** The fields that a schema has rejected. */
export function badFields(parsed: PushIssues): BadField[] {
  const issues = parsed.error?.issues ?? [];
  return issues.map((issue) => ({
    field: issue.path.join('.'),
    message: issue.message,
    kind: isTooLarge(issue) ? 'too-large' : 'invalid',
  }));
}

/** One refusal for all bad fields, of the worst kind among them: unreadable, too large, invalid. */
export function refusalOf(bad: readonly BadField[]): Refusal {
  const kind = (['bad-request', 'too-large', 'invalid'] as const).find((kind) => bad.some((one) => one.kind === kind))!;
  const names = [...new Set(bad.map(({ field }) => field))].join(', ');
  const errors = bad.map(({ field, message }) => ({ field, message }));
  return new Refusal(kind, `Nothing was applied. Invalid fields: ${names}`, { errors });
}
