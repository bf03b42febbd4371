/**
 * When a change of each option takes effect after a reload. The rule with the longest prefix of the option's path counts; `*` is the key of a station
 * or channel. test/config/plan.test.ts compares the table with the schema.
 */

/** When a change takes effect, as text for operators. */
export const EFFECTS = {
  /** With the next request, write or check. */
  now: 'at once',
  /** For later connections, requests and listeners; existing ones keep the old value. */
  newcomers: 'for newcomers',
  /** From the channel's next tape on: current listeners were promised the old value. */
  tape: 'from the next tape',
  /** From the next title on. */
  title: 'from the next title',
  /** The switch changes sources as it does after the loss of one. */
  source: 'as any change of source',
  /** Only in a new process. */
  restart: 'needs a restart',
} as const;
export type Effect = keyof typeof EFFECTS;

export const RULES: Readonly<Record<string, Effect>> = {
  addresses: 'newcomers',
  proxies: 'newcomers',
  listenerHook: 'newcomers',
  encoderHook: 'newcomers',
  directories: 'now',
  shoutcastListenUrls: 'newcomers',
  signedUrls: 'newcomers',
  legacy: 'newcomers',
  reload: 'now',
  workers: 'restart',
  cluster: 'restart',
  demoSecretsInPublic: 'now',
  data: 'restart',
  admin: 'now',
  'admin.refusals': 'restart',
  'admin.logLines': 'restart',
  alerts: 'now',
  statistics: 'now',
  'statistics.enabled': 'newcomers',
  log: 'now',
  'log.format': 'restart',
  'log.bufferBytes': 'restart',
  accessLog: 'newcomers',
  'accessLog.file': 'restart',
  'accessLog.bufferBytes': 'restart',
  shutdown: 'now',
  sessions: 'newcomers',
  'sessions.max': 'restart',
  metadata: 'now',
  history: 'now',
  titles: 'now',
  feed: 'now',
  limits: 'newcomers',
  'limits.addressesRemembered': 'restart',
  'limits.historyCacheBytes': 'restart',
  'limits.httpHeadBytes': 'restart',
  'limits.handshakes': 'restart',
  'limits.clientHelloBytes': 'restart',
  'limits.pushBodyBytes': 'restart',
  streams: 'newcomers',
  'streams.lagSeconds': 'tape',
  'streams.writeSeconds': 'now',
  'streams.silenceSeconds': 'now',
  'streams.publicUrl': 'now',
  'streams.hls': 'now',
  sources: 'now',
  watch: 'newcomers',
  page: 'now',
  'stations.*': 'now',
  'stations.*.encoderHook': 'newcomers',
  'stations.*.channels.*': 'now',
  'stations.*.channels.*.metaint': 'tape',
  'stations.*.channels.*.bitrateKbps': 'tape',
  'stations.*.channels.*.delaySeconds': 'tape',
  'stations.*.channels.*.icy': 'title',
  'stations.*.channels.*.icy.inOgg': 'newcomers',
  'stations.*.channels.*.name': 'now',
  'stations.*.channels.*.genre': 'newcomers',
  'stations.*.channels.*.url': 'newcomers',
  'stations.*.channels.*.description': 'newcomers',
  'stations.*.channels.*.public': 'newcomers',
  'stations.*.channels.*.mounts': 'newcomers',
  'stations.*.channels.*.maxListeners': 'newcomers',
  'stations.*.channels.*.maxListenSeconds': 'newcomers',
  'stations.*.channels.*.overflowUrl': 'newcomers',
  'stations.*.channels.*.access': 'newcomers',
  'stations.*.channels.*.encoderHook': 'newcomers',
  'stations.*.channels.*.streamInfo': 'newcomers',
  'stations.*.channels.*.sources': 'source',
};

/** The effect of a change of this option. @param path with `*` for the keys of stations and channels @returns undefined: no rule covers it */
export function effectOf(path: readonly string[]): Effect | undefined {
  for (let length = path.length; length > 0; length--) {
    const effect = RULES[path.slice(0, length).join('.')];
    if (effect !== undefined) return effect;
  }
  return undefined;
}
