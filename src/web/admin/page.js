// @ts-check
/** What every view of the page is given, and what it is. */

/**
 * @typedef {object} Page
 * @property {import('./live.js').Live} live
 * @property {(right: 'titles' | 'operate') => boolean} may whether the user has it: without it, buttons that need it are not there
 */

/**
 * @typedef {object} View
 * @property {string} title
 * @property {HTMLElement} element
 * @property {() => void} show called when channels have changed
 * @property {() => void} close
 */

export {};
