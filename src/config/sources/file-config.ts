/** Options of a file that is played in a loop, and the titles in it. They are explained in config/example.yaml. */

import * as z from 'zod';
import { list, onAnyMap, readableFile, seconds, section, text, whole } from '../field.js';

const MAX_TITLES = 1000;
/** The longest duration of a title, and its latest place in the file. */
const MAX_SECONDS = 86_400;

function titleSchema() {
  return section({
    at: seconds(0, MAX_SECONDS).default(0),
    artist: text(0, 255).default(''),
    song: text(0, 255).default(''),
    album: text(0, 255).default(''),
    duration: whole(0, MAX_SECONDS).default(0),
    id: text(0, 128).default(''),
  }).refine(({ artist, song }) => artist !== '' || song !== '', { error: 'must have an artist or a song' });
}

/** @param audioProblem why a file of this absolute path cannot be played; null: it can */
export function fileSchema(folder: string, audioProblem: (path: string) => string | null = () => null) {
  return section({
    type: z.literal('file'),
    path: readableFile(folder).superRefine((path, context) => {
      const message = audioProblem(path);
      if (message !== null) context.addIssue({ code: 'custom', message });
    }),
    titles: list(titleSchema(), 0, MAX_TITLES)
      .refine((titles) => titles.every(({ at }, i) => i === 0 || !(at <= titles[i - 1]!.at)), {
        error: 'must be in ascending order of at, without duplicates',
        when: ({ value }) => Array.isArray(value) && value.every((title) => onAnyMap({ value: title })),
      })
      .default([]),
  });
}

export type FileTitleConfig = z.output<ReturnType<typeof titleSchema>>;
