/** All commands, in the order of the help. */

import { meant } from '../base/spelling.js';
import type { Command } from './command.js';
import type { CommandOption } from './terminal/syntax.js';

/** An option with a value. @param value its name in the usage */
function valued(value: string, about: string, short?: string): CommandOption {
  return { type: 'string', value, about, ...(short !== undefined && { short }) };
}

function flag(about: string, short?: string): CommandOption {
  return { type: 'boolean', about, ...(short !== undefined && { short }) };
}

/** For all commands that ask a running server. */
const URL_OPTION = valued('URL', 'The running server (default: AIRSPLICE_URL, else http://127.0.0.1:8000).');

export const COMMANDS: readonly Command[] = [
  {
    name: 'start',
    operands: '[CONFIG]',
    summary: 'Runs the server. Without a configuration it runs the demo.',
    options: {
      port: valued('PORT', 'In place of the port of the first address.', 'p'),
      'log-level': valued('LEVEL', 'fatal, error, warn, info, debug or silent; in place of LOG_LEVEL and log.level.'),
    },
    load: null,
  },
  {
    name: 'check',
    operands: 'CONFIG',
    summary: 'Checks a configuration, and prints its problems or a summary. Exit code 2 if there are problems.',
    options: { diff: flag('Prints what a reload of the running server would change.') },
    load: async () => (await import('./setup/check-command.js')).check,
  },
  {
    name: 'init',
    operands: '[CONFIG]',
    summary:
      'Writes a first configuration with new secrets (default: airsplice.yaml), and asks for what no option gives.',
    options: {
      station: valued('NAME', 'The name of the station.'),
      channel: valued('NAMES', 'Its channels, separated by commas.'),
      port: valued('PORT', 'Where the server listens (default: 8000).', 'p'),
      'public-url': valued('URL', 'Where listeners reach it, by a proxy or a name.'),
      source: valued('SOURCES', 'encoder, URLs of streams, audio files: best first, separated by commas.'),
      from: valued(
        'FILE',
        "Imports an icecast.xml, a Liquidsoap script, or AzuraCast's /api/stations; --channel adds mounts that an icecast.xml lacks.",
      ),
      yes: flag('Asks nothing and uses defaults.', 'y'),
      force: flag('Replaces an existing configuration.'),
    },
    load: async () => (await import('./setup/init.js')).init,
  },
  {
    name: 'token',
    operands: 'CHANNEL',
    summary: 'Makes a push token for a channel, and its digest for the configuration.',
    options: {},
    load: async () => (await import('./setup/token.js')).token,
  },
  {
    name: 'reload',
    operands: 'CONFIG',
    summary: 'Reloads the configuration of a running server, and prints what has changed.',
    options: {
      restart: flag('With workers: applies changes that need new processes as well, by a rolling restart.'),
    },
    load: async () => (await import('./reload-command.js')).reload,
  },
  {
    name: 'restart',
    operands: 'CONFIG',
    summary: 'Replaces the processes of a running server with workers, by the program as it is on the disk now.',
    options: {},
    load: async () => (await import('./restart.js')).restart,
  },
  {
    name: 'status',
    operands: '',
    summary: 'Shows the channels of a running server; live in a terminal. Exit code 1 if it is not ready.',
    options: {
      once: flag('Once, also in a terminal.'),
      watch: flag('Repeatedly, also without a terminal.'),
      every: valued('SECONDS', 'Between two updates (default: 2).'),
      json: flag('A line of JSON, once without --watch.'),
      url: URL_OPTION,
    },
    load: async () => (await import('./status-command.js')).status,
  },
  {
    name: 'cluster',
    operands: '',
    summary: 'Shows what a machine knows of its cluster: the shared log, the other machines, who feeds which channel.',
    options: { json: flag('A line of JSON.'), url: URL_OPTION },
    load: async () => (await import('./cluster-command.js')).cluster,
  },
  {
    name: 'backup',
    operands: 'FILE',
    summary: 'Writes configuration and store of a server, running or not, to one file.',
    options: { config: valued('CONFIG', "The server's configuration (default: airsplice.yaml).") },
    load: async () => (await import('./backup/backup-command.js')).backup,
  },
  {
    name: 'restore',
    operands: 'FILE',
    summary: 'Restores configuration and store from a backup. The server must be stopped.',
    options: {
      config: valued('CONFIG', 'Where the configuration goes (default: airsplice.yaml).'),
      data: valued(
        'FOLDER',
        "Where the store goes (default: the backup's data folder, if it is that of CONFIG, or data beside CONFIG).",
      ),
      force: flag('Replaces existing files.'),
    },
    load: async () => (await import('./backup/restore.js')).restore,
  },
  {
    name: 'push',
    operands: 'CHANNEL',
    summary: 'Pushes a title to a running server. The token is read from the environment, AIRSPLICE_TOKEN.',
    options: {
      artist: valued('TEXT', 'The artist.'),
      song: valued('TEXT', 'The title of the song.'),
      duration: valued('SECONDS', 'Its length (default: 0, unknown).'),
      next: flag('It is the title that follows.'),
      url: URL_OPTION,
    },
    load: async () => (await import('./push-command.js')).push,
  },
  {
    name: 'watch',
    operands: '[CHANNEL]',
    summary: 'Shows the titles of a channel or a station of a running server as they change; live in a terminal.',
    options: {
      station: valued('STATION', 'All channels of this station, in place of one channel.'),
      lines: flag('A line for each change, also in a terminal.'),
      json: flag('Whole records, one a line.'),
      count: valued('N', 'Ends after this many.'),
      url: URL_OPTION,
    },
    load: async () => (await import('./watch-command.js')).watch,
  },
  {
    name: 'record',
    operands: 'URL',
    summary:
      'Records a stream, with its titles as a cue sheet and as JSON. Reconnects when the connection is lost. Ctrl-C ends it.',
    options: {
      out: valued(
        'FILE',
        'The file, or a folder for it; with --split a folder (default: made from the URL and the time).',
      ),
      seconds: valued('N', 'How much audio, from the place where a listener begins.'),
      split: flag('A file for each title, cut at its place in the stream.'),
    },
    load: async () => (await import('./recording/record-command.js')).record,
  },
  {
    name: 'doctor',
    operands: '[CONFIG]',
    summary:
      'Checks ports, disk, limits, kernel settings, clock, names, certificates and the way from outside, with advice. Exit code 1 if something is bad.',
    options: {
      'public-url': valued('URL', 'Where listeners reach it (default: streams.publicUrl).'),
      json: flag('The findings as JSON.'),
    },
    load: async () => (await import('./doctor/doctor.js')).doctor,
  },
  {
    name: 'bench',
    operands: '',
    summary: 'Loads a server with listeners that check what they receive, and prints figures.',
    options: {
      channel: valued('CHANNEL', 'The channel (default: the first on air).'),
      listeners: valued('N', 'How many (default: 100; for another machine at most 1000).'),
      seconds: valued('S', 'How long, after all have joined (default: 10).'),
      'allow-remote': valued('HOST', 'Repeats the host of --url, if that is another machine of yours.'),
      json: flag('The figures as JSON.'),
      url: URL_OPTION,
    },
    load: async () => (await import('./bench.js')).bench,
  },
  {
    name: 'measure-offset',
    operands: 'CHANNEL',
    summary: 'Helps to measure how long after its push a title is heard: writes an audio file for each push.',
    options: {
      out: valued('FOLDER', 'Where the files go (default: here).'),
      seconds: valued('N', 'The length of each (default: 30).'),
      before: valued('N', 'How much of it is from before the push (default: 0).'),
      count: valued('N', 'Ends after this many files.'),
      url: URL_OPTION,
    },
    load: async () => (await import('./recording/measure-offset.js')).measureOffset,
  },
  {
    name: 'schema',
    operands: '',
    summary: 'Prints the JSON Schema of the configuration, for editors.',
    options: {},
    load: async () => (await import('./setup/schema-command.js')).schema,
  },
  {
    name: 'completion',
    operands: 'SHELL',
    summary: 'Prints a script for bash, zsh or fish that completes these commands.',
    options: {},
    load: async () => (await import('./terminal/completion.js')).completion,
  },
  {
    name: 'help',
    operands: '[COMMAND]',
    summary: 'Lists all commands, or explains one.',
    options: {},
    load: async () => (await import('./setup/about.js')).help,
  },
  {
    name: 'version',
    operands: '',
    summary: 'Prints the version.',
    options: {},
    load: async () => (await import('./setup/about.js')).version,
  },
];

const HELP = ['--help', '-h'];

/** The command of this name; undefined: there is none. */
export function commandNamed(name: string): Command | undefined {
  return COMMANDS.find((command) => command.name === name);
}

/** A suggestion for an unknown command, as the end of a sentence. */
export function commandMeant(word: string): string {
  return meant(
    word,
    COMMANDS.map(({ name }) => name),
  );
}

/** Finds the command of a command line; without one it is `start`. @param words those after the program's name */
export function readWords(words: readonly string[]): { readonly command: Command; readonly args: readonly string[] } {
  const [first = '', ...rest] = words;
  const named = commandNamed(first);
  if (words.some((word) => HELP.includes(word))) return { command: commandNamed('help')!, args: named ? [first] : [] };
  if (first === '--version') return { command: commandNamed('version')!, args: rest };
  return named === undefined ? { command: commandNamed('start')!, args: words } : { command: named, args: rest };
}
