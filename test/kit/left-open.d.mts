export declare function leftOpen(open: readonly string[]): string[];
