export declare function leftOpen(): string[];
