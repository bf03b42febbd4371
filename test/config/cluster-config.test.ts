/** What a configuration says of other machines: each mistake with its place, and no secret in any of them. */

import { join } from 'node:path';
import t, { type Test } from 'tap';
import { loadConfig } from '../../src/config/load.js';
import { planReload, planText } from '../../src/config/plan.js';

const ENV = { SECRET: 'a secret that all machines know, really' };
const STATION = `stations: { st: { channels: { live: { sources: [{ type: encoder, password: env:SECRET }] } } } }
`;

function load(t: Test, cluster: string, more = '') {
  const text = `cluster: ${cluster}\n${more}${STATION}`;
  return loadConfig(join(t.testdir({ 'airsplice.yaml': text }), 'airsplice.yaml'), ENV);
}

const TAPES = 'tapes: { host: 10.0.0.1, port: 8100, secret: env:SECRET }';

t.test('what is enough, and its defaults', async (t) => {
  const { cluster } = load(t, `{ url: redis://localhost, node: one.b-2, ${TAPES} }`);
  t.match(cluster, { prefix: 'airsplice:', sources: true, answerSeconds: 1, sentinels: [] });
  t.equal(cluster?.tapes?.secret.export().toString(), ENV.SECRET);
  t.match(load(t, `{ node: a, ${TAPES} }`).cluster, { origins: [], url: undefined }, 'an origin');
  t.match(load(t, `{ node: a, origins: [http://h:1], ${TAPES} }`).cluster, { origins: ['http://h:1'] }, 'an edge');
  t.equal(load(t, '{ url: "rediss://u:p@h:1/2", node: a }').cluster?.tapes, undefined, 'titles alone');
});

t.test('mistakes', async (t) => {
  const wrong = (cluster: string, message: RegExp, more = '') =>
    t.throws(() => load(t, cluster, more), { message }, cluster);
  wrong('{ node: a }', /cluster\.tapes: is missing: without a Redis url machines reach each other by it/);
  wrong('{ node: a, origins: [http://h:1] }', /cluster\.tapes: is missing/);
  wrong(`{ node: a, url: redis://h, origins: [http://h:1], ${TAPES} }`, /cluster\.origins: are for machines without/);
  wrong(`{ node: a, origins: [redis://h:1], ${TAPES} }`, /cluster\.origins\[0\]: must be/);
  wrong('{ url: "http://:p4ssw0rd@h", node: a }', /^(?!.*p4ssw0rd).*cluster\.url: must be a redis/);
  for (const url of ['redis://h/first', 'rediss://h/0/', 'redis://h/1.5', 'rediss://:50%off@h', 'redis://a%zz@h']) {
    const message = /may end only with the number of a database, and must write a % in its password as %25/;
    wrong(`{ node: a, url: "${url}" }`, message);
    wrong(`{ node: a, url: redis://h, sentinels: ["${url}"] }`, message);
  }
  wrong('{ url: redis://h }', /cluster\.node: is missing/);
  wrong('{ url: redis://h, node: "a b" }', /cluster\.node: must be 1 to 64 of the characters/);
  wrong('{ url: redis://h, node: a, tapes: { host: h, port: 1, secret: short } }', /tapes\.secret: must be env: and/);
  wrong('{ url: redis://h, nod: a }', /cluster\.nod: is not an option.*node/);
  wrong(
    `{ url: redis://h, node: a, ${TAPES} }`,
    /tapes\.port: is the port of an address/,
    'addresses: [{ host: h, port: 8100 }]\n',
  );
  for (const name of ['a b', '-a', 'a.', 'http://a', '10.0.0.0/33', ''])
    wrong(`{ url: redis://h, node: a, peers: ["${name}"] }`, /cluster\.peers\[0\]: must be a host name, an IP address/);
  const peers = ['Radio-2.Example', 'a_b', '10.0.0.0/8', '::1', '2001:db8::/32'];
  t.same(load(t, `{ url: redis://h, node: a, peers: ${JSON.stringify(peers)} }`).cluster?.peers, peers);
  t.doesNotThrow(() =>
    load(t, `{ url: redis://h, node: a, ${TAPES} }`, 'addresses: [{ host: 127.0.0.1, port: 8101 }]\n'),
  );
});

t.test('a reload cannot change it, and says so without a secret', async (t) => {
  const plan = planReload(
    load(t, '{ url: "redis://u:one@h", node: a }'),
    load(t, '{ url: "redis://u:two@h", node: b }'),
  );
  t.same(plan.refused.map(({ path }) => path).sort(), ['cluster.node', 'cluster.url']);
  t.notMatch(planText(plan), /one|two/);
});
