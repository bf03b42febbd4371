/** The manual page airsplice(1), made from the table of commands, in mdoc, which man and mandoc read. Written by the build (package.json, "man"). */

import type { Syntax } from './syntax.js';

const INTRO = `Splices the right title at the right byte of a radio stream, for every listener.
Without a command it is
.Cm start ;
without a configuration it runs a demo.`;

const ENVIRONMENT: readonly (readonly [string, string])[] = [
  ['LOG_LEVEL', 'Overrides log.level: fatal, error, warn, info, debug or silent.'],
  ['AIRSPLICE_URL', 'The running server, if --url is not given.'],
  ['AIRSPLICE_TOKEN', 'The token for pushing a title.'],
  ['NO_COLOR', 'Disables colours if set and not empty.'],
];

const SIGNALS = `.Dv SIGTERM
and
.Dv SIGINT
stop the server politely;
.Dv SIGUSR2
replaces its processes, if it has workers;
.Dv SIGHUP
reloads the configuration, and reopens the access log.`;

const EXIT = `0 for success, 1 for a failure or a bad finding, 2 for an invalid command line or configuration, 70 for a bug in the program.`;

/** @param version of the package @param date `YYYY-MM-DD` */
export function manualPage(commands: readonly Syntax[], version: string, date: string): string {
  return [
    '.\\" Generated from the table of commands: src/cli/commands.ts',
    `.Dd ${date}`,
    '.Dt AIRSPLICE 1',
    `.Os airsplice ${version}`,
    '.Sh NAME',
    '.Nm airsplice',
    '.Nd a relay for radio streams',
    '.Sh SYNOPSIS',
    '.Nm',
    '.Op Ar COMMAND',
    '.Op Ar ...',
    '.Sh DESCRIPTION',
    INTRO,
    '.Sh COMMANDS',
    ...commands.flatMap(commandLines),
    '.Sh ENVIRONMENT',
    '.Bl -tag -width Ds',
    ...ENVIRONMENT.flatMap(([name, about]) => [`.It Ev ${name}`, escaped(about)]),
    '.El',
    '.Sh FILES',
    'Every option of the configuration is explained in config/example.yaml of the package.',
    '.Sh EXIT STATUS',
    EXIT,
    '.Sh SIGNALS',
    SIGNALS,
    '',
  ].join('\n');
}

function commandLines({ name, operands, summary, options }: Syntax): readonly string[] {
  const synopsis = operands === '' ? [] : [operandLine(operands)];
  const all = Object.entries(options);
  return [
    `.Ss ${name}`,
    '.Nm',
    `.Cm ${name}`,
    ...(all.length === 0 ? [] : ['.Op Ar options']),
    ...synopsis,
    '.Pp',
    escaped(summary),
    ...(all.length === 0 ? [] : ['.Bl -tag -width Ds', ...all.flatMap(optionLines), '.El']),
  ];
}

function operandLine(operands: string): string {
  const bare = operands.replace(/[[\]]/g, '');
  return operands.startsWith('[') ? `.Op Ar ${bare}` : `.Ar ${bare}`;
}

function optionLines([name, { short, value, about }]: [string, Syntax['options'][string]]): readonly string[] {
  const letter = short === undefined ? '' : `Fl ${short} , `;
  const argument = value === undefined ? '' : ` Ar ${value}`;
  return [`.It ${letter}Fl \\-${name.replaceAll('-', '\\-')}${argument}`, escaped(about)];
}

/** Escaped, so that no text is an mdoc request; each sentence is on a line of its own. */
function escaped(text: string): string {
  const plain = text.replaceAll('\\', '\\e').replaceAll('-', '\\-');
  return plain.replace(/(?<=[.!?]) +/g, '\n').replace(/^(?=[.'])/gm, '\\&');
}
