/** The HTTP client for requests to other machines. A file of its own for the same reason as redis-client.ts. */

export { buildConnector, Client } from 'undici';
