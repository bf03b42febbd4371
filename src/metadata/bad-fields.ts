/** What is wrong with a push: every bad field, named at once in one refusal. */

import { type FieldError, Refusal } from '../base/refusal.js';
import { isTooLarge, type PushIssues } from './push-schema.js';

export interface BadField extends FieldError {
  readonly kind: 'bad-request' | 'too-large' | 'invalid';
}

/** Those that a schema has found. */
export function badFields(parsed: PushIssues): BadField[] {
  const issues = parsed.error?.issues ?? [];
  return issues.map((issue) => ({
    field: issue.path.join('.'),
    message: issue.message,
    kind: isTooLarge(issue) ? 'too-large' : 'invalid',
  }));
}

/** The worst kind counts: unreadable, too large, invalid. All bad fields are named. */
export function refusalOf(bad: readonly BadField[]): Refusal {
  const kind = (['bad-request', 'too-large', 'invalid'] as const).find((kind) => bad.some((one) => one.kind === kind))!;
  const names = [...new Set(bad.map(({ field }) => field))].join(', ');
  const errors = bad.map(({ field, message }) => ({ field, message }));
  return new Refusal(kind, `Nothing was applied; look at: ${names}`, { errors });
}
