/**
 * Detects placeholders that a program left unfilled: `%a`, `$artist$`, `${plstracktitlecurrent}`, `{{guid}}` (programs: config/playout.md). They
 * must not be shown to listeners, and a constant id would make each title a correction of the previous one.
 */

/** Real titles may have the same brackets: `$uicideboy$`, `[untitled]`. So the word must be one of templates. */
const WORD =
  '(?:(?:song|track|cue|item|current|now|next|playing)[._ -]?)?(?:artists?|performer|title|song|track|album|duration(?:inseconds)?|length|seconds|' +
  'name|year|genre|isrc|label|composer|e?type|id|guid|cover|starttime|time|date)';
/** For brackets in which titles may have the other words: `[ID]`, `#time#`. */
const PART = '(?:artist|title|song|album)';
const NAME = '[\\w.:-]{1,64}';
const PLACEHOLDERS = new RegExp(
  [
    // Titles have no such brackets.
    ...[`\\$\\{${NAME}\\}`, `\\$\\(${NAME}\\)`, `\\{\\{[ \\w.:|-]{1,64}\\}\\}`],
    ...[`%${WORD}\\b%?`, `\\$${WORD}\\$`, `\\{${WORD}\\}`, `\\[{1,2}${PART}\\]{1,2}`, `<${PART}>`, `#${PART}#`],
    // mAirList, Rivendell, StationPlaylist.
    '%[a-z](?![a-z0-9])',
  ].join('|'),
  'gi',
);
/** A template is short. */
const MAX_CHARACTERS = 256;

/** Whether the text has only placeholders and signs: `%a - %t`. With any other letter or digit it is a title: `50 %off`. */
export function isUnfilled(text: string): boolean {
  if (text.length > MAX_CHARACTERS || !/[%$#{[<]/.test(text)) return false;
  const rest = text.replace(PLACEHOLDERS, '');
  return rest !== text && !/[\p{L}\p{N}]/u.test(rest);
}
