/** The types of the messages of a link, described in README.md: 1 to 31 are of tapes, 33 to 47 of HLS, 48 to 63 of sessions. */

/** Has no members: the other end is alive. */
export const PING = 0;

export const FIRST_TAPE_TYPE = 1;
export const LAST_TAPE_TYPE = 31;

/** From a worker. */
export const SUBSCRIBE = 1;
export const UNSUBSCRIBE = 2;
export const LISTENING = 3;

/** From the hub. */
export const TAPE = 8;
export const NO_TAPE = 9;
export const FALLEN = 10;
export const FACTS = 11;
export const MARK = 12;
export const LINK_HEAD = 13;
export const FRAMES_SEGMENT = 14;
export const OGG_SEGMENT = 15;
export const REVISION = 16;
export const LATE = 17;
export const GROWTH = 18;
export const FENCE = 19;

/** Plain data (control-messages.ts). */
export const CONTROL = 32;

export const FIRST_HLS_TYPE = 33;
export const LAST_HLS_TYPE = 47;

/** From a worker. */
export const HLS_SUBSCRIBE = 33;
export const HLS_UNSUBSCRIBE = 34;
export const HLS_ASK = 35;
export const HLS_WHOLE = 36;

/** From the hub. */
export const HLS_LIST = 40;
export const HLS_TITLE = 41;
export const HLS_SEGMENT = 42;
export const HLS_IS_WHOLE = 43;
export const HLS_NONE = 44;

export const FIRST_SESSION_TYPE = 48;
export const LAST_SESSION_TYPE = 63;

export const LOCATION = 48;
export const FOLLOW = 49;
export const ASK = 50;
export const STATE = 51;
export const TITLE = 52;
export const HEARD = 53;
export const REPORT = 54;
export const VERDICT = 55;

const NAMES: Readonly<Record<number, string>> = {
  [SUBSCRIBE]: 'SUBSCRIBE',
  [UNSUBSCRIBE]: 'UNSUBSCRIBE',
  [LISTENING]: 'LISTENING',
  [TAPE]: 'TAPE',
  [NO_TAPE]: 'NO_TAPE',
  [FALLEN]: 'FALLEN',
  [FACTS]: 'FACTS',
  [MARK]: 'MARK',
  [LINK_HEAD]: 'LINK_HEAD',
  [FRAMES_SEGMENT]: 'FRAMES_SEGMENT',
  [OGG_SEGMENT]: 'OGG_SEGMENT',
  [REVISION]: 'REVISION',
  [LATE]: 'LATE',
  [GROWTH]: 'GROWTH',
  [FENCE]: 'FENCE',
  [CONTROL]: 'CONTROL',
  [HLS_SUBSCRIBE]: 'HLS_SUBSCRIBE',
  [HLS_UNSUBSCRIBE]: 'HLS_UNSUBSCRIBE',
  [HLS_ASK]: 'HLS_ASK',
  [HLS_WHOLE]: 'HLS_WHOLE',
  [HLS_LIST]: 'HLS_LIST',
  [HLS_TITLE]: 'HLS_TITLE',
  [HLS_SEGMENT]: 'HLS_SEGMENT',
  [HLS_IS_WHOLE]: 'HLS_IS_WHOLE',
  [HLS_NONE]: 'HLS_NONE',
  [LOCATION]: 'LOCATION',
  [FOLLOW]: 'FOLLOW',
  [ASK]: 'ASK',
  [STATE]: 'STATE',
  [TITLE]: 'TITLE',
  [HEARD]: 'HEARD',
  [REPORT]: 'REPORT',
  [VERDICT]: 'VERDICT',
};

/** For errors. */
export function nameOf(type: number): string {
  return NAMES[type] ?? `of type ${type}`;
}
