/** A listener's guest, for tests of the audience that do not care who listens. */

import { SecretMask } from '../../src/base/secret-mask.js';
import { Census } from '../../src/listener/census.js';
import { type Guest, Guests, type ListenerRequest } from '../../src/listener/guests.js';
import { FakeClock } from './clock.js';

/** A request as a player makes it. @param heads by lower-case name */
export function makeRequest(
  fields: Partial<ListenerRequest> = {},
  heads: Readonly<Record<string, string>> = {},
): ListenerRequest {
  return { method: 'GET', url: '/demo.mp3', address: '192.0.2.7', head: (name) => heads[name], ...fields };
}

export function makeGuest(): Guest {
  const clock = new FakeClock();
  const guests = new Guests(new Census(clock, 0), null, clock, {
    anonymize: false,
    textCharacters: 512,
    secrets: new SecretMask([]),
  });
  return guests.arrive('demo', makeRequest(), null);
}
