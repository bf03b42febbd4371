import { createHash } from 'node:crypto';
import { join } from 'node:path';
import t from 'tap';
import { ConfigError, loadConfig } from '../../src/config/load.js';
import { parseSecret, type Secret, secretMatches } from '../../src/config/secret.js';

const sha256 = (text: string) => createHash('sha256').update(text).digest();

function secret(text: string, env: NodeJS.ProcessEnv = {}): Secret {
  const parsed = parseSecret(text, env);
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed;
}

t.test('each form is kept as its digest', async (t) => {
  const plain = { sha256: sha256('top secret ü'), demo: null };
  const hashed = `sha256:${plain.sha256.toString('hex')}`;
  t.strictSame(secret(hashed), plain);
  t.strictSame(secret(hashed.replace(/[a-f]/g, (c) => c.toUpperCase())), plain);
  t.strictSame(secret('env:TOKEN', { TOKEN: 'top secret ü' }), plain);
  t.strictSame(secret('env:TOKEN', { TOKEN: hashed }), plain);
  for (const word of ['demo-token', 'studio-token', 'relay-token', 'demo-source']) {
    t.strictSame(secret(word), { sha256: sha256(word), demo: word });
  }
});

t.test('everything else is refused', async (t) => {
  for (const text of [
    '',
    'hunter2',
    'Demo-token',
    'demo-token ',
    'sha256:00',
    `sha256:${'g'.repeat(64)}`,
    `md5:${'0'.repeat(64)}`,
    'env:',
    'env:a-b',
  ]) {
    t.match(parseSecret(text, {}), { problem: /^must be/ }, text);
  }
  for (const env of [{}, { TOKEN: '' }]) t.match(parseSecret('env:TOKEN', env), { problem: /TOKEN is not set/ });
});

t.test('secretMatches: any of several, nothing else', async (t) => {
  const secrets = [secret('env:A', { A: 'first' }), secret('env:B', { B: 'second ü' })];
  for (const given of ['first', 'second ü']) {
    t.equal(secretMatches(secrets, given), true);
    t.equal(secretMatches([...secrets].reverse(), given), true);
  }
  for (const given of ['', 'First', 'first ', 'second', 'x'.repeat(100_000), sha256('first').toString('hex')]) {
    t.equal(secretMatches(secrets, given), false, given.slice(0, 80));
  }
  t.equal(secretMatches([], ''), false);
});

t.test('no error shows a secret, wherever it was put', async (t) => {
  const texts = [
    'stations: { s: { channels: { c: { pushTokens: [hunter2], sources: [{ type: encoder, password: hunter2 }] } } } }',
    'stations: { s: { channels: { c: { pushTokens: hunter2, sources: hunter2 } } } }',
    `stations: { s: { channels: { c: { pushTokens: ["\${TOKEN}", env:hunter2], sources: [{ type: hunter2 }] } } } }`,
    'stations: { s: { channels: { c: { mounts: [hunter2], sources: [{ type: pull, url: "ftp://u:hunter2@h/" }] } } } }',
    'stations: { s: { channels: { c: { mounts: [hunter2], sources: [{ type: file, path: hunter2 }] } } } }',
    'log: { level: hunter2 }\nstreams: { headers: { X-Key: "hunter2\\n" } }\naddresses: [{ host: "hunter2 ", port: hunter2 }]',
    'demoSecretsInPublic: hunter2\ndata: hunter2\nlimits: [hunter2]',
    'password: *hunter2',
    'password: !hunter2 x',
    'password: "x" hunter2',
    'password: "x\\hunter2"',
    'password: |hunter2\n  x',
    'password: &hunter2 &hunter2 x',
    'hunter2',
    '%hunter2',
    'password: x\n hunter2: [',
    'password: !<hunter2',
    'password: @hunter2',
  ];
  for (const [index, text] of texts.entries()) {
    const file = join(t.testdir({ 'a.yaml': text }), 'a.yaml');
    try {
      loadConfig(file, { TOKEN: 'hunter2' });
      t.fail(`was not refused: ${text}`);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      t.notMatch(`${error.stack} ${JSON.stringify(error)} ${error.cause}`, /unter2/, `${index}: ${text}`);
    }
  }
});
