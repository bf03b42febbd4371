/**
 * How much of a push a configuration can allow at most. What another node, an older configuration or a backup has taken is within it, whatever is
 * configured here (metadata/record-schema.ts).
 */
export const MAX_PUSH = {
  textBytes: 65_536,
  urlBytes: 65_536,
  timezoneCharacters: 1024,
  extdataBytes: 16_777_216,
  extdataDepth: 1000,
} as const;

/** Of a channel that waits for the time of its pushes. */
export const MAX_HELD_PUSHES = 10_000;
