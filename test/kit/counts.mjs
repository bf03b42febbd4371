/**
 * Counts the tests of a file from its TAP, and prints each failure with its details and each skip with its reason. It counts tests, not assertions:
 * all assertions of a subtest count as one test, and so do those of a file outside of subtests. A test or file without an assertion counts as
 * skipped; so does a skipped assertion.
 */

/** @param counts of tests: passed, failed, skipped */
export function closingLine({ passed, failed, skipped }) {
  return `\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`;
}

export class Counts {
  passed = 0;
  failed = 0;
  skipped = 0;
  #onLine;

  /** @param onLine called with each failure or skip */
  constructor(onLine) {
    this.#onLine = onLine;
  }

  /**
   * Follows the parser of a test and those of its subtests. @param path names of the file, the test, the subtests
   * @returns a function to call when the test has ended; it returns whether anything was counted
   */
  watch(parser, path) {
    let hasPassed = false;
    let hasFailed = false;
    const before = this.#all;
    /** @type {{ counted: number, failed: number } | undefined} of the child whose summary is next */
    let child;
    parser.on('child', (childParser) => {
      const started = { all: this.#all, failed: this.failed };
      const ended = this.watch(childParser, [...path, childParser.name]);
      childParser.on('complete', () => {
        ended();
        child = { counted: this.#all - started.all, failed: this.failed - started.failed };
      });
    });
    parser.on('assert', (result) => {
      const inside = child;
      child = undefined;
      const where = [...path, result.name];
      if (result.skip || result.todo) {
        if (inside === undefined || inside.counted === 0) this.skip(where, result.skip, result.todo);
      } else if (!result.ok) {
        // The failures of this child were reported already.
        if (inside !== undefined && inside.failed > 0) return;
        hasFailed = true;
        this.#sayFailure(where, result.diag);
      } else if (inside === undefined) hasPassed = true;
      else if (inside.counted === 0) this.skip(where, 'asserts nothing');
    });
    parser.on('bailout', (reason) => {
      hasFailed = true;
      this.#sayFailure([...path, `bailed out: ${reason}`]);
    });
    return () => {
      if (hasFailed) this.failed++;
      else if (hasPassed) this.passed++;
      return this.#all > before;
    };
  }

  /** Reports a failed file or test that reported nothing itself. */
  fail(path, reason) {
    this.failed++;
    this.#sayFailure([...path, reason]);
  }

  /** @param reasons the first text of these is used */
  skip(path, ...reasons) {
    const reason = reasons.find((one) => typeof one === 'string' && one !== '') ?? 'no reason given';
    this.skipped++;
    this.#onLine(`skipped: ${path.join(' > ')} (${reason})\n`);
  }

  get all() {
    return { passed: this.passed, failed: this.failed, skipped: this.skipped };
  }

  get #all() {
    return this.passed + this.failed + this.skipped;
  }

  #sayFailure(path, diag) {
    const details = diag === undefined ? '' : `${JSON.stringify(diag, null, 2).replaceAll('\\n', '\n    ')}\n`;
    this.#onLine(`\nFAILED: ${path.join(' > ')}\n${details}`);
  }
}
