/**
 * The reporter of `npm test`: a line per file, failures with their details as they come, each skip with its reason, and the closing
 * line `N passed, N failed` that CI reads, followed by `, N skipped` where something was. What is counted are assertions. A file that
 * dies without one counts as a failure; a subtest or file that asserts nothing counts as a skip, whether it says so or not.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Transform } from 'node:stream';
import { Parser } from 'tap-parser';

/** Counts of a run before this one, which it goes on from (run.mjs). */
const TOTALS = process.env.TEST_TOTALS;

export class Plain extends Transform {
  #passed = 0;
  #failed = 0;
  #skipped = 0;
  #parser = new Parser();

  constructor() {
    super();
    if (TOTALS !== undefined && existsSync(TOTALS)) {
      [this.#passed, this.#failed, this.#skipped] = JSON.parse(readFileSync(TOTALS, 'utf8'));
    }
    this.#watch(this.#parser, []);
  }

  _transform(chunk, _encoding, done) {
    this.#parser.write(chunk);
    done();
  }

  _flush(done) {
    this.#parser.end();
    if (process.env.TEST_TOTALS_GO_ON === '1') {
      writeFileSync(TOTALS, JSON.stringify([this.#passed, this.#failed, this.#skipped]));
      return void done();
    }
    const skipped = this.#skipped > 0 ? `, ${this.#skipped} skipped` : '';
    this.push(`\n${this.#passed} passed, ${this.#failed} failed${skipped}\n`);
    done();
  }

  get #counted() {
    return this.#passed + this.#failed + this.#skipped;
  }

  /** Counts the leaves below a parser; the assertion that follows a child is that child's own summary. */
  #watch(parser, path) {
    /** @type {{ counted: number, failed: number } | undefined} of the child that this summary belongs to */
    let inside;
    parser.on('child', (child) => {
      const before = { counted: this.#counted, failed: this.#failed };
      this.#watch(child, [...path, child.name]);
      child.on('complete', () => {
        inside = { counted: this.#counted - before.counted, failed: this.#failed - before.failed };
      });
    });
    parser.on('assert', (result) => {
      this.#count(result, [...path, result.name], inside);
      if (inside !== undefined && path.length === 0) {
        this.push(`${result.ok ? 'ok' : 'NOT OK'}  ${result.name}  ${Math.round(result.time ?? 0)} ms\n`);
      }
      inside = undefined;
    });
    parser.on('bailout', (reason) => this.#fail([...path, `bailed out: ${reason}`], undefined));
  }

  #count(result, path, inside) {
    const isLeaf = inside === undefined || inside.counted === 0;
    if (!result.ok && !result.skip && !result.todo) {
      if (isLeaf || inside.failed === 0) this.#fail(path, result.diag);
    } else if (isLeaf) {
      const silent = inside !== undefined && 'asserts nothing';
      const reason = [result.skip, result.todo, silent].find((one) => one !== false && one !== true && one !== '');
      if (result.skip || result.todo || silent) this.#skip(path, reason ?? 'no reason given');
      else this.#passed++;
    }
  }

  #skip(path, reason) {
    this.#skipped++;
    this.push(`skipped: ${path.join(' > ')} (${reason})\n`);
  }

  #fail(path, diag) {
    this.#failed++;
    this.push(`\nFAILED: ${path.join(' > ')}\n`);
    if (diag !== undefined) this.push(`${JSON.stringify(diag, null, 2).replaceAll('\\n', '\n    ')}\n`);
  }
}

// tap loads a reporter by its default export.
// biome-ignore lint/style/noDefaultExport: required by tap
export default Plain;
