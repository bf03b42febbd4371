/**
 * The two doors for encoders, PUT and SOURCE and SHOUTcast's, with what both know: the mounts, who may feed them, and where a verdict is
 * told. Made by network.ts.
 */

import type { Clock } from './clock.js';
import type { Config } from './config/schema.js';
import type { Connections } from './http/connections.js';
import { EncoderDoor, type EncoderDoorOptions } from './http/encoder.js';
import type { Proxies } from './http/peer.js';
import { RefusalPace } from './http/refusal-pace.js';
import { Returning } from './http/returning.js';
import { NO_SECRET, type SecretGate } from './http/secret-gate.js';
import { ShoutcastDoor } from './http/shoutcast.js';
import type { Mount } from './http/stream.js';
import type { Log } from './log.js';
import type { SecretMask } from './mask.js';
import type { Metrics } from './metrics.js';
import type { Programme } from './programme.js';
import type { RefusalLog } from './refusal-log.js';

interface Parts {
  readonly clock: Clock;
  readonly config: Config;
  readonly log: Log;
  readonly refusals: RefusalLog;
  readonly secrets: SecretMask;
  readonly metrics: Metrics;
  readonly programmes: ReadonlyMap<string, Programme>;
}

export interface EncoderDoors {
  readonly encoders: EncoderDoor;
  readonly shoutcast: ShoutcastDoor;
}

/** @param gate one for all that take secrets */
export function makeEncoderDoors(
  { clock, config, metrics, log, refusals, secrets, programmes }: Parts,
  mounts: ReadonlyMap<string, Mount>,
  gate: SecretGate,
  proxies: Proxies,
  connections: Connections,
): EncoderDoors {
  const options: EncoderDoorOptions = {
    headBytes: config.limits.headBytes,
    headLines: config.limits.headLines,
    headMs: config.limits.headSeconds * 1000,
    server: config.streams.server,
    gate,
    connections,
    proxies,
    pace: new RefusalPace(clock, {
      perMinute: config.limits.encodersRefusedPerMinute,
      remembered: config.limits.addressesRemembered,
    }),
    returning: new Returning(clock),
    mount: (path) => {
      const mount = mounts.get(path);
      return mount === undefined ? undefined : programmes.get(mount.channel.key)!.encoder;
    },
    onAdmitted: (socket) => connections.admit(socket),
    judged: ({ status, address, path, agent, why }) => {
      metrics.encoders.inc({ status });
      // Only a path that is a mount: an encoder pointed at the push address shows its token in it.
      const mount = mounts.has(path) ? path : undefined;
      const channel = mounts.get(path)?.channel.key;
      const fields = { mount, agent: secrets.mask(agent, 100) };
      if (status < 400) log.info({ ...fields, channel: why }, 'encoder connected');
      else if (why === NO_SECRET) log.debug({ address, reason: why, status, ...fields }, 'encoder without credentials');
      else refusals.warn({ address, reason: why, channel, status }, 'encoder refused', fields);
    },
  };
  const channels = [...programmes.values()].flatMap(({ encoder }) => encoder ?? []);
  return { encoders: new EncoderDoor(options), shoutcast: new ShoutcastDoor({ ...options, channels }) };
}
