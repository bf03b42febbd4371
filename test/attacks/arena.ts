/**
 * The server that is attacked: a channel for the crowd, channels for those who attack with the right password or as an upstream, and
 * every kind of address. Whoever knows the first port knows them all.
 *
 *   port      all roles            port + 3   PROXY heads, from PROXY_PEER only
 *   port + 1  SHOUTcast encoders   port + 4   where channel `pulled` looks for its upstream: nobody, or an attack (upstreams.ts)
 *   port + 2  legacy               port + 5   TLS and the clear
 */

import { createHash } from 'node:crypto';
import http from 'node:http';

const KIT = new URL('../kit/', import.meta.url).pathname;

/** Ports in a row that it needs. */
export const PORTS = 6;
export const LEGACY = 2;
export const PROXY = 3;
export const UPSTREAM = 4;
export const TLS = 5;
export const PROXY_PEER = '127.9.9.9';
/** Of the channels `prey` (push tokens, a long history), `forged` (encoder) and `crowd`. */
export const PREY_TOKEN = 'a-token-of-prey';
export const FORGER_PASSWORD = 'a-word-of-forgers';
export const CROWD = { channel: 'crowd', password: 'a-word-of-the-crowd', token: 'a-token-of-the-crowd' } as const;

const digest = (secret: string) => `sha256:${createHash('sha256').update(secret).digest('hex')}`;

export function arenaYaml(port: number, folder: string): string {
  return `
addresses:
  - { host: 127.0.0.1, port: ${port}, shoutcastPort: ${port + 1} }
  - { host: 127.0.0.1, port: ${port + LEGACY}, roles: [legacy], shoutcastPort: false }
  - { host: 127.0.0.1, port: ${port + PROXY}, proxyProtocol: true, shoutcastPort: false }
  - host: 127.0.0.1
    port: ${port + TLS}
    shoutcastPort: false
    tls: { certFile: ${KIT}certificate/one.cert.pem, keyFile: ${KIT}certificate/one.key.pem, sharePort: true }
proxies: { trusted: [${PROXY_PEER}] }
legacy: { deprecatedOn: 2024-01-01, sunsetOn: 2027-12-31, successor: https://api.example.com/ }
data: { folder: ${folder} }
log: { level: warn }
# So patient that a machine which stands still is not taken for an encoder that does.
sources: { stallMs: 8000 }
# For a history of 1,000 titles at once; and so few connections that they can all be taken.
limits: { pushBurst: 1100, headSeconds: 5, connections: 1200 }
stations:
  arena:
    channels:
      crowd:
        metaint: 2048
        pushTokens: [${digest(CROWD.token)}]
        sources: [{ type: encoder, password: ${digest(CROWD.password)} }]
      prey:
        pushTokens: [${digest(PREY_TOKEN)}]
        sources: [{ type: file, path: ${new URL('../../config/demo/airsplice.mp3', import.meta.url).pathname} }]
      forged:
        sources:
          - { type: encoder, password: ${digest(FORGER_PASSWORD)}, takeover: always }
      pulled:
        sources:
          - { type: pull, url: 'http://127.0.0.1:${port + UPSTREAM}/live', retrySeconds: { min: 0.2, max: 0.5 } }
`;
}

/** 1,000 titles of 500 bytes in the prey's history. */
export async function fillHistory(port: number): Promise<void> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 8, localAddress: '127.66.0.1' });
  const push = (n: number) =>
    new Promise<void>((done, fail) => {
      const path = `/metapush/prey/${PREY_TOKEN}?song=${n}-${'x'.repeat(490)}`;
      http.get({ host: '127.0.0.1', port, path, agent }, (answer) => answer.resume().on('end', done)).on('error', fail);
    });
  await Promise.all(Array.from({ length: 1000 }, (_, n) => push(n)));
  agent.destroy();
}
