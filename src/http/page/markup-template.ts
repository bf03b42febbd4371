/**
 * HTML of the pages. All that this file has not made as HTML is text, and is escaped here, in one place: titles, names and links are untrusted.
 *
 *   html`<p title="${title}">${name}</p>`     texts and numbers are escaped, Markup is not, lists are joined, null and false become ''
 */

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** HTML, made only by `html` or `dataBlock`. */
export class Markup {
  readonly #text: string;

  private constructor(text: string) {
    this.#text = text;
  }

  static html(parts: readonly string[], ...values: readonly Content[]): Markup {
    let text = parts[0]!;
    for (const [i, value] of values.entries()) text += written(value) + parts[i + 1]!;
    return new Markup(text);
  }

  /** A value for scripts of the page, as JSON that no text can break out of. @param id a constant */
  static dataBlock(id: string, value: unknown): Markup {
    const json = JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (character) => {
      return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
    });
    return new Markup(`<script type="application/json" id="${id}">${json}</script>`);
  }

  toString(): string {
    return this.#text;
  }
}

type Content = string | number | Markup | null | false | readonly Content[];

export const html = Markup.html;
export const dataBlock = Markup.dataBlock;

function written(value: Content): string {
  if (value === null || value === false) return '';
  if (value instanceof Markup) return value.toString();
  if (Array.isArray(value)) return value.map(written).join('');
  return String(value).replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}

/** The URL if a link may lead to it (no script, no data), otherwise "". */
export function linkTarget(url: string): string {
  return /^(?:https?:\/\/|mailto:)/i.test(url) ? url : '';
}
