/**
 * What a change of each option concerns, once a reload has put it in force. The longest beginning of an option's path counts; `*` stands for the key
 * of a station or channel. test/config/plan.test.ts holds the table and the schema together.
 */

/** When a change is felt, as an operator reads it. */
export const EFFECTS = {
  /** Whatever is asked, written or looked at next goes by it. */
  now: 'at once',
  /** Connections, requests and listeners that come from then on; those that are there go on as they are. */
  newcomers: 'for newcomers',
  /** From the channel's next tape on: what listeners were promised stays for as long as they play. */
  tape: 'from the next tape on',
  /** From the next title on. */
  title: 'from the next title on',
  /** The switch takes another source, as it does when one is lost. */
  source: 'as any change of source',
  /** Not while the process lives. */
  restart: 'needs a restart',
} as const;
export type Effect = keyof typeof EFFECTS;

const RULES: Readonly<Record<string, Effect>> = {
  addresses: 'newcomers',
  proxies: 'newcomers',
  listenerHook: 'newcomers',
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
  'stations.*': 'now',
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
  'stations.*.channels.*.sources': 'source',
};

/** The effect of a change at this place. @param path with `*` for the keys of stations and channels. Undefined: no rule covers it */
export function effectOf(path: readonly string[]): Effect | undefined {
  for (let length = path.length; length > 0; length--) {
    const effect = RULES[path.slice(0, length).join('.')];
    if (effect !== undefined) return effect;
  }
  return undefined;
}

/** The places that the table names. */
export function placesWithRules(): readonly string[] {
  return Object.keys(RULES);
}
