/** What once went wrong, in test/corpus/TARGET/NAME.bin, does not again. How something gets there: test/kit/fuzz.ts. */

import t from 'tap';
import { corpusOf, playAlone } from './kit/fuzz.js';
import { fuzzTargets } from './kit/fuzz-targets.js';

// They wait more than they compute.
t.jobs = 4;

t.setTimeout(120_000);

for (const target of fuzzTargets(t)) {
  const corpus = corpusOf(target.name);
  if (corpus.length === 0) continue;
  t.test(target.name, async (t) => {
    for (const input of corpus) {
      const fault = await playAlone(target, input).then(
        () => '',
        (error: Error) => error.message,
      );
      t.equal(fault, '', input.name);
    }
  });
}
