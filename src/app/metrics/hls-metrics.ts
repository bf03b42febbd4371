/** Metrics of HLS: what is cut or copied, where the channels are; what is asked for, where the clients are. Counted in plain fields, by segment. */

import type { HlsChannels } from '../../hls/hls-channels.js';
import type { HlsService } from '../../http/stream/hls-routes.js';
import type { MetricRegistry } from './registry.js';

/** Registers them, where the channels are. */
export function observeHls(registry: MetricRegistry, hls: HlsChannels): void {
  registry.gauge(
    'airsplice_hls_active',
    '1 for a channel that is segmented here, or copied from the machine that segments it; absent: no client requests it',
    ['channel', 'state'],
    (set) => {
      for (const { key, state } of hls.all) if (state !== 'resting') set({ channel: key, state }, 1);
    },
  );
  registry.counter('airsplice_hls_segments_total', 'HLS segments cut or copied', ['channel'], (set) => {
    for (const { key, window } of hls.all) set({ channel: key }, window.came.segments);
  });
  registry.counter('airsplice_hls_bytes_total', 'Bytes of HLS segments cut or copied', ['channel'], (set) => {
    for (const { key, window } of hls.all) set({ channel: key }, window.came.bytes);
  });
  registry.gauge('airsplice_hls_rewind_seconds', 'Length of the rewind of a channel', ['channel'], (set) => {
    for (const { channel, seconds } of hls.rewinds) set({ channel }, seconds);
  });
  registry.gauge('airsplice_hls_rewind_bytes', 'Bytes of the segments in the rewind', ['channel'], (set) => {
    for (const { channel, bytes } of hls.rewinds) set({ channel }, bytes);
  });
  registry.gauge(
    'airsplice_hls_fault',
    '1 for a channel whose segments cannot be written to files, or only by dropping the oldest of its rewind',
    ['channel'],
    (set) => {
      for (const channel of hls.faults.keys()) set({ channel }, 1);
    },
  );
  registry.counter(
    'airsplice_hls_unwritten_total',
    'Failed writes of segments to files; the segments are served from memory, and the write is retried with the next one',
    [],
    (set) => set({}, hls.unwritten),
  );
}

/** Registers them, where the clients are. */
export function observeHlsRequests(registry: MetricRegistry, service: Pick<HlsService, 'requests' | 'waiting'>): void {
  registry.counter(
    'airsplice_hls_requests_total',
    'HLS requests by response status; left: the client disconnected before a response',
    ['what', 'status'],
    (set) => {
      for (const [row, count] of service.requests.rows) {
        const [what = '', status = ''] = row.split(' ');
        set({ what, status }, count);
      }
    },
  );
  registry.gauge('airsplice_hls_waiting', 'HLS requests waiting for a segment', [], (set) => set({}, service.waiting));
}
