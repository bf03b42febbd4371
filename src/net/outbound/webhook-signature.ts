/**
 * What proves to a receiver that a message is ours and new, as Standard Webhooks have it (standardwebhooks.com, "Signature scheme"):
 *
 *   webhook-id: ID   webhook-timestamp: UNIX_SECONDS   webhook-signature: v1,BASE64(HMAC-SHA-256(key, "ID.UNIX_SECONDS.BODY"))
 *
 * The id is the same in every attempt, the timestamp is that of the attempt. Pure.
 */

import { createHmac, type KeyObject } from 'node:crypto';

/** @param key undefined: it is not signed */
export function signatureHeaders(
  key: KeyObject | undefined,
  id: string,
  body: string,
  wallMs: number,
): Record<string, string> {
  const timestamp = String(Math.floor(wallMs / 1000));
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp };
  if (key === undefined) return headers;
  const digest = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { ...headers, 'webhook-signature': `v1,${digest}` };
}
