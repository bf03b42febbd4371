/**
 * The `tap` of the tests that a pool runs, several files one after the other in a process (file-runner.mjs): its default export is the
 * test that stands for the current file. A file that is run by itself has tap's own.
 */

/** The name of the file from the root of the tree, as `test/audio/tape/tape.test.ts`. */
let name;
let test;

export function beginFile(file, ofFile) {
  name = file;
  test = ofFile;
}

/** @returns undefined where a file is run by itself */
export function currentFile() {
  return name;
}

// Tests import tap by its default export.
// biome-ignore lint/style/noDefaultExport: stands for tap's
export { test as default };
