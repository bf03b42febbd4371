/**
 * The module for pages and apps, as `airsplice-client`, as `airsplice/client` or from a server's `/client.js`: the titles of a channel, a station or
 * a listener as they change, and an audio element with the titles that are heard (README.md). Runs in browsers and in Node, without dependencies.
 */

export { attach } from './attach.js';
export { follow } from './follow.js';
export type {
  ArtworkOf,
  Attachment,
  AttachOptions,
  AudioElement,
  ChannelRecord,
  FollowHandlers,
  Following,
  FollowOptions,
  FollowState,
  FollowTarget,
  HlsConstructor,
  HlsPlayer,
  HlsSettings,
  PlayState,
  RecordImages,
  RecordSource,
  ServerOptions,
  Socket,
  SocketConstructor,
  SocketEvent,
  StartPlace,
} from './types.js';
