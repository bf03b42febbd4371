/** Types of the used part of m3u8-parser 7.2.0; the package has none. */

declare module 'm3u8-parser' {
  export interface Manifest {
    readonly targetDuration: number;
    readonly mediaSequence: number;
    readonly discontinuitySequence: number;
    readonly segments: readonly {
      readonly uri: string;
      readonly duration: number;
      readonly dateTimeObject?: Date;
      readonly discontinuity?: boolean;
      readonly map?: { readonly uri: string };
    }[];
    readonly dateRanges: readonly {
      readonly id: string;
      readonly startDate: Date;
    }[];
  }

  export class Parser {
    readonly manifest: Manifest;
    push(text: string): void;
    end(): void;
  }
}
