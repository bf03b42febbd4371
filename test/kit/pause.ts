/**
 * Sleeps, by what they are for. What a test waits for, it waits for with `until` (player.ts) or, for bytes that a server has to read apart,
 * with `arrived` (wire.ts). test/tree.test.ts holds that tests sleep in no other way.
 */

import { setTimeout as sleep } from 'node:timers/promises';

/** The time for which a test asserts that nothing happens: longer than what must not happen would take. */
export const quietFor = (ms: number): Promise<void> => sleep(ms);

/** A peer, a disk or a person that takes its time, or comes at any moment. */
export const pause = (ms: number): Promise<void> => sleep(ms);
