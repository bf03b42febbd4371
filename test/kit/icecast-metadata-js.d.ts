/** Types of the one class of icecast-metadata-js 1.2.9 that is used here; the package has none. */

declare module 'icecast-metadata-js' {
  export interface IcecastMetadataItem {
    readonly stream?: Uint8Array;
    /** Field name to value, for instance `StreamTitle`. */
    readonly metadata?: Readonly<Record<string, string>>;
    readonly stats: Readonly<Record<string, number>>;
  }

  export interface IcecastMetadataReaderOptions {
    /** The stream's `icy-metaint`: audio bytes between two blocks. */
    icyMetaInt?: number;
    /** A TextDecoder label; default utf-8. */
    icyCharacterEncoding?: string;
    /** Milliseconds to look for blocks when `icyMetaInt` is not given. */
    icyDetectionTimeout?: number;
    metadataTypes?: readonly ('icy' | 'ogg')[];
    enableLogging?: boolean;
    onStream?: (item: IcecastMetadataItem) => void | Promise<void>;
    onMetadata?: (item: IcecastMetadataItem) => void | Promise<void>;
    onMetadataFailed?: (type: 'icy' | 'ogg') => void;
    onError?: (...messages: string[]) => void;
  }

  export class IcecastMetadataReader {
    constructor(options?: IcecastMetadataReaderOptions);
    /** The fields of a block's text. */
    static parseIcyMetadata(text: string): Record<string, string>;
    readonly icyMetaInt: number;
    /** Audio and blocks of the next bytes, in stream order. */
    iterator(chunk: Uint8Array): IterableIterator<IcecastMetadataItem>;
    readAll(chunk: Uint8Array): void;
    asyncReadAll(chunk: Uint8Array): Promise<void>;
  }
}
