/**
 * What a listener is shown. `ready`: on air, and nothing plays; `stalled`: it waits for audio; `retrying`: the stream broke off; `failed`: the
 * listener has to press play again. `offAir` (no audio), `full` (no place), `away` (the server does not answer): it plays as soon as that is over,
 * if the listener has pressed play. `members`: access is denied (401 or 403); `codec`: this browser cannot play it; `loading`: nothing is known
 * yet; `missing`: the server has no such channel.
 */
export type ListeningState =
  | 'loading'
  | 'ready'
  | 'connecting'
  | 'playing'
  | 'stalled'
  | 'retrying'
  | 'failed'
  | 'offAir'
  | 'full'
  | 'members'
  | 'codec'
  | 'away'
  | 'missing';
