/**
 * The client of Redis, loaded by `import()` if one is configured (redis.ts), so that other servers start without it. A file of its own, since the
 * build does not find the names in a package that is imported that way.
 */

export { createClient } from 'redis';
