/**
 * The files that later tiers run by rotation: each part with every third commit, and those that a change affects with that change (rotation.mjs).
 */

import { files } from './test-files.mjs';

/**
 * Three parts of about the same duration. `programs`, `pairs` (which mostly sleep) and `alone` run in their long forms (LONG=1), which replace the
 * short ones of the same run; `nodes`: as in tiers.mjs; `workers`: on a hub and two workers.
 */
export const ROTATED = [
  {
    programs: [
      ...files(
        'e2e',
        'alerts backup clock cluster-clocks cluster-example directories-cluster faults firefox format-change hls-players log monitoring ogg origins outgoing-titles-cluster',
      ),
      ...files('e2e', 'package silent-links woken-node client-package container demo fail2ban hls-nodes'),
      ...files('long', 'encoders-ffmpeg encoders-libshout aac-joins firefox generated-clients'),
      ...files('cli', 'bench cluster-command commands'),
      ...files('directories', 'directories'),
      ...files('http/stream', 'hls-routes'),
      ...files('http/watch', 'web-socket-watch'),
      ...files('app/metrics', 'hls-metrics'),
      ...files('kit', 'legs spread'),
      ...files('setup', 'azuracast'),
      ...files('behaviour', 'heard-acts'),
      ...files('audio', 'delay-line'),
      ...files('audio/frames', 'framer'),
      ...files('audio/ogg', 'ogg-link-end'),
      ...files('net/front', 'front'),
    ],
    nodes: files(
      'behaviour',
      'ambiguous-heads channel-delay churn first-title joined-limits large-station late-titles one-play',
    ),
    workers: files('app', 'reload'),
    pairs: [...files('long', 'processes players-table'), ...files('behaviour', 'heard-places')],
    alone: files('long', 'hostile-workers'),
  },
  {
    programs: [
      ...files(
        'e2e',
        'acme attacks crash darkice fallback-restart kept-statistics ogg-icy other-version proxies hls hls-client hls-rewind page-fit rewind-page station-page',
      ),
      ...files('long', 'encoders-ogg encoders-butt debian-package newcomer icecast'),
      ...files('cli/doctor', 'doctor-proxy'),
      ...files('cli/recording', 'record-command'),
      ...files('cli/terminal', 'own-output'),
      ...files('client', 'attach'),
      ...files('link/wire', 'members'),
      ...files('net/acme', 'acme-certificate'),
      ...files('cli/setup', 'init'),
      ...files('audio/ogg', 'ogg'),
      ...files('link/tapes', 'replica-tape tape-receiver'),
      ...files('behaviour', 'another-format decoders fuzz-front hls-goes-on'),
    ],
    nodes: files(
      'behaviour',
      'hls-titles pulled-channel pulled-titles push-durability push-tokens reading-players record-order',
    ),
    workers: [...files('behaviour', 'cluster-titles'), ...files('http/stream', 'hls-private')],
    pairs: files('long', 'cluster-stops encoders-restart reload-pairs'),
    alone: files('long', 'truth'),
  },
  {
    programs: [
      ...files(
        'e2e',
        'reload-deaths start store systemd transcribed hls-caches hls-restart logrotate operator-login policy proxy session-tickets statistics',
      ),
      ...files('long', 'bench churn encoders-players fuzz players quiet restarts soak whose-title'),
      ...files('docs', 'page playout typed-lines'),
      ...files('bench', 'watcher'),
      ...files('cli', 'server status-command watch-command'),
      ...files('cli/doctor', 'doctor'),
      ...files('cli/recording', 'measure-offset'),
      ...files('client', 'client'),
      ...files('cluster/titles', 'log-entry'),
      ...files('cluster/log', 'scripts'),
      ...files('hls', 'hls-files'),
      ...files('hls/rewind', 'rewind-writer'),
      ...files('http/admin', 'admin-page login-page page-acts'),
      ...files('http/watch', 'nes'),
      ...files('audio/ogg', 'ogg-rendering'),
      ...files('net/front', 'connections proxy-protocol'),
      ...files('link/tapes', 'tape-returns'),
      ...files('store', 'store'),
      ...files('behaviour', 'churn large-station media-clock resting-files write-seconds'),
    ],
    nodes: files(
      'behaviour',
      'large-pieces reload-pairs secrets-stay-secret slow-requests source-claims tls write-seconds',
    ),
    workers: [],
    pairs: [...files('long', 'reading-players'), ...files('behaviour', 'unread-answers')],
    alone: [],
  },
];
