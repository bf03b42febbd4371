/**
 * The reporter of `npm test`: a line per file, failures with their details as they come, each skip with its reason, and the closing
 * line `N passed, N failed` that CI reads, followed by `, N skipped` where something was. What is counted are assertions. A file that
 * dies without one counts as a failure; a subtest or file that asserts nothing counts as a skip, whether it says so or not.
 */

import { writeFileSync } from 'node:fs';
import { Transform } from 'node:stream';
import { Parser } from 'tap-parser';

/** Where the counts go, of each file too, instead of to a closing line: this is one run of several (run.mjs). */
const TOTALS = process.env.TEST_TOTALS;

/** @param counts of assertions: passed, failed, skipped */
export function closingLine({ passed, failed, skipped }) {
  return `\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`;
}

export class Plain extends Transform {
  #passed = 0;
  #failed = 0;
  #skipped = 0;
  /** @type {Record<string, { passed: number, failed: number, skipped: number }>} by its name */
  #files = {};
  #parser = new Parser();

  constructor() {
    super();
    this.#watch(this.#parser, []);
  }

  _transform(chunk, _encoding, done) {
    this.#parser.write(chunk);
    done();
  }

  _flush(done) {
    this.#parser.end();
    if (TOTALS === undefined) this.push(closingLine(this.#counts));
    else writeFileSync(TOTALS, JSON.stringify({ files: this.#files, all: this.#counts }));
    done();
  }

  get #counts() {
    return { passed: this.#passed, failed: this.#failed, skipped: this.#skipped };
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
    let before = this.#counts;
    parser.on('assert', (result) => {
      this.#count(result, [...path, result.name], inside);
      if (path.length === 0) {
        if (inside !== undefined) {
          this.push(`${result.ok ? 'ok' : 'NOT OK'}  ${result.name}  ${Math.round(result.time ?? 0)} ms\n`);
        }
        const now = this.#counts;
        const counts = Object.entries(now).map(([what, count]) => [what, count - before[what]]);
        this.#files[result.name] = Object.fromEntries(counts);
        before = now;
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
