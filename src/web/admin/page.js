// @ts-check
/** The context that every view of the page gets, and its interface. */

/**
 * @typedef {object} Page
 * @property {import('./live.js').Live} live
 * @property {(right: 'titles' | 'operate') => boolean} may whether the user has the right: without it, buttons that need it are hidden
 */

/**
 * @typedef {object} View
 * @property {string} title
 * @property {HTMLElement} element
 * @property {() => void} show called when channels have changed
 * @property {() => void} close
 */

export {};
