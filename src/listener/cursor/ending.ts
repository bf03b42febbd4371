/**
 * Every way in which a listener's stream ends: one table for behaviour, metric labels and tests.
 * `abrupt` endings cut the connection, and reset it if its buffers hold stale audio; the others let written bytes arrive.
 */

export const ENDINGS = {
  /** The player closed the connection. */
  left: { abrupt: true },
  /** The cursor fell off the tape: the player reads slower than the audio runs. */
  lagged: { abrupt: true },
  /** The socket failed. */
  broken: { abrupt: true },
  /** It sent more than MAX_RECEIVED_BYTES (listener-socket.ts): a player has nothing to send once it listens. */
  flood: { abrupt: true },
  /** The channel's format (Ogg or not) is no longer what the head promised: the player has to reconnect. */
  format: { abrupt: false },
  /** Nothing has fed the channel for streams.silenceSeconds. */
  silence: { abrupt: false },
  /** It reached its limit: maxListenSeconds, or the listener hook's. */
  overtime: { abrupt: false },
  /** The channel was taken out of the configuration. */
  removed: { abrupt: false },
  /** An operator has ended it. */
  operator: { abrupt: false },
  /** This server is shutting down. */
  shutdown: { abrupt: false },
} as const;

export type Ending = keyof typeof ENDINGS;

export const ENDING_NAMES = Object.keys(ENDINGS) as readonly Ending[];
