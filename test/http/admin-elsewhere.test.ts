/** `/admin` where it is not served: a browser is told how to get there, a program gets the problem as before. */

import t from 'tap';
import { DEMO_AUDIO, demoYaml, startServer } from '../kit/server.js';

const BROWSER = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8', 'X-Forwarded-For': '203.0.113.9' };
const YAML = `${demoYaml(`
      other: { bitrateKbps: 128, sources: [{ type: file, path: ${DEMO_AUDIO} }] }
`)}`;

t.test('an address without roles: a tunnel to the same port', async (t) => {
  const { base, port } = await startServer(t, YAML);
  const answer = await fetch(`${base}/admin`, { headers: BROWSER });
  const text = await answer.text();
  t.equal(answer.status, 404);
  t.match(answer.headers.get('content-type'), /^text\/html/);
  t.match(text, `ssh -L ${port}:127.0.0.1:${port} USER@SERVER`);
  t.match(text, `http://localhost:${port}/admin`);
  t.match(text, 'roles: [stream, poll, watch, push, encoder, admin]');
  t.notMatch(text, '203.0.113.9', 'nothing of the request');
  t.notMatch(text, /undefined|null/);
  const slash = await fetch(`${base}/admin/`, { headers: BROWSER, redirect: 'manual' });
  t.match(await slash.text(), 'ssh -L', 'with a slash too');
});

t.test('an address with other roles: the role comes first', async (t) => {
  const yaml = YAML.replace(/port: 0/, 'port: 0, roles: [stream, poll]');
  t.not(yaml, YAML);
  const { base } = await startServer(t, yaml);
  const answer = await fetch(`${base}/admin`, { headers: { Accept: 'text/html' } });
  const text = await answer.text();
  t.equal(answer.status, 404);
  t.ok(text.indexOf('roles: [') < text.indexOf('ssh -L PORT:127.0.0.1:PORT'), text);
});

t.test('programs, and all other paths, get the problem', async (t) => {
  const { base } = await startServer(t, YAML);
  const forwarded = { 'X-Forwarded-For': '203.0.113.9' };
  const plain = await fetch(`${base}/admin`, { headers: forwarded });
  t.equal(plain.status, 404);
  t.match(plain.headers.get('content-type'), 'application/problem+json');
  t.notMatch(await plain.text(), 'ssh');
  for (const path of ['/admin/api/self', '/metrics']) {
    const answer = await fetch(base + path, { headers: BROWSER });
    t.equal(answer.status, 404, path);
    t.notMatch(await answer.text(), 'ssh', path);
  }
});
