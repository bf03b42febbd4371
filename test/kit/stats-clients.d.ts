/** Types of the used parts of icy 2.1.0, icecast-parser 4.0.2, icecast-metadata-stats 0.1.12 and icecast-monitor 1.0.2. */

declare module 'icy' {
  import type { ClientRequest, IncomingMessage } from 'node:http';
  import type { Transform } from 'node:stream';

  /** The answer without its blocks: a `Reader` if there are any, else the answer itself. */
  type IcyAnswer = Transform & Pick<IncomingMessage, 'headers' | 'statusCode'>;

  const icy: {
    get(url: string, onAnswer: (answer: IcyAnswer) => void): ClientRequest;
    request(url: string, onAnswer: (answer: IcyAnswer) => void): ClientRequest;
    /** A block's text, by field. */
    parse(metadata: Buffer): Record<string, string>;
    readonly Client: new (url: string, onAnswer: (answer: IcyAnswer) => void) => ClientRequest;
    readonly Reader: new (metaint: number) => Transform;
  };
  export = icy;
}

declare module 'icecast-parser' {
  import type { EventEmitter } from 'node:events';
  import type { Readable } from 'node:stream';

  interface ParserOptions {
    url: string;
    /** Whether it polls. */
    autoUpdate?: boolean;
    /** Interval of polls, seconds. */
    metadataInterval?: number;
    /** Whether it stays connected. */
    keepListen?: boolean;
    notifyOnChangeOnly?: boolean;
  }

  export class Parser extends EventEmitter<{
    empty: [];
    end: [];
    error: [Error];
    metadata: [Map<string, string>];
    stream: [Readable];
  }> {
    constructor(options: ParserOptions);
    /** Its options. */
    readonly options: ParserOptions;
  }
}

declare module 'icecast-metadata-stats' {
  export type StatsSource = 'icy' | 'ogg' | 'icestats' | 'stats' | 'sevenhtml' | 'nextsongs';

  interface StatsOptions {
    sources?: readonly StatsSource[];
    /** Interval, seconds. */
    interval?: number;
    onStats?(stats: Stats): void;
  }

  // biome-ignore lint/suspicious/noExplicitAny: any JSON from the server
  type Stats = Readonly<Partial<Record<StatsSource, any>>>;

  // biome-ignore lint/style/noDefaultExport: its only export
  export default class IcecastMetadataStats {
    constructor(endpoint: string, options?: StatsOptions);
    readonly state: 'stopped' | 'running' | 'fetching';
    start(): void;
    stop(): void;
    fetch(): Promise<Stats>;
  }
}

declare module 'icecast-monitor' {
  /** Values of an answer, by the package's names; null: absent. */
  type MonitoredItem = Readonly<Record<string, string | number | null>>;
  type OnAnswer<T> = (error: Error | null, answer: T) => void;

  class IcecastMonitor {
    constructor(options: { host: string; port: number; user: string; password: string });
    getServerInfo(onAnswer: OnAnswer<MonitoredItem>): void;
    getSources(onAnswer: OnAnswer<readonly MonitoredItem[]>): void;
    getSource(mount: string, onAnswer: OnAnswer<Readonly<Record<string, unknown>>>): void;
    getListeners(onAnswer: OnAnswer<readonly MonitoredItem[]>): void;
  }
  export = IcecastMonitor;
}
