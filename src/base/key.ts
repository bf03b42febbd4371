/**
 * The form of a channel's or station's key, and of a metaid, for the configuration, URLs and their documentation.
 */

export const KEY = /^[A-Za-z0-9_-]{1,64}$/;
export const METAID = /^[A-Za-z0-9._~-]{1,128}$/;
