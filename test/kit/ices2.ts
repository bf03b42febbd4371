/**
 * IceS 2: Ogg Vorbis from raw samples on its input, which ffmpeg paces. It reads its title from a file, again on SIGUSR1; a new
 * title begins a new link of the stream.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { alwaysRefused, type EncoderKind } from './encoder-kind.js';
import { Program } from './program.js';
import { tempFolder } from './temp-folder.js';

const REFUSED = { tries: [1, 1], says: /Failed initial connect .*Login failed/, ends: true } as const;
const TITLES = new WeakMap<Program, string>();

export const ices2: EncoderKind = {
  name: 'ices2',
  needs: ['ices2', 'bash'],
  codec: 'vorbis',
  start: async (t, { port, mount, password, sound }) => {
    const folder = tempFolder(t);
    const [config, titles] = [join(folder, 'ices.xml'), join(folder, 'title')];
    writeFileSync(titles, '');
    const param = (name: string, value: string | number) => `<param name="${name}">${value}</param>`;
    const input = `<module>stdinpcm</module>${param('rate', 44100)}${param('channels', 2)}${param('metadata', 1)}${param('metadatafilename', titles)}`;
    const server = `<hostname>127.0.0.1</hostname><port>${port}</port><password>${password}</password><mount>${mount}</mount>`;
    const encode = '<quality>3</quality><samplerate>44100</samplerate><channels>2</channels>';
    writeFileSync(
      config,
      `<?xml version="1.0"?>
<ices>
<background>0</background><logpath>${folder}</logpath><logfile>log</logfile><loglevel>4</loglevel><consolelog>1</consolelog>
<stream>
<metadata><name>Prögramm</name></metadata>
<input>${input}</input>
<instance>${server}<encode>${encode}</encode></instance>
</stream>
</ices>
`,
      { mode: 0o600 },
    );
    const samples = `ffmpeg -v error -re -stream_loop -1 -i ${sound} -f s16le -`;
    const program = new Program(t, 'bash', ['-c', `exec ices2 ${config} < <(${samples})`]);
    TITLES.set(program, titles);
    return program;
  },
  title: async (_, program, artist, song) => {
    writeFileSync(TITLES.get(program)!, `artist=${artist}\ntitle=${song}\n`);
    program.child.kill('SIGUSR1');
  },
  refused: alwaysRefused(REFUSED),
  onLoss: { backWithinMs: 30_000 },
};
