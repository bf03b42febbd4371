/** Path and query of a target, and one parameter of it, however many others there are. */

import t from 'tap';
import { parameter, pathOf, plainPath, queryOf, targetOf } from '../../src/base/request-target.js';
import { costRatio } from '../kit/cost.js';

t.test('the query begins behind the first question mark', (t) => {
  const targets = [
    ['/a', '/a', ''],
    ['/a?', '/a', ''],
    ['/a?b', '/a', 'b'],
    ['/a?b?c', '/a', 'b?c'],
    ['?b', '', 'b'],
    ['*', '*', ''],
    ['', '', ''],
  ] as const;
  for (const [target, path, query] of targets) {
    t.equal(pathOf(target), path, target);
    t.equal(queryOf(target), query, target);
    t.equal(targetOf({ path, query }), query === '' ? path : target, `${target} put together`);
  }
  t.end();
});

t.test('a path as mounts are looked up by', async (t) => {
  const paths = [
    ['/live', '/live'],
    ['/live/', '/live/'],
    ['//live///high', '/live/high'],
    ['http://host:8000/live', '/live'],
    ['HTTPS://[::1]//live', '/live'],
    ['http://host', '/'],
    ['live', '/live'],
    ['', '/'],
    ['/%6Cive%2Emp3', '/live.mp3'],
    ['/%2F%6c', '/%2Fl'],
    ['/%3B%3bx%25%41', '/;;x%25A'],
    ['/%zz%6', '/%zz%6'],
    ['/%E4%00%20', '/%E4%00%20'],
    ['/x/http://host/live', '/x/http:/host/live'],
  ] as const;
  for (const [path, plain] of paths) t.equal(plainPath(path), plain, path);
  const all = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code));
  for (const char of all) {
    const encoded = `/%${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
    t.equal(plainPath(encoded), /[A-Za-z0-9._~;-]/.test(char) ? `/${char}` : encoded, encoded);
  }
});

t.test('one parameter, as URLSearchParams finds it', async (t) => {
  const queries = [
    ...[
      '',
      'mount',
      'mount=',
      'mount=/a',
      'mount=/a&mount=/b',
      'x=1&mount=%2Fa+b',
      'amount=1',
      'mounts=1',
      '&&mount=x&',
    ],
    ...['m%6Funt=x', 'm%6funt=%41%zz', '%6d%6f%75%6e%74=y', 'mount=a=b', 'mount=a;b', 'MOUNT=x', 'x=?mount=y'],
    ...['mount=%F0%9F%98%80', 'mount=%ff', 'x=&mount', 'mount&mount=2', 'mount%3D=1', `mount=${'%41'.repeat(1365)}`],
  ];
  for (const query of queries) {
    t.equal(parameter(`/a?${query}`, 'mount'), new URLSearchParams(query).get('mount'), query);
  }
  t.equal(parameter('/mount=x', 'mount'), null);
  t.equal(parameter(`/?mount=${'%41'.repeat(1366)}`, 'mount'), '%41'.repeat(1366), 'one too long is not decoded');
});

t.test('thousands of others cost little', async (t) => {
  for (const other of ['a&', 'moun&', '%6d%6f%75%6e&', '%F0%9F%98%80']) {
    const query = other.repeat(30_000 / other.length);
    const ratio = await costRatio(
      1,
      () => parameter(`/a?${query}`, 'mount'),
      () => new URLSearchParams(query).get('mount'),
    );
    t.ok(ratio < 1, `${other}: ${ratio} of the time that all of them take`);
  }
});
