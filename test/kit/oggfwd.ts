/**
 * oggfwd, which forwards the Ogg on its input, paced by its pages: here a chain of links, each made by ffmpeg with the title that is in a file at
 * that moment.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { alwaysRefused, type EncoderKind } from './encoder-kind.js';
import { Program } from './program.js';
import { tempFolder } from './temp-folder.js';

const ENCODERS = { vorbis: 'libvorbis', opus: 'libopus' };
/** Duration of a link. */
const SECONDS = 5;
const titles = new WeakMap<Program, string>();

const oggfwd = (codec: keyof typeof ENCODERS, refused: EncoderKind['refused']): EncoderKind => ({
  name: `oggfwd ${codec}`,
  needs: ['oggfwd', 'bash'],
  codec,
  start: async (t, { port, mount, password, sound }) => {
    const title = join(tempFolder(t), 'title');
    writeFileSync(title, ';FFMETADATA1\n');
    const encode = `ffmpeg -v error -t ${SECONDS} -i ${sound} -i ${title} -map_metadata 1 -c:a ${ENCODERS[codec]} -b:a 96k -f ogg -`;
    const links = `while ${encode}; do :; done`;
    const program = new Program(t, 'bash', ['-c', `exec oggfwd 127.0.0.1 ${port} ${password} ${mount} < <(${links})`]);
    titles.set(program, title);
    return program;
  },
  title: async (_, program, artist, song) => {
    writeFileSync(titles.get(program)!, `;FFMETADATA1\nartist=${artist}\ntitle=${song}\n`);
  },
  refused,
  onLoss: 'ends',
});

const REFUSED = { tries: [1, 1], says: /Login failed/, ends: true } as const;

export const oggfwds: readonly EncoderKind[] = [oggfwd('vorbis', alwaysRefused(REFUSED)), oggfwd('opus', {})];
