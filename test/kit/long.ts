/** Whether tests run in their long form: `npm run test:long` sets LONG=1. */
export const isLong = process.env.LONG === '1';
