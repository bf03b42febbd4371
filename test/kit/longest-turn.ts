/** The longest turn of this process's loop during some work, by CPU time, which a busy machine does not affect. */

export async function longestTurnMs(during: () => Promise<unknown>): Promise<number> {
  let [longestMs, isOver] = [0, false];
  let before = process.cpuUsage();
  const look = () => {
    const { user, system } = process.cpuUsage(before);
    longestMs = Math.max(longestMs, (user + system) / 1000);
    before = process.cpuUsage();
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await during();
  isOver = true;
  look();
  return longestMs;
}
