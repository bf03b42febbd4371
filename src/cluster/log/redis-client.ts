/**
 * What speaks with Redis. Loaded where there is one (`import()`): other servers start without it. By way of this file, as the build finds no names in
 * a package that is loaded so.
 */

export { createClient } from 'redis';
