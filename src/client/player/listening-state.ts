/**
 * What a listener gets to know. `ready`: on air, and nothing plays; `offAir`, `full`, `away`: it plays as soon as that is over, where the listener
 * wants it to; `loading`: nothing is known yet; `missing`: the server has no such channel.
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
