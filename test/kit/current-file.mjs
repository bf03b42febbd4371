/**
 * Replaces `tap` in tests that a pool runs, several files one after the other in a process (file-runner.mjs): its default export is the
 * test of the current file. A file that is run by itself uses tap.
 */

/** The file's path from the root of the tree, such as `test/audio/tape/tape.test.ts`. */
let name;
let test;

export function beginFile(file, ofFile) {
  name = file;
  test = ofFile;
}

/** @returns undefined if a file is run by itself */
export function currentFile() {
  return name;
}

// Tests import tap by its default export.
// biome-ignore lint/style/noDefaultExport: replaces tap's
export { test as default };
