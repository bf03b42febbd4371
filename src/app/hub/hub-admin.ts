/**
 * The operator's view and actions in the process of the sources: channels and their sources, and the state that all processes share (blocks, made
 * tokens, fallbacks), which is kept in the store. The one writer of that state: changes run one after the other, and are in force once durable.
 */

import type { HubQuestion, HubQuestions } from '../../admin/admin-queries.js';
import { type AdminState, salvageAdmin } from '../../admin/admin-schema.js';
import type { ChannelSources, SourceReport } from '../../admin/channel-rows.js';
import type { ClusterReport } from '../../admin/cluster-report.js';
import { changed, currentLogins, withEnded, withKey } from '../../admin/logins.js';
import type { AdminBlock, ChannelFallback, MadeToken } from '../../admin/rows.js';
import { Refusal, retryLater } from '../../base/refusal.js';
import { SerialQueue } from '../../base/serial-queue.js';
import { SteadyTime } from '../../base/steady-time.js';
import type { Channel } from '../../channel/channel.js';
import { mayMakeTokens } from '../../config/admin-config.js';
import { EncoderSource } from '../../source/encoder-source.js';
import { PullSource } from '../../source/pull-source.js';
import type { DocumentStore } from '../../store/store.js';
import { withToken } from '../../titles/made-tokens.js';
import type { Core } from '../core.js';
import { channelDepth } from '../worker/channel-depth.js';

const DOCUMENT = 'admin';
const USED = 'tokens used';
/** How often it is saved when tokens were used last. */
const USED_MS = 60_000;
const RETRY_SECONDS = 2;
const BAD_STATE = 'part of the stored state of the admin interface is unreadable: ignoring it';

/** Id of a token, or channel and place of one of the configuration → when it was used last. */
type Used = Record<string, number>;

export interface HubAdminOutput {
  /** The state that all processes share: now and after each change. */
  onState(state: AdminState): void;
  /** Absent: this machine is alone. */
  cluster?(): ClusterReport;
  hlsOf(channel: string): ChannelSources['hls'];
  /** When tokens were last used, as each process knows it. */
  used(): Promise<readonly Readonly<Used>[]>;
}

/** What can be removed one by one. */
type AdminList = Exclude<keyof AdminState, 'logins'>;
type HubAnswers = { readonly [Q in HubQuestion]: (ask: HubQuestions[Q]['ask']) => Promise<HubQuestions[Q]['answer']> };

export class HubAdmin {
  readonly #core: Core;
  readonly #channels: ReadonlyMap<string, Channel>;
  readonly #store: DocumentStore;
  readonly #output: HubAdminOutput;
  readonly #answers: HubAnswers;
  #state: AdminState;
  #isRemoving = false;
  readonly #changes = new SerialQueue();
  #used: Used;
  #nextLookMs = 0;
  /** The time by which blocks and tokens end. Created at its first use, when the cluster time is known. */
  #time: SteadyTime | null = null;

  constructor(core: Core, channels: ReadonlyMap<string, Channel>, store: DocumentStore, output: HubAdminOutput) {
    this.#core = core;
    this.#channels = channels;
    this.#store = store;
    this.#output = output;
    const { state, used, bad } = salvageAdmin(store.document(DOCUMENT), store.document(USED));
    [this.#state, this.#used] = [state, used];
    if (bad.length > 0) core.log.warn({ reasons: bad }, BAD_STATE);
    this.#answers = {
      cluster: async () => output.cluster?.() ?? null,
      channels: async () => [...channels.values()].map((channel) => this.#sourcesOf(channel)),
      depth: async ({ channel }) => channelDepth(this.#channel(channel)),
      endEncoder: async ({ channel }) => this.#channel(channel).encoder.end(),
      moveEncoder: async ({ channel, to }) => this.#moveEncoder(channel, to),
      pin: async ({ channel, place }) => this.#pin(channel, place),
      state: async () => this.#current(this.#state),
      used: async () => this.#lookUsed(),
      block: (block) => this.#block(block),
      unblock: ({ network }) => this.#remove('blocks', (block) => block.network === network),
      putFallback: (fallback) => this.#putFallback(fallback),
      removeFallback: ({ channel }) => this.#remove('fallbacks', (fallback) => fallback.channel === channel),
      putToken: (token) => this.#putToken(token),
      rotateToken: ({ id, made, untilMs }) => this.#rotate(id, made, untilMs),
      revokeToken: ({ id }) => this.#remove('tokens', (token) => token.id === id),
      beginLogins: () => this.#change(changed(withKey)).then(() => null),
      endLogin: (login) => this.#change(changed((logins) => withEnded(logins, login))).then(() => null),
    };
  }

  /** Puts the stored state in force, before clients are served. */
  restore(): void {
    this.#output.onState(this.#state);
  }

  /** Rejects with a Refusal. */
  answer<Q extends HubQuestion>(question: Q, ask: HubQuestions[Q]['ask']): Promise<HubQuestions[Q]['answer']> {
    return this.#answers[question](ask);
  }

  /** Once a second: tokens end with the user who made them; now and then, when tokens were used last is saved. */
  tidy(nowMs: number): void {
    this.#removeOrphans();
    if (nowMs < this.#nextLookMs) return;
    this.#nextLookMs = nowMs + USED_MS;
    const before = JSON.stringify(this.#used);
    void this.#lookUsed()
      .then((used) => (JSON.stringify(used) === before ? undefined : this.#store.saveDocument(USED, used)))
      .catch(this.#core.onError);
  }

  /**
   * Tokens whose maker is gone are removed for good: a user with the same name later is another one. Until that is durable, no process accepts them
   * (titles/made-tokens.ts).
   */
  #removeOrphans(): void {
    const isOrphan = ({ by }: MadeToken) => !mayMakeTokens(this.#core.config.admin.users, by);
    const orphans = this.#state.tokens.filter(isOrphan);
    if (orphans.length === 0 || this.#isRemoving) return;
    this.#isRemoving = true;
    this.#change(({ tokens, ...state }) => ({ ...state, tokens: tokens.filter((token) => !isOrphan(token)) }))
      .then(() => {
        for (const { channel, name, by } of orphans) {
          this.#core.log.warn(
            { channel, name, by },
            'a push token was removed: the user who created it no longer has the rights titles and operate',
          );
        }
      })
      .catch(() => undefined)
      .finally(() => {
        this.#isRemoving = false;
      });
  }

  /** Merges the answers of all processes. Unknown ids are forgotten. */
  async #lookUsed(): Promise<Used> {
    const used = { ...this.#used };
    for (const each of await this.#output.used()) {
      for (const [id, atMs] of Object.entries(each)) used[id] = Math.max(used[id] ?? 0, atMs);
    }
    const made = new Set(this.#state.tokens.map(({ id }) => id));
    this.#used = Object.fromEntries(
      Object.entries(used).filter(([id]) => made.has(id) || this.#channels.has(id.split(' ')[0]!)),
    );
    return this.#used;
  }

  #channel(key: string): Channel {
    const channel = this.#channels.get(key);
    if (channel === undefined) throw new Refusal('not-found', 'There is no such channel.');
    return channel;
  }

  #moveEncoder(key: string, to: string): null {
    const channel = this.#channel(key);
    const why = channel.encoder.moveTo(this.#channel(to).encoder);
    if (why !== null) throw new Refusal('conflict', why);
    return null;
  }

  #pin(key: string, place: number | null): ChannelSources {
    const channel = this.#channel(key);
    const source = place === null ? null : channel.switch.sources[place];
    if (source === undefined) throw new Refusal('not-found', 'The channel has no such source.');
    if (source?.kind === 'encoder' && source.state !== 'up') {
      throw new Refusal('conflict', 'No encoder is connected.');
    }
    if (place === null) channel.switch.release();
    else channel.switch.pin(place);
    return this.#sourcesOf(channel);
  }

  #sourcesOf(channel: Channel): ChannelSources {
    const { key, audio, isRemote, served } = channel;
    const { sources, healths, indexOnAir, pinned } = channel.switch;
    const { live, mounts } = served;
    const silentMs = this.#core.clock.now() - live.silentSinceMs;
    return {
      channel: key,
      onAir: indexOnAir === -1 ? null : indexOnAir,
      pinned: pinned === -1 ? null : pinned,
      onAirSinceMs: live.onAirSinceMs,
      silentSinceMs: silentMs < 0 ? null : Math.round(this.#core.clock.wallMs() - silentMs),
      fallback: this.#state.fallbacks.find(({ channel }) => channel === key)?.to ?? null,
      hls: mounts.some(({ hls }) => hls !== null) ? this.#output.hlsOf(key) : null,
      sources: sources.map((source, place): SourceReport => {
        const { troubles, events, measuredKbps } = healths[place]!;
        const encoder = source instanceof EncoderSource ? source : null;
        const connected = encoder?.connected ?? null;
        const upstream = source instanceof PullSource ? source.upstream : null;
        return {
          place,
          kind: source.kind,
          state: source.state,
          isOnAir: place === indexOnAir,
          address: connected?.address ?? '',
          agent: this.#core.secrets.mask((encoder?.agent ?? '').slice(0, AGENT_CHARACTERS)),
          sinceMs: connected?.sinceMs ?? null,
          // The format that listeners hear, as in response heads.
          bitrateKbps: place === indexOnAir && !isRemote ? audio.bitrateKbps : Math.round(measuredKbps),
          contentType: source.contentType ?? null,
          troubles: Object.entries(troubles).flatMap(([trouble, is]) => (is ? [trouble] : [])),
          events: { ...events },
          upstream: upstream === null ? null : upstream + 1,
        };
      }),
    };
  }

  async #block(block: AdminBlock): Promise<null> {
    await this.#change(({ blocks, ...state }) => {
      const others = blocks.filter(({ network }) => network !== block.network);
      const most = this.#core.config.admin.blocks;
      if (others.length >= most) throw new Refusal('too-many', `${most} addresses and networks are already blocked.`);
      return { ...state, blocks: [...others, block] };
    });
    return null;
  }

  async #putToken(token: MadeToken): Promise<null> {
    this.#channel(token.channel);
    await this.#change(({ tokens, ...state }) => ({ ...state, tokens: withToken(tokens, token) }));
    return null;
  }

  #rotate(id: string, made: MadeToken, untilMs: number | null): Promise<null> {
    return this.#change(({ tokens, ...state }) => {
      if (tokens.some((token) => token.id === made.id)) return { ...state, tokens };
      const before = tokens.find((token) => token.id === id);
      if (before === undefined) throw new Refusal('not-found', 'There is no such token.');
      if (before.untilMs !== null) throw new Refusal('conflict', 'Another token has already replaced it.');
      const others = tokens.filter((token) => token !== before);
      return { ...state, tokens: withToken(untilMs === null ? others : [...others, { ...before, untilMs }], made) };
    }).then(() => null);
  }

  /** Of channels that are gone by now none are kept. */
  async #putFallback(fallback: ChannelFallback): Promise<null> {
    const { key } = this.#channel(fallback.channel);
    const to = [...this.#channels.values()].find(({ served }) =>
      served.mounts.some(({ path }) => path === fallback.to),
    );
    if (to === undefined) throw new Refusal('not-found', 'No channel has this mount.');
    if (to.key === key) throw new Refusal('conflict', 'A channel cannot be its own fallback.');
    await this.#change(({ fallbacks, ...state }) => {
      const others = fallbacks.filter(({ channel }) => channel !== key && this.#channels.has(channel));
      return { ...state, fallbacks: [...others, fallback] };
    });
    return null;
  }

  /** Whether there was one when its turn came. */
  async #remove<N extends AdminList>(name: N, isIt: (each: AdminState[N][number]) => boolean): Promise<boolean> {
    let isThere = false;
    await this.#change((state) => {
      const before: readonly AdminState[N][number][] = state[name];
      const others = before.filter((each) => !isIt(each));
      isThere = others.length < before.length;
      return { ...state, [name]: others };
    });
    return isThere;
  }

  /** The state without ended blocks and tokens, of which nothing is kept. */
  #current({ blocks, tokens, fallbacks, logins }: AdminState): AdminState {
    this.#time ??= new SteadyTime(this.#core.clock);
    const nowMs = this.#time.ms();
    return {
      blocks: blocks.filter(({ untilMs }) => untilMs > nowMs),
      tokens: tokens.filter(({ untilMs }) => untilMs === null || untilMs > nowMs),
      fallbacks,
      logins: currentLogins(logins, nowMs),
    };
  }

  #change(make: (state: AdminState) => AdminState): Promise<void> {
    return this.#changes.run(async () => {
      const state = make(this.#current(this.#state));
      try {
        await this.#store.saveDocument(DOCUMENT, state);
      } catch (error) {
        this.#core.onError(error);
        throw retryLater('unavailable', 'The change could not be saved. Nothing was applied.', RETRY_SECONDS);
      }
      this.#state = state;
      this.#output.onState(state);
    });
  }
}

/** Of what an encoder calls itself. */
const AGENT_CHARACTERS = 200;
