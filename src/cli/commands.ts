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
      port: valued('PORT', 'Overrides the port of the first address.', 'p'),
      'log-level': valued('LEVEL', 'fatal, error, warn, info, debug or silent; overrides LOG_LEVEL and log.level.'),
    },
    load: null,
  },
  {
    name: 'check',
    operands: 'CONFIG',
    summary: 'Checks a configuration and prints its problems or a summary. Exit code 2 if there are problems.',
    options: { diff: flag('Prints what a reload of the running server would change.') },
    load: async () => (await import('./setup/check-command.js')).check,
  },
  {
    name: 'init',
    operands: '[CONFIG]',
    summary:
      'Writes a first configuration with new secrets (default: airsplice.yaml), and asks for what the options leave open.',
    options: {
      station: valued('NAME', 'The name of the station.'),
      channel: valued('NAMES', 'Its channels, separated by commas.'),
      port: valued('PORT', 'Where the server listens (default: 8000).', 'p'),
      'public-url': valued('URL', 'Where listeners reach it, through a proxy or by name.'),
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
    summary: 'Creates a push token for a channel, and its digest for the configuration.',
    options: {},
    load: async () => (await import('./setup/token.js')).token,
  },
  {
    name: 'reload',
    operands: 'CONFIG',
    summary: 'Reloads the configuration of a running server and prints what changed.',
    options: {
      restart: flag('With workers: also applies changes that need new processes, by a rolling restart.'),
    },
    load: async () => (await import('./reload-command.js')).reload,
  },
  {
    name: 'restart',
    operands: 'CONFIG',
    summary: 'Replaces the processes of a running server with workers by those of the program now on disk.',
    options: {},
    load: async () => (await import('./restart.js')).restart,
  },
  {
    name: 'status',
    operands: '',
    summary: 'Shows the channels of a running server; live in a terminal. Exit code 1 if it is not ready.',
    options: {
      once: flag('Prints once, even in a terminal.'),
      watch: flag('Prints repeatedly, even without a terminal.'),
      every: valued('SECONDS', 'Time between updates (default: 2).'),
      json: flag('Prints a line of JSON; without --watch only one.'),
      url: URL_OPTION,
    },
    load: async () => (await import('./status-command.js')).status,
  },
  {
    name: 'cluster',
    operands: '',
    summary: "Shows a machine's view of its cluster: the shared log, the other machines, who feeds which channel.",
    options: { json: flag('A line of JSON.'), url: URL_OPTION },
    load: async () => (await import('./cluster-command.js')).cluster,
  },
  {
    name: 'backup',
    operands: 'FILE',
    summary: "Writes a server's configuration and store to one file; the server may be running.",
    options: { config: valued('CONFIG', "The server's configuration (default: airsplice.yaml).") },
    load: async () => (await import('./backup/backup-command.js')).backup,
  },
  {
    name: 'restore',
    operands: 'FILE',
    summary: 'Restores configuration and store from a backup. The server must be stopped.',
    options: {
      config: valued('CONFIG', 'Where to put the configuration (default: airsplice.yaml).'),
      data: valued(
        'FOLDER',
        "Where to put the store (default: the backup's data folder, if it is CONFIG's, or data next to CONFIG).",
      ),
      force: flag('Replaces existing files.'),
    },
    load: async () => (await import('./backup/restore.js')).restore,
  },
  {
    name: 'push',
    operands: 'CHANNEL',
    summary: 'Pushes a title to a running server. The token comes from the environment variable AIRSPLICE_TOKEN.',
    options: {
      artist: valued('TEXT', 'The artist.'),
      song: valued('TEXT', 'The title of the song.'),
      duration: valued('SECONDS', 'The length of the song (default: 0, unknown).'),
      next: flag('Pushes the next title, not the current one.'),
      url: URL_OPTION,
    },
    load: async () => (await import('./push-command.js')).push,
  },
  {
    name: 'watch',
    operands: '[CHANNEL]',
    summary: 'Shows the titles of a channel or a station of a running server as they change; live in a terminal.',
    options: {
      station: valued('STATION', 'All channels of this station instead of one channel.'),
      lines: flag('Prints a line per change, even in a terminal.'),
      json: flag('Prints complete records, one per line.'),
      count: valued('N', 'Stops after this many changes.'),
      url: URL_OPTION,
    },
    load: async () => (await import('./watch-command.js')).watch,
  },
  {
    name: 'record',
    operands: 'URL',
    summary:
      'Records a stream, with its titles as a cue sheet and as JSON. Reconnects when the connection is lost. Stop with Ctrl-C.',
    options: {
      out: valued(
        'FILE',
        'The file, or a folder for it; with --split a folder (default: named after the URL and the time).',
      ),
      seconds: valued('N', 'How much audio to record, from where a listener starts.'),
      split: flag('Writes a file per title, cut where the title changes in the stream.'),
    },
    load: async () => (await import('./recording/record-command.js')).record,
  },
  {
    name: 'doctor',
    operands: '[CONFIG]',
    summary:
      'Checks ports, disk, limits, kernel settings, clock, names, certificates and access from outside, with advice. Exit code 1 if a check fails.',
    options: {
      'public-url': valued('URL', 'Where listeners reach it (default: streams.publicUrl).'),
      json: flag('The findings as JSON.'),
    },
    load: async () => (await import('./doctor/doctor.js')).doctor,
  },
  {
    name: 'bench',
    operands: '',
    summary: 'Puts load on a server with listeners that check what they receive, and prints figures.',
    options: {
      channel: valued('CHANNEL', 'The channel (default: the first on air).'),
      listeners: valued('N', 'How many listeners (default: 100; against another machine at most 1000).'),
      seconds: valued('S', 'How long to measure once all have joined (default: 10).'),
      'allow-remote': valued('HOST', 'Confirms the host of --url, if it is another machine of yours.'),
      json: flag('The figures as JSON.'),
      url: URL_OPTION,
    },
    load: async () => (await import('./bench.js')).bench,
  },
  {
    name: 'measure-offset',
    operands: 'CHANNEL',
    summary: 'Helps measure how long after its push a title is heard: writes an audio file per push.',
    options: {
      out: valued('FOLDER', 'Where to put the files (default: the current folder).'),
      seconds: valued('N', 'The length of each file (default: 30).'),
      before: valued('N', 'How much of it to take from before the push (default: 0).'),
      count: valued('N', 'Stops after this many files.'),
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
    summary: 'Prints a completion script for bash, zsh or fish.',
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
