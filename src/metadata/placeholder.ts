/**
 * What a program leaves in a template that it does not fill in: `%a`, `$artist$`, `${plstracktitlecurrent}`, `{{guid}}` (config/playout.md has the
 * programs). Shown to listeners it would be nonsense, and an id that is the same for all titles would make each a correction of the one before.
 */

/** What a real title may be framed with, too: `$uicideboy$`, `[untitled]`. So the word has to be one of a template's. */
const WORD =
  '(?:(?:song|track|cue|item|current|now|next|playing)[._ -]?)?(?:artists?|performer|title|song|track|album|duration(?:inseconds)?|length|seconds|' +
  'name|year|genre|isrc|label|composer|e?type|id|guid|cover|starttime|time|date)';
/** In frames that titles have, too: `[ID]`, `#time#`. */
const PART = '(?:artist|title|song|album)';
const NAME = '[\\w.:-]{1,64}';
const PLACEHOLDERS = new RegExp(
  [
    // Such a frame is none of a title's.
    ...[`\\$\\{${NAME}\\}`, `\\$\\(${NAME}\\)`, `\\{\\{[ \\w.:|-]{1,64}\\}\\}`],
    ...[`%${WORD}\\b%?`, `\\$${WORD}\\$`, `\\{${WORD}\\}`, `\\[{1,2}${PART}\\]{1,2}`, `<${PART}>`, `#${PART}#`],
    // mAirList, Rivendell, StationPlaylist.
    '%[a-z](?![a-z0-9])',
  ].join('|'),
  'gi',
);
/** A template is short. */
const MAX_CHARACTERS = 256;

/** Whether there is nothing but placeholders, and signs between them: `%a - %t`. With any other letter or digit it is a title: `50 %off`. */
export function isUnfilled(text: string): boolean {
  if (text.length > MAX_CHARACTERS || !/[%$#{[<]/.test(text)) return false;
  const rest = text.replace(PLACEHOLDERS, '');
  return rest !== text && !/[\p{L}\p{N}]/u.test(rest);
}
