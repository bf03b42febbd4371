import { readFileSync } from 'node:fs';

/** The folder, with a trailing slash, of two self-signed pairs for 127.0.0.1 and localhost: `one.cert.pem`, `one.key.pem`, and `two`. */
export const PEM = new URL('certificate/', import.meta.url).pathname;

/** The first pair. */
export const ONE = { cert: readFileSync(`${PEM}one.cert.pem`), key: readFileSync(`${PEM}one.key.pem`) };
