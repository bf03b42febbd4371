/**
 * Random configurations, each an edit of the previous one: some invalid, some that need a restart, some with a port in use. A configuration is plain
 * data, written as JSON, which is valid YAML; the state also has the present and former secrets in plain text.
 */

import type { Random } from './random.js';
import {
  type ChannelState,
  type ConfigState,
  channelsOf,
  codecOf,
  hashed,
  nameOf,
  type Options,
  type SourceState,
} from './reload-config.js';
import { changeChannel, changeTop, pick, spoil } from './reload-options.js';
import type { StampedCodec } from './stamped.js';

/** The machine's resources for configurations. */
export interface Ground {
  /** The server always listens on the first one. */
  readonly ports: readonly number[];
  /** The port of another program. */
  readonly takenPort: number;
  readonly files: Readonly<Record<StampedCodec, readonly string[]>>;
  readonly upstream: number;
  readonly hooks: readonly string[];
  readonly certificates: string;
}

const STATIONS = ['north', 'south', 'east', 'west'];
const CHANNELS = 16;
/** Minimum number of channels, so that each has listeners. */
const FEWEST = 8;

export class ReloadState {
  config: ConfigState;
  /** Push tokens by channel, in plain text: first those in force, as many as the configuration has; then former ones. */
  readonly tokens = new Map<string, string[]>();
  /** Passwords by channel; the first is in force. */
  readonly passwords = new Map<string, string[]>();
  readonly adminPasswords: string[] = [];
  readonly #random: Random;
  readonly #ground: Ground;
  #names = 0;

  constructor(random: Random, ground: Ground) {
    this.#random = random;
    this.#ground = ground;
    this.config = {
      addresses: [this.#address(ground.ports[0]!)],
      stations: {},
      top: {
        // All clients have one address, and the machine may stall for seconds; neither must cause a failure.
        limits: { wrongSecretsPerMinute: 1_000_000, wrongSecretsInAllPerMinute: 1_000_000, watchersPerAddress: 1000 },
        streams: { silenceSeconds: 600, lagSeconds: 60, burstSeconds: 2 },
        sources: { stallMs: 14_000, pieceSeconds: 14, bodyTimeoutSeconds: 600 },
        sessions: {},
        history: {},
        titles: {},
        admin: {},
        log: { refusalsPerSecond: 20 },
        accessLog: {},
        watch: {},
        shutdown: {},
        metadata: {},
        proxies: {},
        feed: {},
        listenerHook: { url: ground.hooks[0] },
        signedUrls: { keys: [`sha256:${'5'.repeat(64)}`] },
      },
    };
    delete this.config.top['signedUrls'];
    this.#admin(this.config);
    for (const key of STATIONS.slice(0, 3)) this.config.stations[key] = { name: key, timezone: 'UTC', channels: {} };
    for (let i = 0; i < 11; i++) this.#addChannel(this.config, `c${i}`);
  }

  get yaml(): string {
    return this.text(this.config);
  }

  /** Ports on which the server must not listen. */
  get freePorts(): readonly number[] {
    return this.#ground.ports.filter((port) => this.config.addresses.every((address) => address['port'] !== port));
  }

  text({ addresses, stations, top }: ConfigState): string {
    return JSON.stringify({ addresses, ...top, stations }, null, 1);
  }

  /** Makes another configuration. @returns `refused`: matches the refusal; null: it is accepted. `secrets`: adopts its secrets, once in force */
  next(): { readonly config: ConfigState; readonly refused: RegExp | null; readonly secrets: () => void } {
    const config = structuredClone(this.config);
    const later: (() => void)[] = [];
    const edits = this.#random.chance(0.6) ? 1 : this.#random.int(2, 5);
    for (let i = 0; i < edits; i++) later.push(this.#edit(config) ?? (() => undefined));
    const isWrong = this.#random.chance(0.12);
    const refused = isWrong ? spoil(this.#random, this.#ground.takenPort, config) : null;
    return { config, refused, secrets: () => later.forEach((each) => void each()) };
  }

  #name(what: string): string {
    return `${what}-${++this.#names}`;
  }

  #address(port: number): Options {
    return { host: '127.0.0.1', port, shoutcastPort: false };
  }

  #admin(config: ConfigState): () => void {
    const password = this.#name('admin');
    const rights = ['read', 'operate'];
    config.top['admin'] = { ...config.top['admin'], users: { boss: { password: hashed(password), rights } } };
    const take = () => void this.adminPasswords.unshift(password);
    if (this.adminPasswords.length === 0) take();
    return take;
  }

  #rotate(channel: ChannelState, key: string): () => void {
    const token = this.#name('token');
    channel.pushTokens = [hashed(token), ...channel.pushTokens].slice(0, this.#random.int(1, 2));
    return () => void this.tokens.set(key, [token, ...(this.tokens.get(key) ?? [])]);
  }

  #encoder(key: string): { readonly source: SourceState; readonly take: () => void } {
    const password = this.#name('password');
    const takeover = pick(this.#random, ['silent', 'never']);
    const source: SourceState = { type: 'encoder', password: hashed(password), takeover };
    return { source, take: () => void this.passwords.set(key, [password, ...(this.passwords.get(key) ?? [])]) };
  }

  #file(key: string): SourceState {
    return { type: 'file', path: pick(this.#random, this.#ground.files[codecOf(key)]) };
  }

  #pull(key: string): SourceState {
    const path = this.#random.chance(0.04) ? 'dead' : `${codecOf(key)}/${this.#random.int(0, 2)}`;
    return {
      type: 'pull',
      url: `http://127.0.0.1:${this.#ground.upstream}/${path}`,
      allowPrivate: true,
      retrySeconds: { min: 0.1, max: 0.2 },
    };
  }

  /** Adds a channel with new secrets, not those of a removed one. */
  #addChannel(config: ConfigState, key: string): () => void {
    const channel: ChannelState = {
      name: this.#random.chance(0.5) ? '' : this.#name('channel'),
      mounts: [],
      access: 'open',
      pushTokens: [],
      sources: [this.#file(key)],
    };
    const takes = [this.#rotate(channel, key)];
    if (this.#random.chance(0.7)) {
      const { source, take } = this.#encoder(key);
      channel.sources.unshift(source);
      takes.push(take);
    }
    if (this.#random.chance(0.3)) channel.sources.unshift(this.#pull(key));
    const station = pick(this.#random, Object.keys(config.stations));
    config.stations[station]!.channels[key] = channel;
    const take = () => takes.forEach((each) => void each());
    if (config === this.config) take();
    return take;
  }

  /** @returns a function that adopts the new secrets */
  #edit(config: ConfigState): (() => void) | undefined {
    const random = this.#random;
    const all = [...channelsOf(config)];
    const [key, channel] = pick(this.#random, all);
    const stations = Object.entries(config.stations);
    const station = pick(this.#random, stations)[1];
    const edits: readonly (() => unknown)[] = [
      () => void (channel.name = random.chance(0.2) ? '' : this.#name('name')),
      () => void (channel[pick(this.#random, ['genre', 'description'])] = this.#name('text')),
      () => void (channel['url'] = `https://example.com/${this.#name('url')}`),
      () => void (channel['public'] = random.chance(0.5)),
      () => this.#rotate(channel, key),
      () => this.#rotate(channel, key),
      () => this.#mounts(channel, key),
      () => this.#mounts(channel, key),
      () => this.#password(channel, key),
      () => this.#sources(channel, key),
      () => this.#sources(channel, key),
      () => this.#sources(channel, key),
      () => changeChannel(this.#random, (what) => this.#name(what), channel),
      () => changeChannel(this.#random, (what) => this.#name(what), channel),
      () => void (channel.access = pick(this.#random, ['open', 'open', 'hook'])),
      () => this.#come(config),
      () => this.#go(config, all),
      () => this.#move(config, key),
      () => void (config.stations = Object.fromEntries(stations.reverse())),
      () => void (station.name = this.#name('station')),
      () => void (station.timezone = pick(this.#random, ['UTC', 'Europe/Zurich', 'America/Lima'])),
      () => this.#station(config),
      () => this.#addresses(config),
      () => this.#addresses(config),
      () => this.#admin(config),
      () => void (config.top['listenerHook']!['url'] = pick(this.#random, this.#ground.hooks)),
      () => changeTop(this.#random, (what) => this.#name(what), config),
      () => changeTop(this.#random, (what) => this.#name(what), config),
      () => changeTop(this.#random, (what) => this.#name(what), config),
    ];
    const take = pick(this.#random, edits)();
    return typeof take === 'function' ? (take as () => void) : undefined;
  }

  #mounts(channel: ChannelState, key: string): void {
    const random = this.#random;
    if (channel.mounts.length > 0 && random.chance(0.5)) {
      channel.mounts.splice(random.int(0, channel.mounts.length - 1), 1);
    } else channel.mounts.splice(random.int(0, channel.mounts.length), 0, `/${key}/${this.#name('mount')}`);
  }

  #password(channel: ChannelState, key: string): (() => void) | undefined {
    const encoder = channel.sources.find(({ type }) => type === 'encoder');
    if (encoder === undefined) return undefined;
    if (this.#random.chance(0.4)) {
      // Not above 0, or a title would wait for its audio.
      if (this.#random.chance(0.5)) encoder['titleOffsetMs'] = this.#random.int(-50, 0);
      else encoder['lingerSeconds'] = this.#random.int(0, 5);
      return undefined;
    }
    const { source, take } = this.#encoder(key);
    Object.assign(encoder, source);
    return take;
  }

  #sources(channel: ChannelState, key: string): (() => void) | undefined {
    const random = this.#random;
    const { sources } = channel;
    const place = random.int(0, sources.length - 1);
    const kind = random.int(0, 9);
    if (kind < 3 && sources.length > 1) sources.splice(place, 1);
    else if (kind < 5 && sources.length > 1) sources.push(...sources.splice(place, 1));
    else if (kind === 5 && sources[place]!.type === 'pull')
      sources[place]!['connectTimeoutSeconds'] = random.int(5, 20);
    else if (kind === 6) sources[place]!['titleOffsetMs'] = random.int(-50, 0);
    else if (sources.length < 5) {
      const isEncoder = !sources.some(({ type }) => type === 'encoder') && random.chance(0.5);
      const { source, take } = isEncoder
        ? this.#encoder(key)
        : { source: random.chance(0.5) ? this.#file(key) : this.#pull(key), take: undefined };
      if (sources.some((each) => nameOf(each) === nameOf(source))) return undefined;
      sources.splice(random.int(0, sources.length), 0, source);
      return take;
    }
    return undefined;
  }

  #come(config: ConfigState): (() => void) | undefined {
    const all = channelsOf(config);
    const free = Array.from({ length: CHANNELS }, (_, i) => `c${i}`).filter((key) => !all.has(key));
    return free.length === 0 ? undefined : this.#addChannel(config, pick(this.#random, free));
  }

  #go(config: ConfigState, all: readonly (readonly [string, ChannelState])[]): void {
    if (all.length <= FEWEST) return;
    const [key] = pick(this.#random, all);
    for (const { channels } of Object.values(config.stations)) delete channels[key];
  }

  #move(config: ConfigState, key: string): void {
    const from = Object.values(config.stations).find(({ channels }) => key in channels)!;
    const channel = from.channels[key]!;
    delete from.channels[key];
    pick(this.#random, Object.values(config.stations)).channels[key] = channel;
  }

  #station(config: ConfigState): void {
    const { stations } = config;
    const free = STATIONS.filter((key) => !(key in stations));
    if (free.length > 0) stations[pick(this.#random, free)] = { name: '', timezone: 'UTC', channels: {} };
    else {
      const key = pick(this.#random, STATIONS);
      const { channels } = stations[key]!;
      delete stations[key];
      // Removes the station, and moves its channels to another one.
      Object.assign(pick(this.#random, Object.values(stations)).channels, channels);
    }
  }

  #addresses(config: ConfigState): void {
    const random = this.#random;
    const { addresses } = config;
    const free = this.#ground.ports.filter((port) => addresses.every((address) => address['port'] !== port));
    if (addresses.length > 1 && random.chance(0.4)) addresses.splice(random.int(1, addresses.length - 1), 1);
    else if (free.length > 0 && random.chance(0.6)) addresses.push(this.#address(pick(this.#random, free)));
    else if (addresses.length > 1) {
      const address = addresses[random.int(1, addresses.length - 1)]!;
      const name = pick(this.#random, ['one', 'two']);
      const folder = this.#ground.certificates;
      if (random.chance(0.5))
        address['roles'] = pick(this.#random, [['poll'], ['poll', 'stream'], ['poll', 'push', 'watch']]);
      else if ('tls' in address && random.chance(0.3)) delete address['tls'];
      else address['tls'] = { certFile: `${folder}${name}.cert.pem`, keyFile: `${folder}${name}.key.pem` };
    }
  }
}
