/** Schema of the keys of TLS tickets from another process or machine. */

import * as z from 'zod';
import { moment } from '../metadata/record-schema.js';
import { TICKET_KEY_BYTES, type TicketKeys } from '../net/tls/session-tickets.js';

const BASE64 = /^[A-Za-z0-9+/]*$/;
/** Base64 without padding: the length is a multiple of three. */
const CHARACTERS = (TICKET_KEY_BYTES / 3) * 4;

export const ticketKeysSchema: z.ZodType<TicketKeys> = z.looseObject({
  madeMs: moment,
  keys: z.string().length(CHARACTERS).regex(BASE64),
});
