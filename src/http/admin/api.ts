/** Registers all routes at and below `/admin` (README.md). */

import type { FastifyInstance } from 'fastify';
import {
  registerBlockActs,
  registerConnectionActs,
  registerFallbackActs,
  registerReload,
  registerTitleActs,
  registerTokenActs,
} from './acts.js';
import { registerAdminPage } from './admin-page.js';
import { registerReads } from './admin-reads.js';
import { registerIcecastAdmin } from './icecast-admin.js';
import { type LiveStreams, registerLive } from './live-streams.js';
import { registerLogin } from './login-routes.js';
import type { AdminParts } from './parts.js';
import { AdminRoutes } from './routes.js';

export function registerAdmin(app: FastifyInstance, parts: AdminParts, live: LiveStreams): void {
  const routes = new AdminRoutes(app, parts.access, parts.log);
  registerReads(routes, parts);
  registerTitleActs(routes, parts);
  registerConnectionActs(routes, parts);
  registerFallbackActs(routes, parts);
  registerBlockActs(routes, parts);
  registerTokenActs(routes, parts);
  registerReload(routes, parts);
  registerLive(routes, live);
  registerAdminPage(app, parts.access);
  registerLogin(app, parts);
  registerIcecastAdmin(app, routes, parts);
  routes.finish();
}
