/**
 * `/player.js`, `airsplice-client/player` and `airsplice/client/player`: defines `<airsplice-player>` (src/client/README.md, "The element").
 * Importing it is enough. If the page has defined the element already, that definition stays.
 */

import { AirsplicePlayer } from './player-element.js';

export type { ChannelRecord, ListeningState } from './player-element.js';
export { AirsplicePlayer };

if (customElements.get('airsplice-player') === undefined) customElements.define('airsplice-player', AirsplicePlayer);
