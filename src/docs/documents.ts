/**
 * The three documents together, made when one is asked for, over several turns of the loop. They describe the interface of one server: its limits
 * and its version.
 */

import { setImmediate } from 'node:timers/promises';
import { ownVersion } from '../base/own-files.js';
import { measured } from '../base/watchdog.js';
import type { PushLimits } from '../metadata/push-schema.js';
import { asyncApi } from './asyncapi.js';
import type { Json } from './json.js';
import { type DescribedRoute, openApi } from './openapi.js';
import type { ReadLimits } from './read-docs.js';
import { recordSchema, schemas } from './schemas.js';

export interface ApiDocuments {
  readonly openApi: Json;
  readonly asyncApi: Json;
  /** JSON Schema 2020-12 of the channel record. */
  readonly record: Json;
}

/** @param limits of a push and of a history, described in their fields @param routes those of fastify */
export async function documents(
  limits: PushLimits & ReadLimits,
  routes: readonly DescribedRoute[],
): Promise<ApiDocuments> {
  const version = ownVersion();
  const all = measured('document', () => schemas(limits));
  await setImmediate();
  return {
    openApi: await openApi(limits, routes, version, all),
    asyncApi: measured('document', () => asyncApi(version, all)),
    record: measured('document', () => recordSchema(all)),
  };
}
