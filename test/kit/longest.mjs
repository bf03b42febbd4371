/** Folder and names of files that mostly wait, for 10 s or more: a run begins with them, or it would end by waiting for the last of them. */
export const LONGEST = [
  ['app', 'reload'],
  ['audio/ogg', 'ogg'],
  [
    'behaviour',
    'another-format channel-delay delay dropped-next encoder-takeover fallbacks heard-acts heard-places late-titles lost-again one-play outgoing-titles reading-players secrets-stay-secret tls untitled-encoder',
  ],
  ['client', 'follow playlist-reader'],
  ['cluster/tapes', 'shared-tapes tape-server'],
  ['config', 'load'],
  ['docs', 'documents typed-lines'],
  ['e2e', 'kept-statistics reload-workers'],
  ['http', 'heard-route readiness'],
  ['http/admin', 'api depth'],
  ['http/stream', 'stations-list'],
  ['http/watch', 'sse web-socket-watch'],
  ['link/tapes', 'replica-tape'],
  [
    'long',
    'bench cluster-faults debian-package encoders-ogg encoders-players encoders-restart newcomer players players-table quiet reading-players reload-pairs restarts soak',
  ],
  ['net/tls', 'key-updates'],
  ['processes/supervisor', 'managed-process'],
];
