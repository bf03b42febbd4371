/**
 * The highest limits that a configuration can set for a push. Records of other nodes, an older configuration or a backup are checked against
 * these, not against the configured limits (metadata/record-schema.ts).
 */
export const MAX_PUSH = {
  textBytes: 65_536,
  urlBytes: 65_536,
  timezoneCharacters: 1024,
  extdataBytes: 16_777_216,
  extdataDepth: 1000,
} as const;

/** Maximum time that a push may be held ahead of its start. */
export const MAX_HOLD_SECONDS = 86_400;
/** Maximum number of held pushes of a channel. */
export const MAX_HELD_PUSHES = 10_000;
