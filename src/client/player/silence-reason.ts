/** Why a stream does not play: an audio element does not say, the server does. */

import type { DirectoryChannel } from './channel-directory.js';

/** `full`: no place, or no audio (the directory knows which); `members`: access is denied; `codec`: this browser cannot play it. */
export type SilenceReason = 'full' | 'members' | 'codec';

/** Asks by HEAD, which is answered like GET and takes no place. Null: there is no reason, or the server cannot be reached. */
export async function whySilent(mount: URL, audio: HTMLAudioElement): Promise<SilenceReason | null> {
  const answer = await fetch(mount, { method: 'HEAD', cache: 'no-store' }).catch(() => null);
  if (answer === null) return null;
  if (answer.status === 401 || answer.status === 403) return 'members';
  if (answer.status === 503) return 'full';
  const isPlayable = audio.canPlayType(answer.headers.get('content-type') ?? '') !== '';
  return answer.ok && !isPlayable ? 'codec' : null;
}

/** Whether this browser can probably play the channel: hls.js plays formats that the browser itself does not. */
export function canPlay(audio: HTMLAudioElement, { type, hls }: Pick<DirectoryChannel, 'type' | 'hls'>): boolean {
  return type === '' || hls !== '' || audio.canPlayType(type) !== '';
}
