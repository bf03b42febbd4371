/** A test's configuration as a file for separate processes. */

import { join } from 'node:path';

export interface ProcessConfig {
  /** Ports for addresses with `port: 0`, in order. */
  readonly ports: readonly number[];
  /** The data folder, unless the test names one. */
  readonly folder: string;
  readonly level: 'silent' | 'debug';
  readonly workers: number;
  /** Further lines of the file, each with its line end. */
  readonly besides?: string;
}

/** @returns a function that makes the file for a text of the test */
export function processConfig({ ports, folder, level, workers, besides = '' }: ProcessConfig) {
  return (text: string): string => {
    let next = 0;
    const named = text
      .replace(/\bport: 0\b/g, () => `port: ${ports[next++]}`)
      .replace(/^log: \{/m, `log: { level: ${level},`);
    const data = /^data:/m.test(text) ? '' : `data: { folder: ${join(folder, 'data')} }\n`;
    const logged = /^log:/m.test(text) ? '' : `log: { level: ${level} }\n`;
    return `workers: ${workers}\n${besides}${data}${logged}${named}`;
  };
}
