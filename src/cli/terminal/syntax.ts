/** What a command takes, as data: for its usage and the help (help.ts), for completions (completion.ts), and to read it (command.ts). */

export interface CommandOption {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  /** What its value is called in the usage. */
  readonly value?: string;
  readonly about: string;
}

type Operand = 'CHANNEL' | 'COMMAND' | 'CONFIG' | 'FILE' | 'SHELL' | 'URL';

export interface Syntax {
  readonly name: string;
  /** What it takes beside options, as the usage shows it: `CHANNEL`, one that may be missing as `[CHANNEL]`, or nothing. */
  readonly operands: '' | Operand | `[${Operand}]`;
  /** One sentence. */
  readonly summary: string;
  readonly options: Readonly<Record<string, CommandOption>>;
}
