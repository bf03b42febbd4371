import type { Test } from 'tap';

export declare function beginFile(file: string, ofFile: Test): void;
export declare function currentFile(): string | undefined;
