/**
 * Wraps the engine of a single node so that each record gets a stamp of the sequence (feed/sequence.ts) when it is decided, which is
 * committed with it: the order of records of different channels survives a crash.
 */

import type { Sequence } from '../feed/sequence.js';
import { stampedChange } from '../now-playing/stamp.js';
import type { Engine } from './engine.js';

/** @param wallMs the wall clock, unix milliseconds */
export function stamped(engine: Engine, sequence: Sequence, wallMs: () => number): Engine {
  return {
    state: (channel) => {
      const state = engine.state(channel);
      sequence.follow(state.stamp ?? 0);
      return state;
    },
    update: async (channel, decide) => {
      let stamp: number | undefined;
      const settle = () => {
        if (stamp !== undefined) sequence.settle(stamp);
      };
      try {
        return await engine.update(channel, (state) => {
          settle();
          const change = decide(state);
          if (change === null) return null;
          if (change.record === null) return { ...change, state: { ...change.state, stamp: sequence.last } };
          stamp = sequence.issue(wallMs());
          return stampedChange(change, stamp);
        });
      } finally {
        settle();
      }
    },
    close: () => engine.close(),
  };
}
