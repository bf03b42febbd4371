// @ts-check
/**
 * Every act asks for confirmation: what it does and to whom, in a dialog whose first button cancels it. The outcome is shown at the top of the page.
 */

import { make, say } from './dom.js';

/**
 * @typedef {{ name: string, label: string, value?: string, type?: string, hint?: string, options?: readonly (readonly [value: string, text:
 * string])[], isOptional?: boolean }} Field
 */
/** @typedef {{ title: string, text: string, button: string, isDanger?: boolean, fields?: readonly Field[] }} Question */
/** @typedef {string | { trouble: string }} Done what was done; trouble: what could not be done, or only in part */

const NOTICE_MS = 8000;
let noticeTimer = /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined);

/**
 * Asks for confirmation, and then performs. A failure is shown in the dialog, where the user can retry.
 * @param {Question} question @param {(values: Record<string, string>) => Promise<Done>} perform resolves with a text for the user
 */
export function confirm({ title, text, button, isDanger = false, fields = [] }, perform) {
  const trouble = make('p', { class: 'trouble', role: 'alert' });
  const cancel = make('button', { type: 'button' }, 'Cancel');
  const submit = make('button', { type: 'submit', class: isDanger ? 'danger' : 'primary' }, button);
  const form = make(
    'form',
    { method: 'dialog' },
    make('h2', { id: 'dialog-title' }, title),
    make('p', { id: 'dialog-text' }, text),
    ...fields.map(fieldOf),
    trouble,
    make('div', { class: 'buttons' }, cancel, submit),
  );
  const dialog = make('dialog', { 'aria-labelledby': 'dialog-title', 'aria-describedby': 'dialog-text' }, form);
  cancel.onclick = () => dialog.close();
  dialog.onclose = () => dialog.remove();
  form.onsubmit = async (event) => {
    event.preventDefault();
    if (submit.disabled) return;
    submit.disabled = true;
    say(trouble, '');
    const values = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value).trim()]));
    try {
      const done = await perform(values);
      dialog.close();
      if (typeof done === 'string') notice(done);
      else notice(done.trouble, true);
    } catch (error) {
      say(trouble, textOf(error));
      submit.disabled = false;
    }
  };
  document.body.append(dialog);
  dialog.showModal();
  if (fields.length === 0) cancel.focus();
}

/** Shows a token, once, until the dialog is closed. @param {string} title @param {string} token */
export function reveal(title, token) {
  const output = make('input', {
    type: 'text',
    readonly: true,
    value: token,
    'aria-label': title,
    spellcheck: 'false',
  });
  const close = make('button', { type: 'submit', class: 'primary' }, 'Done');
  const form = make(
    'form',
    { method: 'dialog' },
    make('h2', { id: 'dialog-title' }, title),
    make('p', {}, 'Copy it now: the server keeps only a hash, so it cannot be shown again.'),
    output,
  );
  form.append(make('div', { class: 'buttons' }, close));
  const dialog = make('dialog', { 'aria-labelledby': 'dialog-title' }, form);
  dialog.onclose = () => dialog.remove();
  output.onfocus = () => output.select();
  document.body.append(dialog);
  dialog.showModal();
  output.focus();
}

/** Shows a text at the top of the page for NOTICE_MS. @param {string} text @param {boolean} [isTrouble] */
export function notice(text, isTrouble = false) {
  const element = /** @type {HTMLElement} */ (document.getElementById('notice'));
  element.classList.toggle('trouble', isTrouble);
  say(element, text);
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => say(element, ''), NOTICE_MS);
}

/** The error as a text for the user. @param {unknown} error */
export function textOf(error) {
  return error instanceof TypeError || error instanceof DOMException
    ? 'The server does not answer.'
    : String(/** @type {Error} */ (error).message);
}

/** @param {Field} field */
function fieldOf({ name, label, value = '', type = 'text', hint, options, isOptional = false }) {
  const id = `field-${name}`;
  const about = { id, name, required: !isOptional, ...(hint !== undefined && { 'aria-describedby': `${id}-hint` }) };
  const input =
    options === undefined
      ? make('input', { ...about, type, value, autocomplete: 'off' })
      : make(
          'select',
          about,
          ...options.map(([each, text]) => make('option', { value: each, selected: each === value }, text)),
        );
  return make(
    'div',
    { class: 'field' },
    make('label', { for: id }, label),
    input,
    hint !== undefined && make('p', { class: 'hint', id: `${id}-hint` }, hint),
  );
}
