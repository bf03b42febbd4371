/**
 * The scripts that Redis runs for us: each is atomic, whichever node asks. They run on Redis 6.2 and later, and on Valkey.
 *
 *   epoch   which life of the data this is; another one: it was flushed, or restored from a backup
 *   meta    seq: the number of the log's last entry; stamp: the last that a record was given (feed/sequence.ts)
 *   version channel → version          last  channel → `stamp JSON`, what all agree on          done  `node channel` → id of the last change of it
 *   log     a stream with the id `seq-0`: c channel, v version, p id, n node, s stamp (0: no record), o what all agree on, h history
 */

export const KEYS = ['epoch', 'meta', 'version', 'last', 'done', 'log'] as const;

/**
 * Begins, or goes on with, a life of the data. ARGV: a new epoch; the epoch, the log's place and the id there that this node has (the first '' : none);
 * its last stamp.
 * @returns epoch, seq, 1: the node's place is in the log still, unix seconds, microseconds
 */
export const HELLO = `
local epoch = redis.call('GET', KEYS[1])
local seq = tonumber(redis.call('HGET', KEYS[2], 'seq') or '0')
local goesOn = 0
if not epoch then
  epoch = ARGV[1]
  redis.call('SET', KEYS[1], epoch)
elseif epoch == ARGV[2] then
  local there = redis.call('XRANGE', KEYS[6], ARGV[3] .. '-0', ARGV[3] .. '-0')
  local isOther = false
  if there[1] and ARGV[4] ~= '' then
    for i = 1, #there[1][2], 2 do
      if there[1][2][i] == 'p' then isOther = there[1][2][i + 1] ~= ARGV[4] end
    end
  end
  if tonumber(ARGV[3]) > seq or isOther then
    epoch = ARGV[1]
    redis.call('SET', KEYS[1], epoch)
  elseif there[1] or tonumber(ARGV[3]) == seq then
    goesOn = 1
  end
end
local stamp = tonumber(redis.call('HGET', KEYS[2], 'stamp') or '0')
-- Always: a server that takes no changes must not be joined.
redis.call('HSET', KEYS[2], 'stamp', string.format('%.0f', math.max(stamp, tonumber(ARGV[5]))))
local time = redis.call('TIME')
return {epoch, seq, goesOn, tonumber(time[1]), tonumber(time[2])}
`;

/**
 * Commits a change where the channel's version is still that on which it was decided. ARGV: epoch, channel, that version, the new one, 1: it has a
 * record, the node's last stamp, what all agree on, history, id, node, how many entries the log keeps.
 * @returns 'ok' and seq; 'stale' and the version there; 'done' and the log's last seq: it is in the log already; 'epoch': it is another
 */
export const COMMIT = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {'epoch', 0} end
local field = ARGV[10] .. ' ' .. ARGV[2]
if redis.call('HGET', KEYS[5], field) == ARGV[9] then
  return {'done', tonumber(redis.call('HGET', KEYS[2], 'seq') or '0')}
end
local version = redis.call('HGET', KEYS[3], ARGV[2]) or '0'
if version ~= ARGV[3] then return {'stale', tonumber(version)} end
local stamp = '0'
if ARGV[5] == '1' then
  local time = redis.call('TIME')
  local nowMs = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  local last = tonumber(redis.call('HGET', KEYS[2], 'stamp') or '0')
  stamp = string.format('%.0f', math.max(nowMs, last + 1, tonumber(ARGV[6]) + 1))
  redis.call('HSET', KEYS[2], 'stamp', stamp)
end
local seq = redis.call('HINCRBY', KEYS[2], 'seq', 1)
redis.call('HSET', KEYS[3], ARGV[2], ARGV[4])
redis.call('HSET', KEYS[4], ARGV[2], stamp .. ' ' .. ARGV[7])
redis.call('HSET', KEYS[5], field, ARGV[9])
redis.call('XADD', KEYS[6], 'MAXLEN', '~', ARGV[11], string.format('%.0f', seq) .. '-0',
  'c', ARGV[2], 'v', ARGV[4], 'p', ARGV[9], 'n', ARGV[10], 's', stamp, 'o', ARGV[7], 'h', ARGV[8])
return {'ok', seq}
`;
