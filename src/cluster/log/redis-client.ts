/**
 * The client of Redis, loaded by `import()` where one is configured (redis.ts): other servers start without it. A file of its own, as the build
 * finds no names in a package that is imported so.
 */

export { createClient } from 'redis';
