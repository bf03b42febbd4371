/** For types alone: pages import /client.js, which the server has beside them. */
export * from './client/client.js';
