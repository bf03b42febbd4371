/**
 * Converts text for ISO 8859-1: other characters become the nearest plain letters, or else a question mark.
 * Invariant: every character of the result is one byte, U+0020 to U+00FF without controls (given clean text), so that title.ts, which
 * checks afterwards, sees every quote and semicolon.
 */

/** Letters and signs without a decomposition in Unicode, as pairs. */
const PLAIN = table(`
  ł l Ł L đ d Đ D ħ h Ħ H ı i ȷ j ŋ n Ŋ N ĸ k ŧ t Ŧ T œ oe Œ OE ẞ SS ƒ f ə e Ə E ɛ e ɔ o ɓ b ɗ d ƙ k Ɓ B Ɗ D Ƙ K ɨ i ʉ u ƶ z ǝ e ɲ n ƴ y
  ‘ ' ’ ' ‚ ' ‛ ' ʻ ' ʼ ' ʾ ' ʿ ' ′ ' “ " ” " „ " ‟ " ″ " ‹ < › > ‐ - ‑ - ‒ - – - — - ― - − - ⁄ / • · † + ‡ + € EUR ♯ # ♭ b ˜ ~ ˆ ^
  а a б b в v г g д d е e ё e ж zh з z и i й i к k л l м m н n о o п p р r с s т t у u ф f х kh ц ts ч ch ш sh щ shch ъ " ы y ь '
  э e ю yu я ya є ye і i ї yi ґ g ђ dj ј j љ lj њ nj ћ c џ dz ѓ gj ќ kj ѕ dz
  ә a ғ g қ q ң n ө o ұ u ү u һ h җ j ҷ j ҳ h
  α a β v γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s ς s τ t υ y φ f χ ch ψ ps ω o
`);

function table(text: string): ReadonlyMap<string, string> {
  const words = text.trim().split(/\s+/);
  const pairs = new Map<string, string>();
  for (let i = 0; i < words.length; i += 2) {
    pairs.set(words[i]!, words[i + 1]!);
  }
  // The table has alphabets in lower case only.
  for (const [from, to] of [...pairs]) {
    const upper = from.toUpperCase();
    if (upper.length === 1 && !pairs.has(upper)) pairs.set(upper, to[0]!.toUpperCase() + to.slice(1));
  }
  return pairs;
}

const OUTSIDE = /[^\u0000-\u00ff]/gu;
/** Combining marks and format characters: nothing visible. */
const UNSEEN = /^[\p{M}\p{Cf}]$/u;
const BLANK = /^\p{Z}$/u;

/** @param text clean (text.ts) */
export function latin(text: string): string {
  return text.replace(OUTSIDE, plain);
}

function plain(character: string): string {
  const known = PLAIN.get(character);
  if (known !== undefined) return known;
  if (UNSEEN.test(character)) return '';
  if (BLANK.test(character)) return ' ';
  const parts = character.normalize('NFKD');
  if (parts === character) return '?';
  const letters = Array.from(parts, (part) => (part <= '\u00ff' ? part : plain(part))).join('');
  return letters.includes('?') ? '?' : letters;
}
