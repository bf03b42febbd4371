/** Where encoders come in, with their audio (PUT and SOURCE, SHOUTcast v1) and with their titles. */

import { Counts } from '../base/counts.js';
import type { Channel } from '../channel/channel.js';
import type { Mount } from '../channel/mount.js';
import { EncoderAcceptor, type EncoderAcceptorOptions } from '../http/ingest/encoder.js';
import { EncoderPreflight } from '../http/ingest/preflight.js';
import { RefusalPace } from '../http/ingest/refusal-pace.js';
import { ReturningEncoders } from '../http/ingest/returning.js';
import { ShoutcastAcceptor } from '../http/ingest/shoutcast.js';
import { TitleUpdateAcceptor } from '../http/ingest/title-acceptor.js';
import { TitleUpdates, type TitleUpdateVerdict } from '../http/ingest/title-updates.js';
import type { EncoderVerdict } from '../http/ingest/verdict.js';
import type { HttpService } from '../http/service.js';
import { NO_SECRET } from '../net/secret-gate.js';
import { type Core, headLimits } from './core.js';
import type { Guards } from './guards.js';

export class Ingest {
  readonly encoders: EncoderAcceptor;
  readonly shoutcast: ShoutcastAcceptor;
  readonly titles: TitleUpdateAcceptor;
  readonly services: readonly HttpService[];
  /** Connections of encoders by the status that they were answered. */
  readonly counts = new Counts();
  readonly #core: Core;
  readonly #mounts: ReadonlyMap<string, Mount>;
  readonly #returning: ReturningEncoders;

  constructor(core: Core, guards: Guards, channels: ReadonlyMap<string, Channel>, mounts: ReadonlyMap<string, Mount>) {
    this.#core = core;
    this.#mounts = mounts;
    const { config, clock } = core;
    const { limits } = config;
    this.#returning = new ReturningEncoders(clock);
    const encoders = [...channels.values()].flatMap(({ encoder }) => encoder ?? []);
    const options: EncoderAcceptorOptions = {
      ...guards,
      ...headLimits(config),
      server: config.streams.server,
      pace: new RefusalPace(clock, {
        perMinute: limits.encodersRefusedPerMinute,
        remembered: limits.addressesRemembered,
      }),
      returning: this.#returning,
      mountAt: (path) => channels.get(mounts.get(path)?.audio.key ?? '')?.encoder,
      onAdmitted: (socket) => guards.connections.admit(socket),
      onVerdict: (verdict) => this.#onVerdict(verdict),
    };
    this.encoders = new EncoderAcceptor(options);
    this.shoutcast = new ShoutcastAcceptor({ ...options, encoderMounts: encoders });
    this.titles = new TitleUpdateAcceptor(headLimits(config, limits.httpHeadBytes));
    const updates = new TitleUpdates({
      ...guards,
      encoderMounts: encoders,
      mountAt: options.mountAt,
      bodyBytes: limits.pushBodyBytes,
      parameters: limits.parameters,
      textBytes: limits.textBytes,
      urlBytes: limits.urlBytes,
      onVerdict: (answer) => this.#onTitleVerdict(answer),
      onError: core.onError,
    });
    this.services = [new EncoderPreflight(mounts), updates];
  }

  /** Connections that were not admitted yet are closed. */
  close(): void {
    this.encoders.close();
    this.shoutcast.close();
    this.titles.close();
    this.#returning.close();
  }

  #onVerdict({ status, address, path, channel: named, agent, why }: EncoderVerdict): void {
    const { log, refusals, secrets } = this.#core;
    this.counts.add(String(status));
    // Only a path that is a mount: an encoder pointed at the push address shows its token in it.
    const mount = this.#mounts.has(path) ? path : undefined;
    const channel = named ?? this.#mounts.get(path)?.audio.key;
    const fields = { mount, agent: secrets.mask(agent, 100) };
    if (status < 400) log.info({ ...fields, channel: why }, 'encoder connected');
    else if (why === NO_SECRET) log.debug({ address, reason: why, status, ...fields }, 'encoder without credentials');
    else refusals.warn({ address, reason: why, channel, status }, 'encoder refused', fields);
  }

  #onTitleVerdict({ status, address, channel, why }: TitleUpdateVerdict): void {
    const refused = { address, reason: why, channel: channel || undefined, status };
    if (why === NO_SECRET) this.#core.log.debug(refused, "an encoder's title came without credentials");
    else if (status >= 400) this.#core.refusals.warn(refused, "an encoder's title was refused");
  }
}
