/**
 * Every way in which a listener's stream ends: one table, used alike for log lines, metric labels and tests.
 * `abrupt` endings cut the connection, and reset it where what lies in its buffers is stale; the others let written bytes arrive.
 */

export const ENDINGS = {
  /** The player closed the connection. */
  left: { abrupt: true, words: 'the player closed the connection' },
  /** The cursor fell off the tape: the player reads slower than the audio runs. */
  lagged: { abrupt: true, words: 'fell further behind than the tape reaches' },
  /** The socket failed. */
  broken: { abrupt: true, words: 'the connection failed' },
  /** Nothing has fed the channel for streams.silenceSeconds. */
  silence: { abrupt: false, words: 'the channel has had no audio' },
  /** This server is shutting down. */
  shutdown: { abrupt: false, words: 'the server is shutting down' },
} as const;

export type Ending = keyof typeof ENDINGS;
