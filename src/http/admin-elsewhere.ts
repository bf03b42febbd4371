/**
 * The answer to `/admin` where it is not served: how an operator gets there. It repeats nothing of the request, and discloses only what the client
 * knows already: the port to which it has connected.
 */

import type { IncomingMessage } from 'node:http';
import { Refusal, type RefusalHelp } from '../base/refusal.js';
import type { Roles } from './roles.js';

const ROLE: RefusalHelp = {
  text: 'To serve it to other machines, give an entry of “addresses” in the configuration the role “admin”, with TLS, since passwords are sent to it. That address then serves only the roles in its list:',
  code: 'roles: [stream, poll, watch, push, encoder, admin]',
};

/** @param roles those of the address that was requested */
export function adminElsewhere({ socket }: IncomingMessage, roles: Pick<Roles, 'servesThisMachine'>): Refusal {
  const port = socket.localPort ?? 8000;
  const scheme = 'encrypted' in socket ? 'https' : 'http';
  const tunnel = (to: string): RefusalHelp => ({
    text: 'From your own computer, open a tunnel:',
    code: `ssh -L ${to}:127.0.0.1:${to} USER@SERVER`,
  });
  const open = (to: string, by: string): RefusalHelp => ({
    text: 'Keep it running, and open in a browser:',
    code: `${by}://localhost:${to}/admin`,
  });
  const help = roles.servesThisMachine
    ? [tunnel(String(port)), open(String(port), scheme), ROLE]
    : [
        ROLE,
        {
          ...tunnel('PORT'),
          text: 'An address without roles serves the operator page to its own machine. Reach it by a tunnel:',
        },
        open('PORT', 'http'),
      ];
  const detail = roles.servesThisMachine
    ? 'The operator page is served to this machine only'
    : 'The operator page is not served at this address';
  return new Refusal('not-found', detail, { help });
}
