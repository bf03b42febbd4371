/** The configuration of a test as the file that processes of its own read. */

import { join } from 'node:path';

export interface ProcessConfig {
  /** Of its addresses, in their order, where the test leaves the choice (`port: 0`). */
  readonly ports: readonly number[];
  /** Where the data are, unless the test says it. */
  readonly folder: string;
  readonly level: 'silent' | 'debug';
  readonly workers: number;
  /** What the file has besides, each line with its end. */
  readonly besides?: string;
}

/** @returns the file for a text of the test, the same for each text but for what that says */
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
