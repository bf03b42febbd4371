/** Which name was meant by a word that is none of those that there are: options of a configuration, commands. */

/**
 * The end of a sentence, as `; did you mean port?`; empty where no name is near. The word itself is never in it.
 * @param prefix what is written before each name
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

/** How many slips lie between two words: a letter too many, one missing, another one, or two neighbours swapped (optimal string alignment). */
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
