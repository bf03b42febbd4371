/** The YAML of a configuration that a stranger may have written: how long it takes, and what is refused before the parser sees it. */

import t from 'tap';
import { ConfigDocument } from '../../src/config/document.js';
import { growsLinearly } from '../kit/growth.js';

t.test('a line that is indented too far is named, and not parsed: the parser would end the process', async (t) => {
  for (const line of [`${'- '.repeat(20_000)}x`, `${' '.repeat(20_000)}x: 1`, `${'? '.repeat(256)}x`]) {
    const { broken, problems, value } = new ConfigDocument(`a: 1\n${line}\n`, {});
    t.match(
      { broken, problems, value },
      { broken: true, problems: [{ line: 2, column: 1, message: 'Too deeply nested' }] },
    );
  }
  t.same(new ConfigDocument(`a:\n${' '.repeat(255)}x: 1\n`, {}).value, { a: { x: 1 } }, 'one less');
  t.same(new ConfigDocument(`a: 1\n${' '.repeat(300)}\n`, {}).value, { a: 1 }, 'a line of blanks');
});

t.test('a variable without quotes in a flow map or list is one problem, at its place', async (t) => {
  const rest = 'stations:\n  wave:\n    channels: { one: {}, two: {} }\n';
  for (const [line, column] of [
    [`address: { port: \${PORT}, host: a }`, 18],
    [`address: { host: radio-\${HOST:-a}.example }`, 24],
    [`ports: [\${PORT}, 2]`, 9],
  ] as const) {
    const { broken, problems } = new ConfigDocument(`a: "\${PORT}"\n${line}\n${rest}`, { PORT: '1' });
    t.match({ broken, problems }, { broken: true, problems: [{ line: 2, column, message: /^Quote / }] }, line);
    t.equal(problems.length, 1, line);
  }
  t.same(new ConfigDocument(`a: { b: "\${X}", c: ["\${X}"] }\n`, { X: 'x' }).value, { a: { b: 'x', c: ['x'] } });
});

t.test('variables that are not closed are named, and take as long as their length', async (t) => {
  const env = { A: '' };
  t.equal((new ConfigDocument(`a: "\${A:-x$y}"`, env).value as { a: string }).a, 'x$y');
  t.match(new ConfigDocument(`a: "\${A:-\${A:-x}"`, env).problems, [{ message: /must name a variable/ }]);
  const make = (size: number) => `a: "${`\${A:-`.repeat(size)}"`;
  await growsLinearly(t, 'defaults that are not closed', 2000, make, (text) => new ConfigDocument(text, env));
});

t.test('an alias means the last anchor of its name before it, on a value or a name', async (t) => {
  const text = 'a: &x { b: 1 }\nc: *x\n&k d: &x 2\ne: *x\nf: *k\n';
  t.same(new ConfigDocument(text, {}).value, { a: { b: 1 }, c: { b: 1 }, d: 2, e: 2, f: 'd' });
  t.match(new ConfigDocument('c: *x\na: &x 1\n', {}).problems, [
    { line: 1, column: 4, path: 'c', message: /before it/ },
  ]);
  t.match(new ConfigDocument(text, {}).problemAt(['c', 'b'], 'value', 'x'), { line: 1, column: 12 });
});
