export interface Leg {
  readonly name: string;
  readonly files: readonly string[];
  readonly extra?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface Tier {
  readonly legs: readonly Leg[];
  readonly leftOut: readonly string[];
}

export declare function short(): Tier;
export declare function atEachChange(changed?: readonly string[]): Tier;
export declare function everything(): Tier;
