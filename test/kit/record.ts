/** Sample records and views. */

import type { TrackRecord } from '../../src/metadata/record.js';
import { type ChannelFace, RecordView } from '../../src/metadata/view.js';

export const FACE: ChannelFace = { key: 'demo', name: 'Demo', station: 'demo', timezone: 'UTC' };

export function makeRecord(fields: Partial<TrackRecord> = {}): TrackRecord {
  return {
    id: 'id-1',
    type: 'now',
    artist: '',
    song: 'Song',
    separator: ' - ',
    durationSeconds: 0,
    etype: 0,
    isrc: '',
    cover: '',
    album: '',
    timezone: 'UTC',
    images: null,
    extdata: null,
    source: 'metapush',
    startSeconds: 1_795_000_000,
    channel: 'demo',
    version: 1,
    effectAtMs: 1_795_000_000_000,
    ...fields,
  };
}

export function viewOf(song: string, fields: Partial<TrackRecord> = {}): RecordView {
  return new RecordView(makeRecord({ song, ...fields }), { ...FACE, key: fields.channel ?? FACE.key });
}
