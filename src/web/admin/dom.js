// @ts-check
/**
 * Makes elements. Untrusted input (titles, names, agents) becomes text, never markup. Elements are updated in place, so that the focus, a selection
 * and unfinished input stay.
 */

/** @typedef {string | number | Node | null | undefined | false} Part */
/** @typedef {Record<string, string | number | boolean | null | ((event: Event) => void)>} Attributes */

const SVG = 'http://www.w3.org/2000/svg';

/**
 * Makes an element. Attributes that are false or null are omitted; functions are handlers (`onclick`).
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes} [attributes]
 * @param {...Part} parts
 * @returns {HTMLElementTagNameMap[T]}
 */
export function make(tag, attributes = {}, ...parts) {
  return fill(document.createElement(tag), attributes, parts);
}

/** The same for SVG. @param {string} tag @param {Attributes} [attributes] @param {...Part} parts */
export function draw(tag, attributes = {}, ...parts) {
  return fill(/** @type {SVGElement} */ (document.createElementNS(SVG, tag)), attributes, parts);
}

/**
 * @template {Element} E
 * @param {E} element @param {Attributes} attributes @param {readonly Part[]} parts
 * @returns {E}
 */
function fill(element, attributes, parts) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null) element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const part of parts) if (part !== null && part !== undefined && part !== false) element.append(asNode(part));
  return element;
}

/** @param {string | number | Node} part */
function asNode(part) {
  return typeof part === 'number' ? String(part) : part;
}

/** Sets a text if it differs, so that a screen reader reads changes only. @param {Element} element @param {string | number} text */
export function say(element, text) {
  if (element.textContent !== String(text)) element.textContent = String(text);
}

/** Sets an attribute if it differs; null removes it. @param {Element} element @param {string} name @param {string | null} value */
export function mark(element, name, value) {
  if (value === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/**
 * Shows a list: one child for each item, in their order. A child is kept while there is an item with its key; of several, the first keeps it.
 * @template T
 * @param {Element} parent @param {readonly T[]} items @param {(item: T) => string} keyOf
 * @param {(item: T) => HTMLElement} begin makes a child @param {(child: HTMLElement, item: T) => void} [change] updates it
 */
export function list(parent, items, keyOf, begin, change) {
  const known = new Map(
    [...parent.children].map((child) => [/** @type {HTMLElement} */ (child).dataset['key'], child]),
  );
  const times = /** @type {Map<string, number>} */ (new Map());
  let before = /** @type {Element | null} */ (null);
  for (const item of items) {
    const named = keyOf(item);
    const time = times.get(named) ?? 0;
    times.set(named, time + 1);
    const key = time === 0 ? named : `${named} #${time}`;
    let child = /** @type {HTMLElement | undefined} */ (known.get(key));
    known.delete(key);
    if (child === undefined) {
      child = begin(item);
      child.dataset['key'] = key;
    }
    change?.(child, item);
    const place = before === null ? parent.firstElementChild : before.nextElementSibling;
    if (place !== child) parent.insertBefore(child, place);
    before = child;
  }
  for (const gone of known.values()) gone.remove();
}

/** The descendant of an element with this class. @param {Element} element @param {string} name @returns {HTMLElement} */
export function part(element, name) {
  return /** @type {HTMLElement} */ (element.querySelector(`.${name}`));
}

/** Shows figures in a `dl`. @param {HTMLElement} element @param {readonly (readonly string[])[]} figures a name and a value each */
export function showFigures(element, figures) {
  list(
    element,
    figures,
    ([name]) => String(name),
    ([name = '']) => make('div', {}, make('dt', {}, name), make('dd', { class: 'value' })),
    (row, [, value = '']) => say(part(row, 'value'), value),
  );
}

/** A section with a heading. @param {string} heading @param {...Part} parts */
export function section(heading, ...parts) {
  const id = `section-${heading.toLowerCase().replaceAll(/[^a-z]+/g, '-')}`;
  return make('section', { class: 'panel', 'aria-labelledby': id }, make('h2', { id }, heading), ...parts);
}

/**
 * A table that scrolls if it is too wide.
 * @param {string} caption @param {readonly string[]} columns "": for buttons @param {string} [none] the text shown while it has no rows
 * @returns {{ element: HTMLElement, body: HTMLElement }}
 */
export function table(caption, columns, none = 'None.') {
  const body = make('tbody');
  const head = make(
    'tr',
    {},
    ...columns.map((column) => make('th', { scope: 'col' }, column || make('span', { class: 'hidden' }, 'Actions'))),
  );
  const element = make(
    'div',
    { class: 'wide', tabindex: 0, role: 'region', 'aria-label': `Table: ${caption}`, 'data-none': none },
    make('table', {}, make('caption', { class: 'hidden' }, caption), make('thead', {}, head), body),
  );
  return { element, body };
}

/**
 * The buttons of a row; on a phone another button opens them, and Escape closes them.
 * @param {string} who the subject of the row @param {HTMLElement} buttons
 */
export function menu(who, buttons) {
  const opener = make(
    'button',
    {
      type: 'button',
      class: 'opener',
      hidden: buttons.hidden,
      'aria-expanded': 'false',
      'aria-label': `Actions for ${who}`,
    },
    '⋯',
  );
  const element = make('div', { class: 'menu' }, opener, buttons);
  const open = (/** @type {boolean} */ is) => opener.setAttribute('aria-expanded', String(is));
  opener.onclick = () => open(opener.getAttribute('aria-expanded') !== 'true');
  element.onkeydown = ({ key }) => {
    if (key !== 'Escape' || opener.getAttribute('aria-expanded') !== 'true') return;
    open(false);
    opener.focus();
  };
  return element;
}
