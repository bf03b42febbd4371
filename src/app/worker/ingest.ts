/** Encoders: their audio (PUT and SOURCE, SHOUTcast v1) and their titles. */

import { ChannelCounter } from '../../base/channel-counter.js';
import { mergeGetters } from '../../base/getters.js';
import { plainPath } from '../../base/request-target.js';
import type { EncoderMount, Mount } from '../../channel/mount.js';
import type { ServedChannel } from '../../channel/served.js';
import { auditDone } from '../../http/audit.js';
import type { HttpService } from '../../http/http-service.js';
import { EncoderAcceptor, type EncoderAcceptorOptions } from '../../http/ingest/encoder-acceptor.js';
import { EncoderPreflight } from '../../http/ingest/preflight.js';
import type { ProvenEncoder } from '../../http/ingest/proven.js';
import type { RefusalPace } from '../../http/ingest/refusal-pace.js';
import { ShoutcastAcceptor, type ShoutcastAcceptorOptions } from '../../http/ingest/shoutcast.js';
import { TitleUpdateAcceptor } from '../../http/ingest/title-acceptor.js';
import type { TitleUpdateVerdict } from '../../http/ingest/title-answer.js';
import { type TitleUpdateOptions, TitleUpdates } from '../../http/ingest/title-updates.js';
import { NO_SECRET } from '../../net/limits/secret-gate.js';
import { type Core, headLimits } from '../core.js';
import { EncoderHooks } from './encoder-hooks.js';
import type { EncoderVerdicts } from './encoder-verdicts.js';
import type { Guards } from './guards.js';

export interface IngestParts {
  readonly channels: ReadonlyMap<string, ServedChannel>;
  readonly mounts: ReadonlyMap<string, Mount>;
  readonly verdicts: EncoderVerdicts;
  readonly pace: RefusalPace;
  /** Users of the admin interface, as AdminAccess has them. */
  readonly titleSender: Required<TitleUpdateOptions>['titleSender'];
  /** It is authenticated: the process of its channel admits or refuses it. */
  onProven(encoder: ProvenEncoder): void;
}

export class Ingest {
  readonly encoders: EncoderAcceptor;
  readonly shoutcast: ShoutcastAcceptor;
  readonly titles: TitleUpdateAcceptor;
  readonly services: readonly HttpService[];
  readonly hooks: EncoderHooks;
  readonly #core: Core;
  readonly #channels: ReadonlyMap<string, ServedChannel>;
  #encoderMounts: readonly EncoderMount[] = [];
  readonly #ignoring: ChannelCounter;

  constructor(core: Core, guards: Guards, parts: IngestParts) {
    const { channels, mounts, verdicts, pace, titleSender, onProven } = parts;
    this.#core = core;
    const { config, clock, log } = core;
    this.#ignoring = new ChannelCounter(clock, (channel, titles, fields) =>
      log.warn({ channel, titles, fields }, "fields of an encoder's titles were ignored: unknown, or not filled in"),
    );
    const { limits } = config;
    this.#channels = channels;
    this.hooks = new EncoderHooks(core);
    this.refresh();
    const hookOf = (channel: string) => this.hooks.of(channel);
    const encoderMounts = () => this.#encoderMounts;
    const options: ShoutcastAcceptorOptions & EncoderAcceptorOptions = mergeGetters(headLimits(config), {
      ...guards,
      get server() {
        return config.streams.server;
      },
      get encoderMounts() {
        return encoderMounts();
      },
      pace,
      mountAt: (path: string) => channels.get(mounts.get(plainPath(path))?.audio.key ?? '')?.encoder,
      hookOf,
      onProven,
      onVerdict: verdicts.onVerdict,
    });
    this.encoders = new EncoderAcceptor(options);
    this.shoutcast = new ShoutcastAcceptor(options);
    this.titles = new TitleUpdateAcceptor(headLimits(config, () => limits.httpHeadBytes));
    const updates = new TitleUpdates({
      ...guards,
      get encoderMounts() {
        return encoderMounts();
      },
      mountAt: options.mountAt,
      hookOf,
      get bodyBytes() {
        return limits.pushBodyBytes;
      },
      get parameters() {
        return limits.parameters;
      },
      get textBytes() {
        return limits.textBytes;
      },
      get urlBytes() {
        return limits.urlBytes;
      },
      titleSender,
      onVerdict: (answer) => this.#onTitleVerdict(answer),
      onError: core.onError,
    });
    this.services = [new EncoderPreflight(mounts), updates];
  }

  /** The channels that take encoders have changed. */
  refresh(): void {
    this.hooks.refresh();
    this.#encoderMounts = [...this.#channels.values()].flatMap(({ encoder }) => encoder ?? []);
  }

  /** Connections that were not judged yet are closed. */
  close(): void {
    this.hooks.close();
    this.encoders.close();
    this.shoutcast.close();
    this.titles.close();
  }

  #onTitleVerdict({ status, address, channel, why, connection, act, ignored }: TitleUpdateVerdict): void {
    if (ignored.length > 0) this.#ignoring.count(channel, ignored.join(', '));
    const refused = { address, reason: why, channel: channel || undefined, status, connection };
    if (act !== null) {
      const { user, ...what } = act;
      const outcome = { user, act: 'metadata', outcome: 'refused', ...what };
      if (status >= 400) this.#core.refusals.warn(refused, 'admin act refused', outcome);
      else
        auditDone(this.#core.log, { name: user, address, connection }, 'metadata', { ...what, channel, message: why });
    } else if (why === NO_SECRET) this.#core.log.debug(refused, "an encoder's title came without credentials");
    else if (status >= 400) this.#core.refusals.warn(refused, "an encoder's title was refused");
  }
}
