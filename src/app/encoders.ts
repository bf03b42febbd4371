/**
 * The two doors for encoders, PUT and SOURCE and SHOUTcast's, with what both know: the mounts, who may feed them, and where a verdict is
 * told. Made by network.ts.
 */

import type { Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import type { RefusalLog } from '../base/refusal-log.js';
import type { SecretMask } from '../base/secret-mask.js';
import type { Channel } from '../channel/channel.js';
import type { Mount } from '../channel/mount.js';
import type { Config } from '../config/schema.js';
import { EncoderAcceptor, type EncoderAcceptorOptions } from '../http/ingest/encoder.js';
import { RefusalPace } from '../http/ingest/refusal-pace.js';
import { ReturningEncoders } from '../http/ingest/returning.js';
import { ShoutcastAcceptor } from '../http/ingest/shoutcast.js';
import type { Connections } from '../net/connections.js';
import type { Proxies } from '../net/peer.js';
import { NO_SECRET, type SecretGate } from '../net/secret-gate.js';
import type { Metrics } from './metrics.js';

interface Parts {
  readonly clock: Clock;
  readonly config: Config;
  readonly log: Log;
  readonly refusals: RefusalLog;
  readonly secrets: SecretMask;
  readonly metrics: Metrics;
  readonly channels: ReadonlyMap<string, Channel>;
}

export interface EncoderDoors {
  readonly encoders: EncoderAcceptor;
  readonly shoutcast: ShoutcastAcceptor;
}

/** @param gate one for all that take secrets */
export function makeEncoderDoors(
  { clock, config, metrics, log, refusals, secrets, channels: programmes }: Parts,
  mounts: ReadonlyMap<string, Mount>,
  gate: SecretGate,
  proxies: Proxies,
  connections: Connections,
): EncoderDoors {
  const options: EncoderAcceptorOptions = {
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
    returning: new ReturningEncoders(clock),
    mount: (path) => {
      const mount = mounts.get(path);
      return mount === undefined ? undefined : programmes.get(mount.channel.key)!.encoder;
    },
    onAdmitted: (socket) => connections.admit(socket),
    onVerdict: ({ status, address, path, agent, why }) => {
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
  return { encoders: new EncoderAcceptor(options), shoutcast: new ShoutcastAcceptor({ ...options, channels }) };
}
