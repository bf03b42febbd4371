/** Follows a channel, a station, or what one listener hears. */

import { rootOf } from './browser.js';
import { Follower } from './follower.js';
import type { Following, FollowOptions, FollowTarget } from './types.js';

/**
 * Reports the records in force, then every change, until `close()`; no record twice in a row, whatever the network does. It reconnects by itself.
 * @throws TypeError for an invalid or missing URL of the server, without a target, or for `transport: 'websocket'` if there is no WebSocket
 */
export function follow(options: FollowOptions): Following {
  const { scope, id, sync } = targetOf(options);
  if (typeof id !== 'string' || id === '') throw new TypeError('channel, station or listener: name one');
  return new Follower(rootOf(options.server), `${scope}/${encodeURIComponent(id)}`, sync, options);
}

function targetOf(target: FollowTarget): { scope: string; id: string; sync?: string | undefined } {
  if ('channel' in target) return { scope: 'channel', id: target.channel };
  if ('station' in target) return { scope: 'station', id: target.station };
  return { scope: 'listener', id: target.listener, sync: target.sync };
}
