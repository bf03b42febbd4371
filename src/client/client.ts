/**
 * What pages and apps import, as `airsplice/client` or from a server's `/client.js`: the titles of a channel, a station or a listener as they
 * change, and an audio element with the titles that are heard (README.md). Runs in browsers and in Node, and imports nothing else.
 */

export { type Attachment, type AttachOptions, attach, type PlayState } from './attach.js';
export type { AudioElement, Socket, SocketConstructor, SocketEvent } from './browser.js';
export type { ChannelRecord, RecordImages } from './channel-record.js';
export {
  type FollowHandlers,
  type Following,
  type FollowOptions,
  type FollowState,
  type FollowTarget,
  follow,
  type ServerOptions,
} from './follow.js';
