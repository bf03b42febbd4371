/** Questions in a terminal, each asked again until its answer can be read. */

import { createInterface } from 'node:readline/promises';

/** What one question is. */
export interface TerminalQuestion<T> {
  readonly text: string;
  /** Taken for an empty answer; '': there must be one. */
  readonly preset: string;
  /** Throws an Error that says what is wrong. */
  readonly read: (answer: string) => T;
}

export type Ask = <T>(question: TerminalQuestion<T>) => Promise<T>;

/** @param signal ends it: what waits for an answer rejects then, as it does at the end of the input */
export async function withTerminal<T>(signal: AbortSignal, talk: (ask: Ask) => Promise<T>): Promise<T> {
  const given = new AbortController();
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  terminal.once('SIGINT', () => given.abort());
  terminal.once('close', () => given.abort());
  // Lines that come while nothing is asked: several were pasted at once.
  const pasted: string[] = [];
  terminal.on('line', (line) => pasted.push(line));
  const ends = AbortSignal.any([signal, given.signal]);
  const ask: Ask = async ({ text, preset, read }) => {
    for (;;) {
      const question = `${text}${preset === '' ? '' : ` [${preset}]`}: `;
      const answer = pasted.shift() ?? (await terminal.question(question, { signal: ends }));
      try {
        return read(answer.trim() || preset);
      } catch (error) {
        process.stderr.write(`  ${(error as Error).message}\n`);
      }
    }
  };
  try {
    return await talk(ask);
  } catch (error) {
    if (ends.aborted) throw new Error('given up: nothing was written', { cause: error });
    throw error;
  } finally {
    terminal.close();
  }
}
