/**
 * What `/admin` says where it is not served: how an operator gets there. Nothing of the request is repeated, and nothing is said that the client does
 * not know: the port is the one that it asks.
 */

import type { IncomingMessage } from 'node:http';
import { Refusal, type RefusalHelp } from '../base/refusal.js';
import type { Roles } from './roles.js';

const ROLE: RefusalHelp = {
  text: 'To serve it to other machines, give an entry of “addresses” in the configuration the role “admin”, with TLS, since passwords are sent to it. That address then serves only the roles in its list:',
  code: 'roles: [stream, poll, watch, push, encoder, admin]',
};

/** @param roles of the address that was asked */
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
          text: 'An address without roles serves the operator page to its own machine. A tunnel leads to it:',
        },
        open('PORT', 'http'),
      ];
  const detail = roles.servesThisMachine
    ? 'The operator page is served to this machine only'
    : 'The operator page is not served at this address';
  return new Refusal('not-found', detail, { help });
}
