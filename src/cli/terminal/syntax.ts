/** The syntax of a command as data, for its usage and help (help.ts), completions (completion.ts), and the parser (command.ts). */

export interface CommandOption {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  /** The name of its value in the usage. */
  readonly value?: string;
  readonly about: string;
}

type Operand = 'CHANNEL' | 'COMMAND' | 'CONFIG' | 'FILE' | 'SHELL' | 'URL';

export interface Syntax {
  readonly name: string;
  /** As in the usage: `CHANNEL`, an optional one as `[CHANNEL]`, or none. */
  readonly operands: '' | Operand | `[${Operand}]`;
  /** One sentence. */
  readonly summary: string;
  readonly options: Readonly<Record<string, CommandOption>>;
}
