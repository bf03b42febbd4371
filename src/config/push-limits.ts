/**
 * The highest limits that a configuration can set for a push. Records of other nodes, of an older configuration or of a backup are checked against
 * these, whatever is configured here (metadata/record-schema.ts).
 */
export const MAX_PUSH = {
  textBytes: 65_536,
  urlBytes: 65_536,
  timezoneCharacters: 1024,
  extdataBytes: 16_777_216,
  extdataDepth: 1000,
} as const;

/** How far ahead a push is held. */
export const MAX_HOLD_SECONDS = 86_400;
/** Pushes of one channel that wait for their time. */
export const MAX_HELD_PUSHES = 10_000;
