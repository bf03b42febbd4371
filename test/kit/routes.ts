/** The routes of fastify, as a server registers them, without one: none of them is ever asked. */

import type { FastifyInstance } from 'fastify';
import { registerAdmin } from '../../src/http/admin/api.js';
import { registerStatistics } from '../../src/http/admin/statistics-routes.js';
import { registerDocuments } from '../../src/http/document-routes.js';
import { registerHeard } from '../../src/http/heard-route.js';
import { registerOps } from '../../src/http/ops.js';
import { registerPage } from '../../src/http/page/page-routes.js';
import { registerPush } from '../../src/http/push-routes.js';
import { registerPlaylists } from '../../src/http/stream/playlists.js';
import { registerStations } from '../../src/http/stream/stations-list.js';
import { registerStatus } from '../../src/http/stream/status-routes.js';
import { registerStreamInfo } from '../../src/http/stream/stream-info-file.js';

export function registerAll(app: FastifyInstance): void {
  registerPlaylists(app, { channels: [{ paths: ['/{mount}'] } as never] }, {} as never);
  registerStreamInfo(app, { channels: [] });
  registerStations(app, { stations: [] } as never);
  registerStatus(app, {} as never);
  registerPush(app, {} as never, () => ({ pushBodyBytes: 1 }) as never, {} as never);
  registerHeard(app, {} as never, () => 1);
  registerOps(
    app,
    { ready: true, metricsType: 'text/plain', metrics: async () => '', cluster: async () => null },
    {} as never,
  );
  registerAdmin(app, {} as never, {} as never);
  registerStatistics(app, {} as never);
  const empty = { openApi: {}, asyncApi: {}, record: {} };
  registerDocuments(app, async () => empty, {} as never);
  registerPage(app, {} as never);
}
