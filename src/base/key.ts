/**
 * The form of a channel's or station's key and of a metaid: one spelling for the configuration,
 * the addresses and their documents.
 */

export const KEY = /^[A-Za-z0-9_-]{1,64}$/;
export const METAID = /^[A-Za-z0-9._~-]{1,128}$/;
