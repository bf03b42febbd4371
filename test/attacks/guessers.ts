/** Wrong secrets at full speed, at every service that asks for one, from one address and from many . */

import { FORGER_PASSWORD, PREY_TOKEN, PROXY, PROXY_PEER } from './arena.js';
import { type Attack, again, anyAddress, connect } from './attack.js';

const basic = (password: string) => `Authorization: Basic ${Buffer.from(`source:${password}`).toString('base64')}\r\n`;

/** Of every service: an attempt, which is wrong but for its length. */
const ATTEMPTS = [
  (word: string) => `GET /metapush/prey/${word}?song=x HTTP/1.1\r\nHost: x\r\n\r\n`,
  (word: string) => `GET /metapush/prey?song=x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${word}\r\n\r\n`,
  (word: string) => `PUT /forged HTTP/1.1\r\n${basic(word)}\r\n`,
  (word: string) => `SOURCE /forged ICE/1.0\r\n${basic(word)}\r\n`,
  (word: string) => `GET /admin.cgi?mode=updinfo&song=x&pass=${word} HTTP/1.1\r\nHost: x\r\n\r\n`,
  (word: string) => `GET /admin/metadata?mode=updinfo&song=x&mount=/forged HTTP/1.1\r\nHost: x\r\n${basic(word)}\r\n`,
  (word: string) => `${word}\r\n`,
  (word: string) => `${word}:#1\r\nicy-name:x\r\n\r\n`,
];

function guess(sameAddress: boolean): Attack {
  return async (port, random, signal) => {
    const one = anyAddress(random);
    await again(signal, 10, 5000, () => {
      for (let i = 0; i < 6; i++) {
        const word = `${random.chance(0.5) ? PREY_TOKEN : FORGER_PASSWORD}${random.int(0, 1e9)}`;
        const attempt = ATTEMPTS[random.int(0, ATTEMPTS.length - 1)]!(word);
        const socket = connect(port, random, signal, { from: sameAddress ? one : anyAddress(random) });
        socket.end(attempt.startsWith('GET') ? attempt.repeat(random.int(1, 20)) : attempt);
      }
    });
  };
}

export const guessFromOne = guess(true);
export const guessFromMany = guess(false);

/** A new /64 with each connection, as each owner of a routed IPv6 network has: by way of a trusted proxy that says so. */
export const guessFromNetworks: Attack = (port, random, signal) =>
  again(signal, 10, 5000, () => {
    const network = () => random.int(0, 65_535).toString(16);
    const head = `PROXY TCP6 2001:db8:${network()}:${network()}::1 ::1 ${random.int(1, 65_535)} 80\r\n`;
    const attempt = ATTEMPTS[random.int(0, ATTEMPTS.length - 1)]!(`guess-${random.int(0, 1e9)}`);
    connect(port + PROXY, random, signal, { from: PROXY_PEER }).end(head + attempt);
  });
