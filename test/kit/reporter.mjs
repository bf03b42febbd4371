/**
 * The reporter of `npm test`: a line per file, failures with their details as they come, and the plain closing line
 * `N passed, N failed` that CI reads. What is counted are assertions; a file that dies without one counts as a failure.
 */

import { Transform } from 'node:stream';
import { Parser } from 'tap-parser';

export class Plain extends Transform {
  #passed = 0;
  #failed = 0;
  #skipped = 0;
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
    if (this.#skipped > 0) this.push(`\n${this.#skipped} skipped`);
    this.push(`\n${this.#passed} passed, ${this.#failed} failed\n`);
    done();
  }

  /** Counts the leaves below a parser; what follows a child is that child's own summary. */
  #watch(parser, path) {
    let failedInside = -1;
    parser.on('child', (child) => {
      const before = this.#failed;
      this.#watch(child, [...path, child.name]);
      child.on('complete', () => {
        failedInside = this.#failed - before;
      });
    });
    parser.on('assert', (result) => {
      const summary = failedInside >= 0;
      const told = failedInside > 0;
      failedInside = -1;
      if (summary && path.length === 0) {
        this.push(`${result.ok ? 'ok' : 'NOT OK'}  ${result.name}  ${Math.round(result.time ?? 0)} ms\n`);
      }
      if (summary && (result.ok || told)) return;
      if (result.skip || result.todo) {
        this.#skipped++;
        this.push(`skipped: ${[...path, result.name].join(' > ')} (${result.skip || result.todo})\n`);
      } else if (result.ok) this.#passed++;
      else this.#fail([...path, result.name], result.diag);
    });
    parser.on('bailout', (reason) => this.#fail([...path, `bailed out: ${reason}`], undefined));
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
