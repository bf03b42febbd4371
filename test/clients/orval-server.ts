/** The server that orval's client asks (orval.config.mjs). */
export const server = { origin: '' };
