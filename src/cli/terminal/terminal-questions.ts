/** Questions in a terminal, each repeated until its answer is valid. */

import { createInterface } from 'node:readline/promises';

export interface TerminalQuestion<T> {
  readonly text: string;
  /** Used for an empty answer; '': an answer is required. */
  readonly preset: string;
  /** Parses an answer. Throws an Error that says what is wrong. */
  readonly read: (answer: string) => T;
}

export type Ask = <T>(question: TerminalQuestion<T>) => Promise<T>;

/** @param signal ends the questions: an open one rejects, as at the end of the input */
export async function withTerminal<T>(signal: AbortSignal, talk: (ask: Ask) => Promise<T>): Promise<T> {
  const given = new AbortController();
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  terminal.once('SIGINT', () => given.abort());
  terminal.once('close', () => given.abort());
  // Lines that arrive while no question is open: several were pasted at once.
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
    if (ends.aborted) throw new Error('cancelled: nothing was written', { cause: error });
    throw error;
  } finally {
    terminal.close();
  }
}
