/** All commands, in the order of the help. */

import { meant } from '../base/spelling.js';
import type { Command } from './command.js';
import type { CommandOption } from './terminal/syntax.js';

const URL_OPTION: CommandOption = {
  type: 'string',
  value: 'URL',
  about: 'Of the running server; http://127.0.0.1:8000 unless it is given.',
};

const CONFIG_OPTION: CommandOption = {
  type: 'string',
  value: 'CONFIG',
  about: 'Of the server; airsplice.yaml unless it is given.',
};

export const COMMANDS: readonly Command[] = [
  {
    name: 'start',
    operands: '[CONFIG]',
    summary: 'Runs the server. Without a configuration it runs the demo.',
    options: {
      port: { type: 'string', short: 'p', value: 'PORT', about: 'In place of the port of the first address.' },
      'log-level': {
        type: 'string',
        value: 'LEVEL',
        about: 'fatal, error, warn, info, debug or silent; in place of LOG_LEVEL and log.level.',
      },
    },
    load: null,
  },
  {
    name: 'check',
    operands: 'CONFIG',
    summary:
      'Reads a configuration, and says what is wrong with it or what it makes. Exit code 2 where something is wrong.',
    options: { diff: { type: 'boolean', about: 'What a reload of the running server would change.' } },
    load: async () => (await import('./setup/check.js')).check,
  },
  {
    name: 'init',
    operands: '[CONFIG]',
    summary:
      'Writes a first configuration, with made secrets; it asks for what is not given. airsplice.yaml unless it is named.',
    options: {
      station: { type: 'string', value: 'NAME', about: 'The name of the station.' },
      channel: { type: 'string', value: 'NAMES', about: 'Its channels, with commas between.' },
      port: { type: 'string', short: 'p', value: 'PORT', about: 'Where the server listens; 8000 unless it is given.' },
      'public-url': { type: 'string', value: 'URL', about: 'Where listeners reach it, by a proxy or a name.' },
      source: {
        type: 'string',
        value: 'SOURCES',
        about: 'encoder, URLs of streams, audio files: best first, with commas between.',
      },
      from: {
        type: 'string',
        value: 'FILE',
        about:
          "Makes it of an icecast.xml, a Liquidsoap script, or AzuraCast's /api/stations; --channel names mounts that an icecast.xml does not.",
      },
      yes: { type: 'boolean', short: 'y', about: 'Asks nothing: what is not given is chosen.' },
      force: { type: 'boolean', about: 'Replaces a configuration that is there.' },
    },
    load: async () => (await import('./setup/init.js')).init,
  },
  {
    name: 'token',
    operands: 'CHANNEL',
    summary: 'Makes a push token for a channel, and the digest of it for the configuration.',
    options: {},
    load: async () => (await import('./setup/token.js')).token,
  },
  {
    name: 'reload',
    operands: 'CONFIG',
    summary: 'Has a running server put its configuration in force as the file is now, and prints what that changes.',
    options: {
      restart: {
        type: 'boolean',
        about:
          'With workers: what only new processes can change is changed too, by a rolling restart with the file as it is now.',
      },
    },
    load: async () => (await import('./reload.js')).reload,
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
    operands: '[URL]',
    summary:
      'Shows the channels of the server at URL (http://127.0.0.1:8000 unless it is given) at a glance; live in a terminal. Exit code 1 where it is not ready.',
    options: {
      once: { type: 'boolean', about: 'Once, in a terminal too.' },
      watch: { type: 'boolean', about: 'Again and again, where there is no terminal too.' },
      every: { type: 'string', value: 'SECONDS', about: 'How often it looks; 2 unless it is given.' },
      json: { type: 'boolean', about: 'One line of JSON, once unless --watch is given.' },
    },
    load: async () => (await import('./status.js')).status,
  },
  {
    name: 'cluster',
    operands: '[URL]',
    summary:
      'Shows what the machine at URL (http://127.0.0.1:8000 unless it is given) knows of its cluster: what all have in common, the others, who feeds which channel.',
    options: { json: { type: 'boolean', about: 'One line of JSON.' } },
    load: async () => (await import('./cluster.js')).cluster,
  },
  {
    name: 'backup',
    operands: 'FILE',
    summary: 'Writes configuration and store of a server, which may be running, into one file.',
    options: { config: CONFIG_OPTION },
    load: async () => (await import('./backup/backup.js')).backup,
  },
  {
    name: 'restore',
    operands: 'FILE',
    summary: 'Puts the configuration and the store of a backup where the options say. The server must be stopped.',
    options: {
      config: {
        type: 'string',
        value: 'CONFIG',
        about: 'Where the configuration goes; airsplice.yaml unless it is given.',
      },
      data: {
        type: 'string',
        value: 'FOLDER',
        about:
          'Where the store goes. Unless it is given, to the data folder of the backup, if that of CONFIG is the same, or it is data beside CONFIG.',
      },
      force: { type: 'boolean', about: 'Replaces what is there.' },
    },
    load: async () => (await import('./backup/restore.js')).restore,
  },
  {
    name: 'push',
    operands: 'CHANNEL',
    summary: 'Pushes a title to a running server. The token is read from the environment, AIRSPLICE_TOKEN.',
    options: {
      artist: { type: 'string', value: 'TEXT', about: 'Who plays it.' },
      song: { type: 'string', value: 'TEXT', about: 'What is played.' },
      duration: {
        type: 'string',
        value: 'SECONDS',
        about: 'How long it lasts; 0, which is not known, unless it is given.',
      },
      next: { type: 'boolean', about: 'It is the title that follows.' },
      url: URL_OPTION,
    },
    load: async () => (await import('./push.js')).push,
  },
  {
    name: 'watch',
    operands: '[CHANNEL]',
    summary: 'Shows the titles of a channel or a station of a running server as they change; live in a terminal.',
    options: {
      station: { type: 'string', value: 'STATION', about: 'All channels of it, in place of one.' },
      lines: { type: 'boolean', about: 'A line for each change, in a terminal too.' },
      json: { type: 'boolean', about: 'Whole records, one a line.' },
      count: { type: 'string', value: 'N', about: 'Ends after this many.' },
      url: URL_OPTION,
    },
    load: async () => (await import('./watch.js')).watch,
  },
  {
    name: 'record',
    operands: 'URL',
    summary:
      'Records a stream, with what was played when as a cue sheet and as JSON. A lost connection is made again. Ctrl-C ends it.',
    options: {
      out: {
        type: 'string',
        value: 'FILE',
        about: 'Its name; with --split a folder. Made of the URL and the time unless it is given.',
      },
      seconds: { type: 'string', value: 'N', about: 'How long.' },
      split: { type: 'boolean', about: 'A file for each title, cut where the title stands in the stream.' },
    },
    load: async () => (await import('./recording/record.js')).record,
  },
  {
    name: 'doctor',
    operands: '[CONFIG]',
    summary:
      'Looks at ports, disk, limits, kernel settings, clock, names, certificates and the way from outside, and says what to do. Exit code 1 where something is bad.',
    options: {
      url: { type: 'string', value: 'URL', about: 'What listeners use; streams.publicUrl unless it is given.' },
      json: { type: 'boolean', about: 'The findings as JSON.' },
    },
    load: async () => (await import('./doctor/doctor.js')).doctor,
  },
  {
    name: 'bench',
    operands: '[URL]',
    summary:
      'Loads the server at URL (http://127.0.0.1:8000 unless it is given) with listeners that check what they get, and says how it did.',
    options: {
      channel: { type: 'string', value: 'CHANNEL', about: 'Which one; the first on air unless it is given.' },
      listeners: {
        type: 'string',
        value: 'N',
        about: 'How many; 100 unless it is given, of another machine at most 1000.',
      },
      seconds: { type: 'string', value: 'S', about: 'For how long, once all have joined; 10 unless it is given.' },
      'allow-remote': {
        type: 'string',
        value: 'HOST',
        about: 'The host of URL once more, where it is another machine, and yours.',
      },
      json: { type: 'boolean', about: 'The figures as JSON.' },
    },
    load: async () => (await import('./bench.js')).bench,
  },
  {
    name: 'measure-offset',
    operands: 'CHANNEL',
    summary: 'Helps to find how much later than its push a title is heard: writes a file of audio for each push.',
    options: {
      out: { type: 'string', value: 'FOLDER', about: 'Where the files go; here unless it is given.' },
      seconds: { type: 'string', value: 'N', about: 'How long each is; 30 unless it is given.' },
      before: { type: 'string', value: 'N', about: 'How much of it came in before the push; 0 unless it is given.' },
      count: { type: 'string', value: 'N', about: 'Ends after this many files.' },
      url: URL_OPTION,
    },
    load: async () => (await import('./recording/measure-offset.js')).measureOffset,
  },
  {
    name: 'schema',
    operands: '',
    summary: 'Prints the JSON Schema of the configuration, for editors.',
    options: {},
    load: async () => (await import('./setup/schema.js')).schema,
  },
  {
    name: 'completion',
    operands: 'SHELL',
    summary: 'Prints what bash, zsh or fish needs to complete these commands.',
    options: {},
    load: async () => (await import('./terminal/completion.js')).completion,
  },
  {
    name: 'help',
    operands: '[COMMAND]',
    summary: 'Says what there is, or what a command takes.',
    options: {},
    load: async () => (await import('./setup/about.js')).help,
  },
  {
    name: 'version',
    operands: '',
    summary: 'Says which version this is.',
    options: {},
    load: async () => (await import('./setup/about.js')).version,
  },
];

const HELP = ['--help', '-h'];

/** The command of this name; undefined: there is none. */
export function commandNamed(name: string): Command | undefined {
  return COMMANDS.find((command) => command.name === name);
}

/** The command that was meant by a word which is none, as the end of a sentence. */
export function commandMeant(word: string): string {
  return meant(
    word,
    COMMANDS.map(({ name }) => name),
  );
}

/** What a command line asks for. @param words behind the program's name; without a command among them it is start */
export function readWords(words: readonly string[]): { readonly command: Command; readonly args: readonly string[] } {
  const [first = '', ...rest] = words;
  const named = commandNamed(first);
  if (words.some((word) => HELP.includes(word))) return { command: commandNamed('help')!, args: named ? [first] : [] };
  if (first === '--version') return { command: commandNamed('version')!, args: rest };
  return named === undefined ? { command: commandNamed('start')!, args: words } : { command: named, args: rest };
}
