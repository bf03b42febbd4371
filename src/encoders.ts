/**
 * The two doors for encoders, PUT and SOURCE and SHOUTcast's, with what both know: the mounts, who may feed them, and where a verdict is
 * told. Made by network.ts.
 */

import type { Config } from './config/schema.js';
import { EncoderDoor, type EncoderDoorOptions } from './http/encoder.js';
import type { Rate } from './http/rate.js';
import { ShoutcastDoor } from './http/shoutcast.js';
import type { Mount } from './http/stream.js';
import type { Log, Repeats } from './log.js';
import type { Metrics } from './metrics.js';
import type { Programme } from './programme.js';

interface Parts {
  readonly config: Config;
  readonly log: Log;
  readonly repeats: Repeats;
  readonly metrics: Metrics;
  readonly programmes: ReadonlyMap<string, Programme>;
}

export interface EncoderDoors {
  readonly encoders: EncoderDoor;
  readonly shoutcast: ShoutcastDoor;
}

/** @param wrongSecrets one count of wrong passwords for all doors */
export function makeEncoderDoors(
  { config, metrics, log, repeats, programmes }: Parts,
  mounts: ReadonlyMap<string, Mount>,
  wrongSecrets: Rate,
): EncoderDoors {
  const options: EncoderDoorOptions = {
    headBytes: config.limits.headBytes,
    headLines: config.limits.headLines,
    headMs: config.limits.headSeconds * 1000,
    server: config.streams.server,
    wrongSecrets,
    mount: (path) => {
      const mount = mounts.get(path);
      return mount === undefined ? undefined : programmes.get(mount.channel.key)!.encoder;
    },
    judged: (status, path, agent, why) => {
      metrics.encoders.inc({ status });
      // Only a path that is a mount: an encoder pointed at the push address shows its token in it.
      const mount = mounts.has(path) ? path : undefined;
      const fields = { mount, agent: agent.slice(0, 100) };
      if (status < 400) log.info({ ...fields, channel: why }, 'encoder connected');
      // libshout asks so first, to see what it may do.
      else if (status === 401) log.debug({ ...fields, status, why }, 'encoder without credentials');
      else repeats.warn(`encoder ${status} ${why}`, { ...fields, status, why }, 'encoder refused');
    },
  };
  const channels = [...programmes.values()].flatMap(({ encoder }) => encoder ?? []);
  return { encoders: new EncoderDoor(options), shoutcast: new ShoutcastDoor({ ...options, channels }) };
}
