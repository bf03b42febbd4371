/**
 * A refusal as the stranger sees it: RFC 9457 problem+json, with every bad field named (contract, "Errors are…").
 */

import type { ServerResponse } from 'node:http';
import { REFUSALS, Refusal } from '../refusal.js';

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';

/** The body: type, title, status, detail and, where fields are at fault, errors. */
export function problemJson(refusal: Refusal): string {
  const { status, title } = REFUSALS[refusal.kind];
  const problem: Record<string, unknown> = {
    type: `urn:airsplice:problem:${refusal.kind}`,
    title,
    status,
    detail: refusal.message,
  };
  if (refusal.errors.length > 0) problem['errors'] = refusal.errors;
  return JSON.stringify(problem);
}

/** Turns whatever was thrown into a refusal; what is not one is ours, and says nothing of itself outside. */
export function asRefusal(error: unknown): Refusal {
  return error instanceof Refusal ? error : new Refusal('internal', 'Something went wrong on the server.');
}

/** Answers with a refusal; `heads` are added (CORS on reads). HEAD gets the same head without the body. */
export function sendProblem(
  response: ServerResponse,
  refusal: Refusal,
  heads: Readonly<Record<string, string>> = {},
): void {
  const body = problemJson(refusal);
  response.writeHead(refusal.status, {
    'Content-Type': PROBLEM_TYPE,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    ...heads,
    ...refusal.headers,
  });
  response.end(body);
}
