/**
 * Counts the tests of a file by its TAP, and says each failure with its details and each skip with its reason. What is counted are tests, not
 * assertions: those of a subtest count once together, however often a loop makes them, and so do those that a file makes outside of any. A test or
 * file that asserts nothing counts as a skip, whether it says so or not; what an assertion leaves out counts as one too.
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

  /** @param onLine a failure or skip, as it is found */
  constructor(onLine) {
    this.#onLine = onLine;
  }

  /**
   * Follows the parser of a test and those of its subtests.
   *
   * @param path names of the file, the test, the subtests
   * @returns what is called when the test has ended: whether it counted as anything
   */
  watch(parser, path) {
    let hasPassed = false;
    let hasFailed = false;
    const before = this.#all;
    /** @type {{ counted: number, failed: number } | undefined} of the child whose summary comes next */
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
        // The summary of a child with a failure of its own says nothing new.
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

  /** A file that ended without a word of its tests. */
  fail(path, reason) {
    this.failed++;
    this.#sayFailure([...path, reason]);
  }

  /** @param reasons the first text among them counts */
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
