/**
 * The configuration: one literal with every option, its bounds and its default. Unknown members are refused. Stations are in
 * station-config.ts; rules that span several members in checks.ts. config/example.yaml explains each option; a test compares the two.
 */

import * as z from 'zod';
import { LOG_FORMATS, LOG_LEVELS } from '../base/log.js';
import { LONG_TURN_MS } from '../base/watchdog.js';
import { encoderHookSchema, hookSchema, signedUrlsSchema } from './access-config.js';
import { addressesSchema } from './addresses/addresses-config.js';
import { adminSchema } from './admin-config.js';
import { alertsSchema } from './alerts-config.js';
import { clusterSchema } from './cluster-config.js';
import {
  channelKey,
  choice,
  date,
  flag,
  keyed,
  list,
  network,
  onAnyMap,
  pathFrom,
  seconds,
  secretName,
  section,
  text,
  webUrl,
  whole,
} from './field.js';
import { hlsLimits, hlsSchema } from './hls-config.js';
import { directorySchema, LISTED_AT } from './listed/directories-config.js';
import { pageSchema } from './page-config.js';
import { MAX_HELD_PUSHES, MAX_HOLD_SECONDS, MAX_PUSH } from './push-limits.js';
import { sourcesSchema } from './sources/pull-config.js';
import { type ConfigContext, stationSchema } from './station-config.js';
import { statisticsSchema } from './statistics-config.js';

/** Names of parameters whose values are secret: metaids, tokens, keys, signatures, passwords, sessions. */
const SECRET_NAMES = `*metaid* sabcsid *token* *jwt* *pass* *pwd* pw *secret* *credential* *auth auth_* *authorization*
  *key *accesskey* *signature* *sig *hmac* *hash *session* sid code pin`.split(/\s+/);

/** Allows the demo's secrets on an address that others can reach. */
export const DEMO_SECRETS_CONSENT = 'yes, anybody may push and stream to this server';

/**
 * Players that show a title when they read it, by the prefix of a product in their user agent → seconds of audio that they read ahead
 * (src/listener/README.md, "Players that show what they read").
 */
const SHOWS_ON_READING: Readonly<Record<string, 'all' | number>> = { 'LibVLC/': 'all', 'Lavf/': 1.1, MPlayer: 'all' };

/**
 * Players that cannot continue when the sample rate or the number of channels changes, by the prefix of a product in their user agent → formats
 * (measured: config/README.md).
 */
const FORMATS = ['mp3', 'aac', 'ogg'] as const;
const ENDS_ON_FORMAT_CHANGE: Readonly<Record<string, readonly (typeof FORMATS)[number][]>> = {
  'Chrome/': FORMATS,
  'Firefox/': FORMATS,
  'Safari/': FORMATS,
  'LibVLC/': ['mp3', 'aac'],
  'Audacious/': FORMATS,
  'Music Player Daemon': FORMATS,
};

// Field names of RFC 9110 section 5, except headers that the server sets. Each letter in both cases, since a JSON Schema lacks the flag `i`.
const FRAMING = ['connection', 'content-length', 'transfer-encoding', 'icy-metaint'].map((name) =>
  name.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`),
);
export const HEADER_NAME = new RegExp(`^(?!(?:${FRAMING.join('|')})$)[!#$%&'*+.^_\`|~0-9A-Za-z-]{1,100}$`);

/** Builds the zod schema. Over 80 lines: it is one literal, an option a line, and has no steps to split. */
export function configSchema(context: ConfigContext) {
  return section({
    addresses: addressesSchema(context),
    proxies: section({
      trusted: list(network(), 0, 256).default([]),
      head: choice(['x-forwarded-for', 'forwarded']).default('x-forwarded-for'),
    }).prefault({}),
    admin: adminSchema(context.env),
    listenerHook: hookSchema().optional(),
    encoderHook: encoderHookSchema().optional(),
    directories: list(directorySchema(), 0, 16).default([]),
    // One of the channels (checks.ts).
    shoutcastListenUrls: channelKey().optional(),
    signedUrls: signedUrlsSchema(context.env).optional(),
    // Needed for the role legacy (checks.ts).
    legacy: legacySchema().optional(),
    alerts: alertsSchema(context.env).prefault({}),
    workers: z
      .union([whole(0, 256), z.literal('auto')], { error: 'must be a whole number from 0 to 256, or auto' })
      .default(0),
    cluster: clusterSchema(context).optional(),
    reload: choice(['asked', 'watch']).default('asked'),
    demoSecretsInPublic: choice(['', DEMO_SECRETS_CONSENT]).default(''),
    data: section({ folder: pathFrom(context.folder, 1).prefault('./data') }).prefault({}),
    log: section({
      secretNames: list(secretName(), 0, 256).default([...SECRET_NAMES]),
      level: choice(LOG_LEVELS).default('info'),
      format: choice(LOG_FORMATS).default('auto'),
      refusalsPerSecond: whole(1, 10_000).default(20),
      bufferBytes: whole(1024, 1_073_741_824).default(1_048_576),
      longTurnMs: whole(1, 60_000).default(LONG_TURN_MS),
    }).prefault({}),
    accessLog: section({
      file: pathFrom(context.folder, 0, ['', '-']).prefault(''),
      anonymize: flag().default(false),
      textCharacters: whole(16, 8192).default(512),
      bufferBytes: whole(1024, 1_073_741_824).default(16_777_216),
    }).prefault({}),
    shutdown: section({
      graceSeconds: seconds(1, 600).default(8),
      drainSeconds: seconds(0, 86_400).default(300),
    }).prefault({}),
    sessions: section({
      keepSeconds: seconds(0, 86_400).default(60),
      togetherSeconds: seconds(0, 3600).default(10),
      max: whole(1, 10_000_000).default(100_000),
      reportSeconds: seconds(0.1, 60).default(1),
    }).prefault({}),
    metadata: section({
      holdSeconds: seconds(0, MAX_HOLD_SECONDS).default(300),
      heldPushes: whole(1, MAX_HELD_PUSHES).default(64),
    }).prefault({}),
    history: section({
      days: whole(1, 3650).default(30),
      entries: whole(1, 1_000_000).default(10_000),
    }).prefault({}),
    statistics: statisticsSchema(context.folder),
    titles: section({
      pushHoldSeconds: seconds(0, 86_400).default(600),
      graceSeconds: seconds(0, 3600).default(5),
    }).prefault({}),
    feed: section({
      channelDelay: z
        .union([z.literal('typical'), seconds(0, 60)], { error: 'must be typical or a number of seconds from 0 to 60' })
        .default(0),
    }).prefault({}),
    limits: section({
      connections: whole(1, 1_000_000).default(25_000),
      // Absent: a tenth of connections, but at least 100; and a tenth, but at most 100 (app/worker/network.ts).
      connectionsPerAddress: whole(1, 1_000_000).optional(),
      reservedConnections: whole(0, 1_000_000).optional(),
      listeners: whole(1, 1_000_000).default(20_000),
      listenersPerAddress: whole(1, 1_000_000).optional(),
      ...hlsLimits(),
      watchers: whole(1, 1_000_000).default(20_000),
      watchersPerAddress: whole(1, 1_000_000).default(200),
      historyEntries: whole(1, 100_000).default(1000),
      historyPageBytes: whole(1024, 16_777_216).default(2_097_152),
      historyCacheBytes: whole(1024, 1_073_741_824).default(8_388_608),
      historyBytesInFlight: whole(1024, 1_073_741_824).default(33_554_432),
      historyBytesInFlightPerAddress: whole(1024, 1_073_741_824).default(8_388_608),
      historyWaiting: whole(1, 10_000).default(64),
      historyWaitingPerAddress: whole(1, 10_000).default(16),
      webSocketFrames: whole(1, 1_000_000).default(200),
      nesSubscriptions: whole(1, 10_000).default(50),
      headBytes: whole(256, 65_536).default(8192),
      headLines: whole(8, 1000).default(64),
      headSeconds: seconds(0.1, 300).default(10),
      clientHelloBytes: whole(2048, 32_768).default(16_384),
      handshakes: whole(4, 10_000).default(128),
      requestSeconds: seconds(0.1, 600).default(30),
      answerSeconds: seconds(1, 86_400).default(180),
      httpHeadBytes: whole(1024, 1_048_576).default(32_768),
      pushesPerMinute: whole(1, 1_000_000).default(600),
      pushBurst: whole(1, 1_000_000).default(100),
      wrongSecretsPerMinute: whole(1, 1_000_000).default(60),
      wrongSecretsInAllPerMinute: whole(60, 1_000_000).default(600),
      secretQueue: whole(0, 9).default(8),
      encodersRefusedPerMinute: whole(1, 1_000_000).default(60),
      addressesRemembered: whole(1, 1_000_000).default(10_000),
      pushBodyBytes: whole(256, 16_777_216).default(65_536),
      parameters: whole(16, 10_000).default(64),
      textBytes: whole(16, MAX_PUSH.textBytes).default(1024),
      urlBytes: whole(16, MAX_PUSH.urlBytes).default(4096),
      timezoneCharacters: whole(3, MAX_PUSH.timezoneCharacters).default(64),
      extdataBytes: whole(2, MAX_PUSH.extdataBytes).default(16_384),
      extdataDepth: whole(1, MAX_PUSH.extdataDepth).default(32),
      upstreamHeadBytes: whole(1024, 1_048_576).default(16_384),
      redirects: whole(0, 100).default(5),
      playlistBytes: whole(64, 16_777_216).default(65_536),
      playlistEntries: whole(1, 100).default(8),
      playlistDepth: whole(1, 10).default(2),
    })
      .refine(({ reservedConnections, connections }) => !((reservedConnections ?? 0) >= connections), {
        path: ['reservedConnections'],
        error: 'must be less than limits.connections',
        when: onAnyMap,
      })
      .prefault({}),
    streams: section({
      burstSeconds: seconds(0, 60).default(5),
      lagSeconds: seconds(5, 600).default(30),
      writeSeconds: z
        .union([z.literal('auto'), z.literal(1), z.literal(2), z.literal(4)], { error: 'must be auto, 1, 2 or 4' })
        .default('auto'),
      startTimeoutSeconds: seconds(0.1, 300).default(10),
      silenceSeconds: seconds(0.1, 600).default(15),
      maxListenSeconds: seconds(1, 604_800).optional(),
      overflowUrl: webUrl().optional(),
      server: text(1, 255).default('airsplice'),
      publicUrl: z
        .union([z.literal(''), webUrl()], { error: 'must be an http:// or https:// URL, or ""' })
        .refine((url) => !/[?#]/.test(url), { error: 'must be a URL without ? and #' })
        .default(''),
      showsOnReading: z
        .record(
          text(1, 100),
          z.union([z.literal('all'), seconds(0, 60)], { error: 'must be all or a number of seconds from 0 to 60' }),
          { error: 'must be a map from parts of user agents to all or seconds' },
        )
        .transform((own) => ({ ...SHOWS_ON_READING, ...own }))
        .prefault({}),
      endsOnFormatChange: z
        .record(text(1, 100), list(choice(FORMATS), 0, FORMATS.length), {
          error: 'must be a map from parts of user agents to lists of mp3, aac and ogg',
        })
        .transform((own) => ({ ...ENDS_ON_FORMAT_CHANGE, ...own }))
        .prefault({}),
      hls: hlsSchema().prefault({}),
      headers: z
        .record(
          z.string().regex(HEADER_NAME, { error: 'must be a header name that does not frame the stream' }),
          text(0, 1024),
          { error: 'must be a map from header names to texts' },
        )
        .default({}),
    })
      .refine((streams) => !(streams.lagSeconds < streams.burstSeconds + 5), {
        path: ['lagSeconds'],
        error: 'must be at least 5 more than streams.burstSeconds',
        when: onAnyMap,
      })
      .prefault({}),
    sources: sourcesSchema,
    watch: section({
      pingSeconds: seconds(0.1, 600).default(25),
      bufferBytes: whole(1024, 16_777_216).default(65_536),
      drainSeconds: seconds(0.1, 600).default(30),
    }).prefault({}),
    page: pageSchema(context.folder).prefault({}),
    stations: keyed(stationSchema(context)).default({}),
  }).refine(({ directories, streams }) => !(directories?.length > 0 && streams?.publicUrl === ''), LISTED_AT);
}

function legacySchema() {
  return section({
    deprecatedOn: date(),
    sunsetOn: date(),
    successor: webUrl(),
  }).refine(({ deprecatedOn, sunsetOn }) => sunsetOn >= deprecatedOn, {
    path: ['sunsetOn'],
    error: 'must not be before legacy.deprecatedOn',
  });
}

/** A valid configuration: with all defaults, secrets as digests, absolute paths. */
export type Config = z.output<ReturnType<typeof configSchema>>;
export type ClusterConfig = NonNullable<Config['cluster']>;
export type LegacyConfig = NonNullable<Config['legacy']>;
export type AddressConfig = Config['addresses'][number];
type StationConfig = Config['stations'][string];
export type ChannelConfig = StationConfig['channels'][string];
export type SourceConfig = ChannelConfig['sources'][number];
