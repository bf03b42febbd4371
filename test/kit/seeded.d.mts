export declare class Seeded {
  constructor(seed: number);
  next(): number;
  below(count: number): number;
  shuffled<T>(items: readonly T[]): T[];
}
