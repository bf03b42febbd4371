/**
 * undici's client only: the whole package takes 16 MB and 75 ms of CPU instead of 7.5 MB and 20 ms, and replaces the dispatcher of Node's `fetch`.
 */
declare module 'undici/lib/dispatcher/client.js' {
  import { Client } from 'undici';
  export = Client;
}
