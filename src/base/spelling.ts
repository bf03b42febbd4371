/** Suggests a name for an unknown word: options of the configuration, commands. */

/**
 * The end of a sentence, such as `; did you mean port?`; "": no name is close. It never contains the word.
 * @param prefix put before the name
 */
export function meant(word: string, names: readonly string[], prefix = ''): string {
  const written = word.toLowerCase();
  const maxDistance = Math.max(1, Math.floor(written.length / 3));
  const near = names
    .filter((name) => Math.abs(name.length - written.length) <= maxDistance)
    .map((name) => ({ name, distance: distance(written, name.toLowerCase()) }))
    .filter(({ distance }) => distance <= maxDistance)
    .sort((a, b) => a.distance - b.distance);
  const begun = names.find((name) => written.length > 2 && name.toLowerCase().startsWith(written));
  const best = near[0]?.name ?? begun;
  return best === undefined ? '' : `; did you mean ${prefix}${best}?`;
}

/** Edits between two words: an extra, missing or different letter, or two adjacent letters swapped (optimal string alignment). */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const changed = Math.min(row[j - 1]! + 1, last[j]! + 1, last[j - 1]! + (isSame ? 0 : 1));
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(isSwapped ? Math.min(changed, before[j - 2]! + 1) : changed);
    }
    before = last;
    last = row;
  }
  return last[b.length]!;
}
