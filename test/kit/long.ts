/** Whether tests run in their long form: tiers C and D (test/README.md) set LONG=1. */
export const isLong = process.env.LONG === '1';
