/** A router behind its own front, on a free loopback port, for tests without channels or a configuration. */

import type { Server } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Test } from 'tap';
import type { HttpService, UpgradeService } from '../../src/http/http-service.js';
import { Roles } from '../../src/http/roles.js';
import { Router } from '../../src/http/router.js';
import { Proxies } from '../../src/net/front/client-address.js';
import { Front } from '../../src/net/front/front.js';
import { FakeClock } from './clock.js';
import { roomyTable } from './front-harness.js';

/** Options of a separate Watch, with limits that no test reaches. */
export const WATCH_OPTIONS = {
  pingMs: 25_000,
  bufferBytes: 65_536,
  drainMs: 30_000,
  watchers: 10,
  watchersPerAddress: 10,
  frames: 200,
  proxies: new Proxies([], 'x-forwarded-for'),
  onError: () => undefined,
  reports: { take: () => 'taken' as const },
};

export interface RoutedOptions {
  readonly services?: readonly HttpService[];
  readonly upgrades?: readonly UpgradeService[];
  /** Registers routes before the router is ready. */
  register?(app: FastifyInstance): void;
  /** Changes the HTTP server before it gets connections. */
  adjust?(server: Server): void;
  readonly roles?: Roles;
  /** Called when the router is ready. */
  onRouter?(router: Router): void;
  onError?(error: unknown): void;
}

/** @returns the port; router and front are closed with the test */
export async function startRouted(t: Test, options: RoutedOptions): Promise<number> {
  const { watchdog } = new FakeClock();
  const connections = roomyTable();
  const router = new Router({
    services: options.services ?? [],
    upgrades: options.upgrades ?? [],
    watchdog,
    connections,
    headBytes: 32_768,
    limits: { headSeconds: 1, requestSeconds: 30, answerSeconds: 180 },
    onError: (error) => options.onError?.(error),
  });
  options.register?.(router.app);
  await router.ready();
  const http = router.server(options.roles ?? new Roles(undefined));
  options.adjust?.(http);
  options.onRouter?.(router);
  const front = new Front({
    host: '127.0.0.1',
    port: 0,
    headMs: 1000,
    watchdog,
    connections,
    http,
  });
  const port = await front.listen();
  t.teardown(() => Promise.all([router.close(), front.close()]));
  return port;
}
