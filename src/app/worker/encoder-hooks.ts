/**
 * The hooks that are asked about encoders: that of a channel, else of its station, else of all. Where several have the same options it is
 * one hook, with one limit. Owned by ingest.ts.
 */

import { Counts } from '../../base/counts.js';
import type { EncoderHookConfig } from '../../config/access-config.js';
import type { Config } from '../../config/schema.js';
import { ListenerHook } from '../../http/hook/hook.js';
import type { EncoderHook } from '../../http/ingest/verdict.js';
import type { Core } from '../core.js';

/** Characters of a User-Agent that the hook gets. */
const AGENT_CHARACTERS = 255;
/** Of those that a hook is asked about, as the log names them. */
const LOGGED_CHANNELS = 10;

export class EncoderHooks {
  /** What became of questions. */
  readonly verdicts = new Counts();
  readonly #core: Core;
  /** By their options as text. */
  #hooks = new Map<string, ListenerHook>();
  /** By channel; a channel without one is not in it. */
  readonly #byChannel = new Map<string, EncoderHook>();

  constructor(core: Core) {
    this.#core = core;
    this.refresh();
  }

  /** Null: the channel's own password alone opens it. */
  of(channel: string): EncoderHook | null {
    return this.#byChannel.get(channel) ?? null;
  }

  /** Another configuration is in force. A hook that is gone answers what it was asked. */
  refresh(): void {
    const { config } = this.#core;
    const hooks = new Map<string, ListenerHook>();
    this.#byChannel.clear();
    for (const [channel, options] of hooksOf(config)) {
      const name = JSON.stringify(options);
      const hook = hooks.get(name) ?? this.#hooks.get(name) ?? this.#make(options, name);
      hooks.set(name, hook);
      this.#byChannel.set(channel, this.#asking(hook));
    }
    this.#hooks = hooks;
  }

  /** Asks no more: those that wait are answered as if the hook were down. */
  close(): void {
    for (const hook of this.#hooks.values()) hook.close();
  }

  #asking(hook: ListenerHook): EncoderHook {
    const { config } = this.#core;
    return async ({ socket, isTitle, agent, ...encoder }) => {
      const { publicUrl } = config.streams;
      const server = publicUrl === '' ? (socket.localAddress ?? '') : new URL(publicUrl).hostname;
      const { verdict } = await hook.ask({
        ...encoder,
        agent: agent.slice(0, AGENT_CHARACTERS),
        encoder: { server, port: socket.localPort ?? 0, isTitle },
      });
      return verdict === 'down' ? null : verdict === 'allowed';
    };
  }

  #make(options: EncoderHookConfig, name: string): ListenerHook {
    const { config, clock, log, tallies } = this.#core;
    // Without its URL these alone say which it is.
    const channels = () => {
      const all = [...hooksOf(config)].filter(([, each]) => JSON.stringify(each) === name);
      return all.slice(0, LOGGED_CHANNELS).map(([channel]) => channel);
    };
    return new ListenerHook(clock, {
      ...options,
      timeoutMs: options.timeoutSeconds * 1000,
      cacheMs: options.cacheSeconds * 1000,
      breakMs: options.breakSeconds * 1000,
      cacheBy: 'address',
      // Who may send is never guessed.
      whenDown: 'deny',
      tallies,
      onVerdict: (verdict) => this.verdicts.add(verdict),
      onTroubleChanged: (trouble) => {
        // Never with its URL, which may hold a secret.
        if (trouble === null) log.info({ channels: channels() }, 'the encoder hook answers again');
        else
          log.error({ channels: channels(), trouble }, 'the encoder hook does not answer: not asking it for a while');
      },
    });
  }
}

/** Of each channel that has one. */
function* hooksOf({ encoderHook: ofAll, stations }: Config): Iterable<readonly [string, EncoderHookConfig]> {
  for (const { encoderHook: ofStation, channels } of Object.values(stations)) {
    for (const [key, { encoderHook: own, sources }] of Object.entries(channels)) {
      const hook = own ?? ofStation ?? ofAll;
      const isAsked = sources.some((source) => source.type === 'encoder' && source.hook);
      if (hook !== undefined && isAsked) yield [key, hook];
    }
  }
}
