/** What asks other machines. Loaded where there are some, by way of this file: see redis-client.ts. */

export { buildConnector, Client } from 'undici';
